"""Which code was imported: a process has one module of a name, and keeps it as it was then.

So a module that has changed since, or whose name means another file to the next configuration, is refused:
the run would be of other code than it says.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fathoms.errors import ConfigError
from fathoms.paths import sha256_file


@dataclass(frozen=True)
class _Imported:
    """A module's file as it was when it was imported; `spec` is another after a reload.

    `is_beside` where it came from the current directory or the folder of a configuration.
    """

    file: Path
    sha256: str
    spec: Any
    is_beside: bool


_imported: dict[str, _Imported] = {}


def note(names: Iterable[str], folders: Iterable[Path] | None = None) -> None:
    """Remember the source of modules as it is now; with `folders`, of those that lie there.

    What is installed is left out: environments may lie in a project's folder.
    """
    within = None if folders is None else list(folders)
    for name in names:
        module = sys.modules.get(name)
        file = _file(module)
        spec = getattr(module, "__spec__", None)
        known = _imported.get(name)
        if file is None or (known and known.file == file and known.spec is spec):
            continue
        if within is None or (_is_within(file, within) and "site-packages" not in file.parts):
            _imported[name] = _Imported(file, sha256_file(file), spec, folders is not None)


def source_sha256(name: str) -> str | None:
    """The hash of a module's file when it was imported; `None` where there is no file."""
    return _imported[name].sha256 if name in _imported else None


def refuse_others(target: str, folders: list[Path]) -> None:
    """Raise ConfigError where a module that is loaded is not what would be imported from `folders` now."""
    for name in {target, *_imported} - {"__main__"}:
        file = _file(sys.modules.get(name))
        if file is None:
            continue
        meant = _beside(name, folders)
        if meant is not None and meant != file:
            raise ConfigError(
                f"two modules are called '{name}': {meant}, and {file}, which was imported before:"
                " rename one, or run them one by one"
            )
        if _is_within(file, folders):
            _refuse_changed(name, file)
        elif name == target and name in _imported and _imported[name].is_beside:
            raise ConfigError(f"there is no module '{name}' here; one was imported before from {file}")


def _refuse_changed(name: str, file: Path) -> None:
    """Raise ConfigError where a module is not what its file says now."""
    note([name] if name in _imported else [])  # it may have been reloaded
    known = _imported.get(name)
    if known and known.file == file and known.sha256 != sha256_file(file):
        raise ConfigError(f"'{name}' ({file}) has changed since it was imported: start a new process")


def _file(module: Any) -> Path | None:
    """Where a module was read from."""
    file = getattr(module, "__file__", None)
    return Path(file).resolve() if file and Path(file).is_file() else None


def _beside(name: str, folders: Iterable[Path]) -> Path | None:
    """The file that a name means in the first of the folders that has it."""
    for folder in folders:
        path = folder.joinpath(*name.split("."))
        for file in (path / "__init__.py", path.with_suffix(".py")):
            if file.is_file():
                return file.resolve()
    return None


def _is_within(file: Path, folders: Iterable[Path]) -> bool:
    """Whether it lies in one of them."""
    return any(file.is_relative_to(folder) for folder in folders)
