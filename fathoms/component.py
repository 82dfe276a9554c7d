"""What every part of a pipeline, every judge and every metric is: a component, and what it says of itself.

A component is its configuration: a frozen pydantic model with a `kind`, its options, and the methods that its
room asks for. It also states what it would do because of its options, so that `runs/trust.py`, `doctor` and
the reference need no list of their own. `registry.py` has the line by which each is found.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, model_validator

from fathoms.safety.deprecation import warn_of_old_name

What = Literal["weights", "file", "server", "variable", "code"]
"""What an option can name: weights of a model, a file or folder, the address of a server, an environment
variable, or code that is imported."""


class Loads(NamedTuple):
    """What an option of a component names, which is read, contacted or run when the component is used. Names
    in `known` are those of fathoms itself, whose files are verified or chosen by fathoms."""

    what: What
    known: frozenset[str] = frozenset()


class Component(BaseModel):
    """Base class of adapters: validated, frozen options, and the methods that the adapter's kind requires.

    Import heavy packages inside methods. `packages` names the distributions whose versions affect the result,
    and `neutral` the options that do not affect it (threads, time-outs). Raise `revision` whenever a change
    of the adapter's own code changes its results. `renamed` has the successor of each option that has got
    another name: the old one is still read, with a warning (`docs/stability.md`).

    `inert` says that the component runs no code by name, contacts nobody and reads nothing but its input and
    what `loads` says of its options; options of type `Path` need no entry. A run from elsewhere may use an
    inert component without `--trust`. `usable_in` names the kinds that take this component inside them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    if TYPE_CHECKING:
        # set below: pydantic evaluates each annotation again for every subclass, at every start
        revision: ClassVar[int]
        packages: ClassVar[tuple[str, ...]]
        neutral: ClassVar[frozenset[str]]
        renamed: ClassVar[Mapping[str, str]]
        inert: ClassVar[bool]
        loads: ClassVar[Mapping[str, Loads]]
        usable_in: ClassVar[frozenset[str]]

        @property  # a field of every component that stands in a room, each with its own default
        def kind(self) -> str: ...

    @model_validator(mode="before")
    @classmethod
    def _take_old_names(cls, given: Any) -> Any:
        """Read options by their old names, too; raises ValueError if an option is given by both."""
        old = [name for name in cls.renamed if isinstance(given, Mapping) and name in given]
        if not old:
            return given
        for name in old:
            if cls.renamed[name] in given:
                raise ValueError(f"'{name}' is the old name of '{cls.renamed[name]}': give one of them")
            warn_of_old_name(f"the option '{name}' of {cls.__name__}", f"'{cls.renamed[name]}'")
        return {cls.renamed.get(name, name): value for name, value in given.items()}

    def identity(self) -> dict[str, Any]:
        """Everything that decides what this component produces for a given input."""
        return {
            "options": self.model_dump(mode="json", exclude=set(self.neutral)),
            "revision": self.revision,
            "versions": {name: package_version(name) for name in self.packages},
        }

    def served(self) -> dict[str, Any]:
        """What a server reports about the model that it runs. It is recorded but not part of fingerprints."""
        return {}


_DEFAULTS: Mapping[str, Any] = {
    "revision": 1,
    "packages": (),
    "neutral": frozenset(),
    "renamed": {},
    "inert": False,
    "loads": {},
    "usable_in": frozenset(),
}
for _name, _default in _DEFAULTS.items():
    setattr(Component, _name, _default)
Component.__class_vars__ = {*Component.__class_vars__, *_DEFAULTS}


def kind_of(component: type[BaseModel]) -> str:
    """Return the kind of a component's class, by which configurations name it; empty if it has none."""
    field = component.model_fields.get("kind")
    return field.default if field is not None and isinstance(field.default, str) else ""


@cache
def package_version(name: str) -> str | None:
    """The installed version of a distribution, `None` where it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
