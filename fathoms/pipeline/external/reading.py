"""What one reply of a service tells besides the answer: its version, and which paths match nothing in it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator

from fathoms.config import Key
from fathoms.pipeline.external.mapping import (
    Contexts,
    JsonPath,
    Response,
    compiled,
    first_at,
    members,
    prefixes,
)

_SHOWN = 10
_LONGEST = 200
_NAME = re.compile(r"\['(\w+)'\]")


class Unmatched(NamedTuple):
    """A path that matched nothing: its key in the configuration, the path (or the name of a header), and a
    description of what the reply has in its place."""

    key: Key
    path: str
    there: str

    @property
    def name(self) -> str:
        """The key as people write it: `response.contexts`."""
        return ".".join(str(part) for part in self.key if part != "each")

    def __str__(self) -> str:
        return f"{self.name}: {self.path} matched nothing in the reply; {self.there}"


class VersionInReply(BaseModel):
    """Where a reply has the version of the service: in a header, or at a JSONPath."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    header: str | None = Field(default=None, min_length=1)
    """Name of a header of the response."""
    path: JsonPath | None = None
    """JSONPath in the JSON of the response."""

    @model_validator(mode="after")
    def _is_one(self) -> VersionInReply:
        if (self.header is None) == (self.path is None):
            raise ValueError("expected one of 'header' and 'path'")
        return self


def _quoted(version: Any) -> Any:
    """Refuse a version that YAML has read as a number or a date, because `1.10` would be 1.1."""
    if isinstance(version, int | float | date):
        raise ValueError('put the version in quotes, as in version: "1.10"')
    return version


ServiceVersion = Annotated[
    Annotated[str, Tag("text"), Field(min_length=1)] | Annotated[VersionInReply, Tag("place")],
    Discriminator(lambda version: "text" if isinstance(version, str) else "place"),
    BeforeValidator(_quoted),
]
"""The version of a service, or the place where its replies have it."""


class Reading:
    """Reads the pieces of one reply: finds its version, and which of the paths match anything.

    A path into the members of a list is tried only where the list has members, and the paths of an error or
    a refusal never, because a good reply has neither.
    """

    def __init__(self, paths: Mapping[Key, str], version: str | VersionInReply | None = None) -> None:
        self.version = version if isinstance(version, str) else None
        self._place = version if isinstance(version, VersionInReply) else None
        self._no_header: tuple[Unmatched, ...] = ()
        self._paths = {key: path for key, path in paths.items() if key[-1] not in ("error", "refusal")}
        self._missed: dict[Key, _Place | None] = {}

    def read(self, data: Any) -> None:
        """Read a reply, or one piece of a stream."""
        version = first_at(data, self._place.path) if self._place else None
        if version is not None:
            self.version = str(version)[:_LONGEST]
        for key, path in self._paths.items():
            if key in self._missed and self._missed[key] is None:
                continue  # matched in an earlier piece
            for root in (roots := self._roots(key, data)):
                place = _stopped(root, path, "the reply" if roots[0] is data else "a member of the list")
                before = self._missed.get(key)
                self._missed[key] = place if before is None or place is None else max(before, place)
                if place is None:
                    break

    def read_headers(self, headers: Mapping[str, str]) -> None:
        """Read the version from the headers, if that is where it is."""
        name = self._place.header if self._place else None
        if name is None:
            return
        if version := headers.get(name, "").strip():
            self.version = version[:_LONGEST]
        else:
            there = ", ".join(f"'{key}'" for key in headers)
            self._no_header = (Unmatched(("version", "header"), name, f"the reply has the headers {there}"),)

    def unmatched(self) -> tuple[Unmatched, ...]:
        """The paths that matched nothing so far, and the header that is missing."""
        return self._no_header + tuple(
            Unmatched(key, self._paths[key], place.description)
            for key, place in self._missed.items()
            if place is not None
        )

    def _roots(self, key: Key, data: Any) -> Sequence[Any]:
        """What a path starts from: the reply, or each of the members of the list that the path looks into."""
        *parent, name = key
        each = self._paths.get((*parent, "each"))
        return [data] if name == "each" or each is None else members(data, each)


class _Place(NamedTuple):
    """How many steps of a path matched, and a description of what is there. Places compare by the steps."""

    steps: int
    description: str


def _stopped(root: Any, path: str, name: str) -> _Place | None:
    """Where a path stops matching; `None` if it matches, even if only null.

    An empty list in place of members is a match: it says that there are none. So is a list where a filter
    leaves nothing. `name` is what the root is called in the description.
    """
    if compiled(path).findall(root):
        return None
    steps, value = 0, root
    stages = prefixes(path)
    for size, prefix in enumerate(stages[:-1]):
        for match in compiled(prefix).findall(root)[:1]:
            steps, value = size, match
    if value == []:
        return None
    if isinstance(value, list) and "?" in stages[steps + 1].removeprefix(stages[steps]):
        return None
    path_there = _NAME.sub(r".\1", stages[steps])
    where = f"{path_there} of {name}" if steps else name
    return _Place(steps, f"{where} {_described(value)}")


def _described(value: Any) -> str:
    """Describe a value by its keys, its length or its type."""
    if isinstance(value, dict):
        keys = ", ".join(f"'{' '.join(key.split())[:_LONGEST]}'" for key in list(value)[:_SHOWN])
        return f"has the keys {keys}{', ...' if len(value) > _SHOWN else ''}" if value else "has no keys"
    if isinstance(value, list):
        return f"is a list of {len(value)}"
    return "is null" if value is None else f"is a {_NOUNS.get(type(value), 'value')}"


_NOUNS = {str: "text", int: "number", float: "number", bool: "truth value"}


def named_paths(response: Response, preset: Response) -> dict[Key, str]:
    """The paths that a configuration itself names, by their keys; those of a preset and defaults are left
    out, because many services lack some of the parts. The path of the answer is always there."""
    found: dict[Key, str] = {("response", "answer"): response.answer}
    for name in sorted(response.model_fields_set):
        part, of_preset = getattr(response, name), _set_in(preset, name)
        if isinstance(part, str):
            found |= {("response", name): part} if part != of_preset else {}
        elif part is not None:
            keys = sorted(part.model_fields_set)
            if keys and "each" in type(part).model_fields:
                keys = ["each", *keys]  # who says what the members hold expects the list, too
            for key in keys:
                path = getattr(part, key)
                if isinstance(path, Contexts):  # those of a round; the paths within them are not tried
                    path = path.each
                if path is not None and path != _set_in(of_preset, key):
                    found["response", name, key] = path
    return found


def _set_in(model: BaseModel | None, name: str) -> Any:
    """The value of a field that was given; `None` where it is the default."""
    return getattr(model, name) if model is not None and name in model.model_fields_set else None
