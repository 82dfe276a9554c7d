"""Tracking which source code was imported, because Python imports a module only once per process.

A module whose file has changed since its import, or whose name now means another file, is refused: the
manifest would describe other code than the run used.
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
    """A module's file as it was at import; a reload gives the module another `spec`. `is_beside` says that it
    came from the current directory or the folder of a configuration."""

    file: Path
    sha256: str
    spec: Any
    is_beside: bool


_imported: dict[str, _Imported] = {}


def note(names: Iterable[str], folders: Iterable[Path] | None = None) -> None:
    """Remember the source of modules as it is now; with `folders`, only of modules inside them.

    Installed packages are left out, since a virtual environment may be inside a project's folder.
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
    """The sha256 of a module's file when it was imported; `None` where it has no file."""
    return _imported[name].sha256 if name in _imported else None


def refuse_others(target: str, folders: list[Path]) -> None:
    """Raise ConfigError where a loaded module is not what would be imported from `folders` now."""
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
            note([name] if name in _imported else [])  # it may have been reloaded
            known = _imported.get(name)
            if known and known.file == file and known.sha256 != sha256_file(file):
                raise ConfigError(f"'{name}' ({file}) has changed since it was imported: start a new process")
        elif name == target and name in _imported and _imported[name].is_beside:
            raise ConfigError(f"there is no module '{name}' here; one was imported before from {file}")


def _file(module: Any) -> Path | None:
    """The file that a module was loaded from; `None` where there is none."""
    file = getattr(module, "__file__", None)
    return Path(file).resolve() if file and Path(file).is_file() else None


def _beside(name: str, folders: Iterable[Path]) -> Path | None:
    """The file that a module name means in the first of the folders that has one."""
    for folder in folders:
        path = folder.joinpath(*name.split("."))
        for file in (path / "__init__.py", path.with_suffix(".py")):
            if file.is_file():
                return file.resolve()
    return None


def _is_within(file: Path, folders: Iterable[Path]) -> bool:
    """Whether a file is inside one of the folders."""
    return any(file.is_relative_to(folder) for folder in folders)
