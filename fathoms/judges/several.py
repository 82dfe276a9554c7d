"""What a language model is asked and may reply where it judges several claims in one call."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from fathoms.types import Form, Judgement

_TOKENS_A_LABEL = 8
"""Tokens of a label in the reply, such as `"12": "contradiction",`."""


def most_tokens(count: int) -> int:
    """Return how many tokens the labels of so many claims take at most."""
    return _TOKENS_A_LABEL * count


def listed_claims(asked: Sequence[Judgement]) -> str:
    """List claims by number from 1, those of one sentence below it."""
    lines = []
    for context, group in groupby(enumerate(asked, 1), lambda one: one[1].context):
        lines += [f"Sentence: {context}"] if context else []
        lines += [f"{number}. {judgement.claim}" for number, judgement in group]
    return "\n".join(lines)


def labels_form(count: int, words: tuple[str, ...]) -> Form:
    """Return the form of the reply: a label for the number of each claim, never a list in their order."""
    numbers = [str(number) for number in range(1, count + 1)]
    return Form(
        json_schema={
            "type": "object",
            "properties": {number: {"type": "string", "enum": list(words)} for number in numbers},
            "required": numbers,
            "additionalProperties": False,
        }
    )
