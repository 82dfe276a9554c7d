"""Prompts composed of parts: a template with dimensions, and one choice is taken of each.

The shipped template `parts` has those of MRAG-Suite (Ji 2025, appendix C): how the model is addressed, the
style of the output, the reasoning, whether ids are shown, and worked examples. The paper names its styles
`ex1`, `ex3` and `ex6` and speaks of numbers of examples in its text, although its tables have none: here
style and number are two dimensions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from fathoms.errors import suggest

EXAMPLES = "examples"
_BLANK = re.compile(r"\n{3,}")


class _Data(BaseModel):
    """Base class of what template files hold."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Choice(_Data):
    """A choice of a dimension: its text, the form of a worked example in this style, and the mark that the
    text asks for before the answer."""

    text: str = ""
    example: str = ""
    answer_mark: str = ""


class Demonstration(_Data):
    """A worked example: a question of no data set, its answer, and why that is the answer."""

    question: str
    explanation: str
    answer: str


class Parts(_Data):
    """The dimensions of a template. In its texts, `{NAME}` stands for the chosen text of a dimension, and
    `{examples}` for the worked examples. `sets` are named sweeps: the choices to try of each dimension."""

    dimensions: dict[str, dict[str, Choice]]
    demonstrations: list[Demonstration] = Field(default_factory=list)
    sets: dict[str, dict[str, list[str]]] = Field(default_factory=dict)

    @field_validator("dimensions", mode="before")
    @classmethod
    def _texts_are_choices(cls, found: Any) -> Any:
        """Turn a choice that is a plain text into one without a mark."""
        return {
            name: {key: {"text": one} if isinstance(one, str) else one for key, one in choices.items()}
            for name, choices in found.items()
        }

    def complaint(self, choose: Mapping[str, str], examples: int) -> str | None:
        """Say which choice there is not; `None` if there are all."""
        for name, choice in choose.items():
            if name not in self.dimensions:
                return f"'choose' has no '{name}'{suggest(name, self.dimensions)}"
            if choice not in self.dimensions[name]:
                return f"'choose.{name}' has no '{choice}'{suggest(choice, self.dimensions[name])}"
        if examples > len(self.demonstrations):
            return f"the template has {len(self.demonstrations)} 'examples' at most"
        return None

    def chosen(self, choose: Mapping[str, str]) -> dict[str, Choice]:
        """Return the choice of each dimension, the first one where none is named."""
        return {
            name: choices[choose.get(name) or next(iter(choices))]
            for name, choices in self.dimensions.items()
        }


def composed(
    parts: Parts, texts: Mapping[str, str], choose: Mapping[str, str], examples: int
) -> dict[str, str]:
    """Return some texts of a template with the chosen texts in place of the dimensions, and as `answer_mark`
    the mark that they ask for before the answer; where several do, that of the last dimension counts."""
    chosen = parts.chosen(choose)
    shown = [one.example for one in chosen.values() if one.example]
    worked = "\n\n".join(
        _filled(shown[0], demonstration.model_dump())
        for demonstration in parts.demonstrations[: examples if shown else 0]
    )
    values = {**{name: one.text for name, one in chosen.items()}, EXAMPLES: worked}
    before_answer = [one.answer_mark for one in chosen.values() if one.answer_mark]
    filled = {name: _BLANK.sub("\n\n", _filled(text, values)).strip("\n") for name, text in texts.items()}
    return {**filled, **({"answer_mark": before_answer[-1]} if before_answer else {})}


def _filled(text: str, values: Mapping[str, str]) -> str:
    """Fill placeholders in one pass; other placeholders stay for the question and its context."""
    return re.sub(r"\{(\w+)\}", lambda place: values.get(place[1], place[0]), text)
