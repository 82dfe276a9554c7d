"""Somebody's module, imported from where they stand or from beside their configuration."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from importlib import import_module
from importlib.machinery import PathFinder
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

from fathoms.errors import ConfigError


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Modules in the current directory and in `folder` can be imported for as long as the block lasts.

    Blocks may overlap: each takes out what it put in, and what was there before stays.
    """
    added = list(dict.fromkeys([str(folder.resolve()), str(Path.cwd())]))
    sys.path[:0] = added
    try:
        yield
    finally:
        for path in added:
            with suppress(ValueError):  # the module may have cleared it away
                sys.path.remove(path)


def load(target: str, folder: Path) -> Any:
    """What `package.module:name` points at, or the module itself where no name is given.

    What the module prints goes to stderr. Raises ConfigError where it is not there, raises an error of its
    own (named with file and line), or where another module of the name was imported before.
    """
    name, _, attribute = target.partition(":")
    with importable(folder), redirect_stdout(sys.stderr):
        _refuse_namesake(name.partition(".")[0])
        try:
            module = import_module(name)
        except ModuleNotFoundError as error:
            if error.name and (name == error.name or name.startswith(f"{error.name}.")):
                places = " and ".join(dict.fromkeys(sys.path[:2]))
                raise ConfigError(f"there is no module '{error.name}' (looked in {places})") from error
            raise ConfigError(f"importing '{name}' fails: {sentence(error)}") from error
        except (Exception, SystemExit) as error:
            raise ConfigError(f"importing '{name}' fails: {sentence(error)}") from error
    return _named(module, attribute)


def _named(module: ModuleType, attribute: str) -> Any:
    """The object of a name in a module."""
    if not attribute:
        return module
    try:
        return attrgetter(attribute)(module)
    except AttributeError as error:
        raise ConfigError(f"'{module.__name__}' ({module.__file__}) has no '{attribute}'") from error


def _refuse_namesake(package: str) -> None:
    """Raise ConfigError where the name would be taken for a module that came from somewhere else."""
    loaded = sys.modules.get(package)
    spec = PathFinder.find_spec(package) if loaded is not None else None
    origin = getattr(getattr(loaded, "__spec__", None), "origin", None)
    if spec and spec.origin and origin and Path(spec.origin).resolve() != Path(origin).resolve():
        raise ConfigError(
            f"two modules are called '{package}': {spec.origin}, and {origin}, which was imported before:"
            " rename one, or run them one by one"
        )


def sentence(error: BaseException) -> str:
    """The class and message of an error, and the file and line that raised it."""
    if isinstance(error, SyntaxError):
        place = f"{error.filename}:{error.lineno}"
        return f"{type(error).__name__}: {error.msg} ({place})"
    return f"{type(error).__name__}: {error}{place_of(error)}"


def place_of(error: BaseException) -> str:
    """` (file:line)` of the last frame, where there is any."""
    frames = traceback.extract_tb(error.__traceback__)
    return f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
