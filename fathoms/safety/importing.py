"""Importing a module of the user, from the current directory or from beside its configuration."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any

from fathoms.errors import ConfigError
from fathoms.safety import imported as imports


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Make modules in the current directory and in `folder` importable while the block lasts.

    Blocks may overlap: each removes only what it added to the search path.
    """
    folders = _places(folder)
    added, before = [str(place) for place in folders], set(sys.modules)
    sys.path[:0] = added
    try:
        yield
    finally:
        for path in added:
            with suppress(ValueError):  # the module may have removed it itself
                sys.path.remove(path)
        imports.note(set(sys.modules) - before, folders)


def _places(folder: Path) -> list[Path]:
    """The folders that are searched first for modules."""
    return list(dict.fromkeys([folder.resolve(), Path.cwd().resolve()]))


def load(target: str, folder: Path) -> Any:
    """Import what `package.module:name` names, or the module itself where no name is given.

    What the module prints goes to stderr. Raises ConfigError where the target is missing, where the import
    raises (naming file and line), or where the module loaded earlier differs from what would be imported now.
    """
    name, _, attribute = target.partition(":")
    with importable(folder), redirect_stdout(sys.stderr):
        imports.refuse_others(name, _places(folder))
        try:
            module = import_module(name)
        except ModuleNotFoundError as error:
            if error.name and (name == error.name or name.startswith(f"{error.name}.")):
                places = " and ".join(dict.fromkeys(sys.path[:2]))
                raise ConfigError(f"there is no module '{error.name}' (looked in {places})") from error
            raise ConfigError(f"importing '{name}' fails: {sentence(error)}") from error
        except (Exception, SystemExit) as error:
            raise ConfigError(f"importing '{name}' fails: {sentence(error)}") from error
    imports.note([name])
    try:
        return attrgetter(attribute)(module) if attribute else module
    except AttributeError as error:
        raise ConfigError(f"'{module.__name__}' ({module.__file__}) has no '{attribute}'") from error


def sentence(error: BaseException) -> str:
    """Describe an error by its class, its message, and the file and line that raised it."""
    if isinstance(error, SyntaxError):
        place = f"{error.filename}:{error.lineno}"
        return f"{type(error).__name__}: {error.msg} ({place})"
    return f"{type(error).__name__}: {message_of(error)}{place_of(error)}"


def message_of(error: BaseException) -> str:
    """The message of an error, or a note where making it fails."""
    try:
        return str(error)
    except Exception:
        return "its message cannot be shown"


def place_of(error: BaseException) -> str:
    """The ` (file:line)` of the last frame of an error's traceback; empty where it has none."""
    frames = traceback.extract_tb(error.__traceback__)
    return f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
