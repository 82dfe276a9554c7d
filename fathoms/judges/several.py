"""What a language model is asked and may reply where it judges several claims or passages in one call."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from itertools import groupby

from fathoms.judges.replies import read_json
from fathoms.models.chat.forms import read_choice
from fathoms.types import Form, Judgement

_TOKENS_A_LABEL = 8
"""Tokens of a label in the reply, such as `"12": "contradiction",`."""


def shared(asked: Judgement) -> Hashable:
    """Return what the judgements of one call have in common: the question whose passages are graded, and else
    the premise."""
    common = asked.claim if asked.rubric == "relevance" else asked.premise
    return asked.rubric, asked.image, common


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


def listed_passages(asked: Sequence[Judgement]) -> str:
    """List the passages that are graded by number from 1, each on one line."""
    return "\n".join(f"{number}. {' '.join(one.premise.split())}" for number, one in enumerate(asked, 1))


def read_labels(reply: str, count: int, words: Sequence[str]) -> dict[str, str] | None:
    """Read the words of a reply by their numbers: of a JSON object, or of lines such as `2: yes`; the word
    alone where only one is asked for. `None` if there is none of them: a list in their order is not read."""
    data = read_json(reply)
    if isinstance(data, dict):
        found = {str(number): str(word).strip().lower() for number, word in data.items()}
        if count > 1 or "1" in found:
            return found
    if count == 1:
        word = read_choice(reply, words)
        return {"1": word} if word else None
    lines = re.findall(rf"^\W*(?:[a-z]+ )?([0-9]+)\W+({'|'.join(words)})\b", reply.lower(), re.MULTILINE)
    return dict(lines) or None
