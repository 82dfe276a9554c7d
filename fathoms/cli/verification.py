"""Which kinds of components were run with the real thing: trained weights, a vendor's API, released files.

`verified.json` lists the kinds that the tests run only with a stand-in: small random weights, or a server
that checks requests against the types of a vendor's SDK. `make verify-real` runs them where there is a key or
a hub, and writes model, date and figures into this file and into the last chapter of CONTRIBUTING.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from fathoms.component import Component

FILE = Path(__file__).with_name("verified.json")
_NAMES = {
    "models": "chat",
    "embedders": "embed",
    "page_embedders": "embed",
    "rerankers": "embed",
    "judges": "judge",
    "metrics": "metric",
}
"""The first part of the name of a kind, by the room of its class."""


class RealRun(BaseModel):
    """A run of a kind with the real thing: the path of `make verify-real` that ran, the model, the date as
    YYYY-MM-DD, the version of fathoms, seconds, dollars (`None` if nothing was charged), and figures."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    model: str | None
    date: str
    version: str
    seconds: float
    cost: float | None
    figures: dict[str, str | int | float | None]


class Kind(BaseModel):
    """A kind that the tests run only with a stand-in: what was not used by them, and the last run with it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    what: str
    run: RealRun | None


@cache
def read_verified(file: Path = FILE) -> Mapping[str, Kind]:
    """Return the kinds by name, such as `chat/openai`."""
    return {name: Kind.model_validate(value) for name, value in json.loads(file.read_text()).items()}


def verification_lines(experiment: BaseModel, verified: Mapping[str, Kind]) -> Iterator[tuple[str, bool]]:
    """Yield a sentence for each kind of a configuration that the tests run only with a stand-in, and whether
    it was run with the real thing."""
    for name, model in dict.fromkeys(_kinds(experiment)):
        kind = verified.get(name)
        if kind is None:
            continue
        named = f"{name} ({model})" if model else name
        if kind.run is None:
            yield f"{named}: never run with {kind.what}", False
        else:
            yield f"{named}: run on {kind.run.date} with {kind.run.model or kind.what}", True


def _kinds(value: Any) -> Iterator[tuple[str, str | None]]:
    """Yield the name of the kind and the model of every component in a configuration, and of its data set."""
    from fathoms.corpora.sources import NamedSource
    from fathoms.registry import rooms

    if isinstance(value, BaseModel):
        kind = getattr(value, "kind", None)
        room = _NAMES.get(rooms().get(type(value), "")) if isinstance(value, Component) else None
        if room and isinstance(kind, str):
            model = getattr(value, "model", None)
            yield f"{room}/{kind}", model if isinstance(model, str) else None
        if isinstance(value, NamedSource):
            yield f"data/{value.name}", None
        for name in type(value).model_fields:
            yield from _kinds(getattr(value, name))
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _kinds(one)
    elif isinstance(value, dict):
        yield from _kinds(list(value.values()))
