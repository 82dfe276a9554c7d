"""The prompts of judges: one YAML file each, with examples, and a version that is raised whenever the text
changes. `claims` splits texts into claims, `support-` and `several-` judge claims, and the others have the
names of their rubrics. The options `prompt` and `prompts` of a judge replace them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

_PLACE = re.compile(r"\{(\w+)\}")
_OWN = 0
_MAY_LACK = {"context", "question"}


class Template(BaseModel):
    """A prompt with places such as `{claim}`, its version, and examples, which `{examples}` stands for."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    version: int
    text: str
    examples: str = ""

    @property
    def is_own(self) -> bool:
        """Whether it is the prompt of a user."""
        return self.version == _OWN

    @property
    def whole(self) -> str:
        """The text with its examples; the prompt of a user as it is."""
        if self.is_own:
            return self.text
        return self.text.replace("{examples}", self.examples.strip()).strip()

    def filled(self, values: Mapping[str, str]) -> str:
        """Return the text with the places filled; other braces stay as they are."""
        return filled(self.whole, values)


def filled(text: str, values: Mapping[str, str]) -> str:
    """Fill the places of a text; what is filled in is not searched for places."""
    return _PLACE.sub(lambda place: values.get(place[1], place[0]), text)


def own(text: str) -> Template:
    """Return the prompt of a user, which has no version of ours."""
    return Template(version=_OWN, text=text)


def misplaced(name: str, text: str) -> str | None:
    """Say what is wrong with the places of a user's prompt that stands for the shipped one of this name;
    `None` if nothing is. The question may be left out."""
    known, found = places(shipped(name).whole), places(text)
    if missing := known - found - _MAY_LACK:
        return f"must contain {{{min(missing)}}}"
    if strange := found - known:
        listed = ", ".join(f"{{{one}}}" for one in sorted(known))
        return f"nothing is filled in for {{{min(strange)}}}, only for {listed}"
    return None


def places(text: str) -> frozenset[str]:
    """Return the names of the places of a text."""
    return frozenset(_PLACE.findall(text))


@cache
def shipped(name: str) -> Template:
    """Return a prompt that comes with fathoms."""
    import yaml

    path = Path(__file__).with_name(f"{name}.yaml")
    return Template(**yaml.safe_load(path.read_text(encoding="utf-8")))
