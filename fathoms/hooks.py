"""What the rooms under `fathoms/extras/` add to the core: commands, components, and functions that it calls.

An extra is a package there whose `__init__` says what it adds in `COMMANDS`, `COMPONENTS` (by room of the
registry) and `HOOKS`, by names only, so that reading it is quick. The core finds extras by listing the folder
and imports nothing of them by itself: each extra, or the folder as a whole, can be deleted without a change
elsewhere.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

from fathoms.errors import UsageError


class Command(NamedTuple):
    """Where a command, or a group of commands, is defined, and the first sentence of its help.

    The place is `MODULE:NAME`, and the module is named from the package whose table has the command. The help
    of a group reads its commands, so that these need no summary.
    """

    place: str
    summary: str = ""


COMES_WITH = {
    "build": "questions",
    "data inject": "questions",
    "questions init": "questions",
    "questions check": "questions",
    "questions stats": "questions",
    "questions nuggets": "questions",
    "questions facts": "questions",
    "questions from-facts": "questions",
    "questions add": "questions",
    "questions candidates": "questions",
    "questions filter": "questions",
    "questions ambiguity": "questions",
    "questions label": "questions",
    "questions inspect": "questions",
    "questions dedupe": "questions",
    "questions perturb": "questions",
    "questions edit": "questions",
    "import": "exchange",
    "export": "exchange",
    "agree RUN": "review",
    "agree --people": "review",
    "report --site": "live",
    "reproduce": "papers",
    "review": "review",
    "view": "live",
    "watch": "watch",
}
"""The extra of each command and option, for the message where it was deleted. A command of a group has the
group's name before its own, such as `questions edit`."""
SETTINGS = {
    "execution kind 'ray'": "cluster",
    "the shared cache": "cluster",
    "ingest.layout kind 'cdla'": "docling_offline",
    "ingest.tables kind 'geometric'": "docling_offline",
}
"""The extra of each setting of a configuration that needs one, by the name under which it provides it."""


@cache
def extras() -> Mapping[str, ModuleType]:
    """Return the packages under `fathoms/extras/` by name; empty where the folder was deleted."""
    try:
        folder = import_module("fathoms.extras")
    except ModuleNotFoundError as error:
        if error.name != "fathoms.extras":
            raise
        return {}
    names = sorted(found.name for found in pkgutil.iter_modules(folder.__path__) if found.ispkg)
    return {name: import_module(f"fathoms.extras.{name}") for name in names}


def commands(group: str = "") -> dict[str, Command]:
    """Return the commands that extras add to a group, or to fathoms itself, by name."""
    found = {}
    for package in extras().values():
        for name, command in getattr(package, "COMMANDS", {}).items():
            before, _, last = name.rpartition(" ")
            if before == group:
                found[last] = command._replace(place=f"{package.__name__}.{command.place}")
    return found


def components(room: str) -> list[str]:
    """Return the places of the components that extras add to a room of the registry."""
    return [
        f"{package.__name__}.{place}"
        for package in extras().values()
        for place in getattr(package, "COMPONENTS", {}).get(room, ())
    ]


def loaded(place: str) -> Any:
    """Return the object that `MODULE:NAME` names, after importing its module."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def provided(name: str) -> Any:
    """Return what an extra provides under a name; `None` where no extra does."""
    place = _place(name)
    return None if place is None else loaded(place)


def needed(name: str) -> Any:
    """Return what an extra provides for an option or a setting; raises UsageError where it was deleted."""
    require(name)
    return provided(name)


def require(name: str) -> None:
    """Raise UsageError where the extra for an option or a setting was deleted; nothing of it is imported."""
    if _place(name) is None:
        raise not_installed(name)


def _place(name: str) -> str | None:
    """Return the place of what an extra provides under a name."""
    for package in extras().values():
        if place := getattr(package, "HOOKS", {}).get(name):
            return f"{package.__name__}.{place}"
    return None


def not_installed(name: str) -> UsageError:
    """Return the error that a command, an option of one, or a setting came with an extra that was deleted."""
    what, extra = (name, SETTINGS[name]) if name in SETTINGS else (f"'fathoms {name}'", COMES_WITH[name])
    return UsageError(
        f"{what} is not installed: it comes with fathoms/extras/{extra}, which this copy of fathoms does not"
        " have; install the whole of fathoms to use it"
    )
