"""The prompts of judges: one YAML file each, with a version that is raised whenever the text changes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

_PLACE = re.compile(r"\{(\w+)\}")


class Template(BaseModel):
    """A prompt with places such as `{claim}`, its version, and examples, which `{examples}` stands for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: int
    text: str
    examples: str = ""

    @property
    def whole(self) -> str:
        """The text with its examples."""
        return self.text.replace("{examples}", self.examples.strip()).strip()

    def filled(self, values: Mapping[str, str]) -> str:
        """Return the text with the places filled; other braces stay as they are."""
        return filled(self.whole, values)


def filled(text: str, values: Mapping[str, str]) -> str:
    """Fill the places of a text; what is filled in is not searched for places."""
    return _PLACE.sub(lambda place: values.get(place[1], place[0]), text)


def places(text: str) -> frozenset[str]:
    """Return the names of the places of a text."""
    return frozenset(_PLACE.findall(text))


@cache
def shipped(name: str) -> Template:
    """Return a prompt that comes with fathoms."""
    import yaml

    path = Path(__file__).with_name(f"{name}.yaml")
    return Template(**yaml.safe_load(path.read_text(encoding="utf-8")))
