"""What a language model is asked and may reply where it judges several claims or passages in one call, and
which judgements share one."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from fathoms.judges.replies import read_json
from fathoms.models.chat.forms import read_choice
from fathoms.types import Form, Judgement

_TOKENS_A_LABEL = 8
"""Tokens of a label in the reply, such as `"12": "contradiction",`."""
_WORTH_NAMING = 40
"""The fewest characters of a text that is named where it stands in another one."""


class Most(NamedTuple):
    """The most claims, texts and labels in one call."""

    claims: int
    texts: int
    labels: int


def shared(judgement: Judgement) -> Hashable:
    """Return what the judgements of one call have in common: the question whose passages are graded, and else
    the premise."""
    common = judgement.claim if judgement.rubric == "relevance" else judgement.premise
    return judgement.rubric, judgement.image, common


def most_tokens(count: int) -> int:
    """Return how many tokens the labels of so many claims take at most."""
    return _TOKENS_A_LABEL * count


def calls_of(judgements: Sequence[Judgement], most: Most) -> Iterator[list[int]]:
    """Yield the places of the judgements of claims on texts that share a call.

    Judgements come answer by answer, so what belongs to one answer lies between the first and the last
    judgement of a claim of it, of which others begin before it ends. What is compared with the same texts
    shares calls too, such as the claims of several answers on one document.
    """
    alike: dict[frozenset[str], list[int]] = {}
    for places in _answers(judgements):
        alike.setdefault(frozenset(judgements[at].premise for at in places), []).extend(places)
    for places in alike.values():
        claims = list(dict.fromkeys((judgements[at].claim, judgements[at].context) for at in places))
        for start in range(0, len(claims), most.claims):
            some = set(claims[start : start + most.claims])
            by_text: dict[str, list[int]] = {}
            for at in places:
                if (judgements[at].claim, judgements[at].context) in some:
                    by_text.setdefault(judgements[at].premise, []).append(at)
            yield from _filled(list(by_text.values()), most)


def _answers(judgements: Sequence[Judgement]) -> Iterator[list[int]]:
    """Yield the places of judgements whose claims overlap in their order."""
    last = {(one.claim, one.context): at for at, one in enumerate(judgements)}
    places: list[int] = []
    end = -1
    for at, one in enumerate(judgements):
        if places and at > end:
            yield places
            places = []
        places.append(at)
        end = max(end, last[one.claim, one.context])
    if places:
        yield places


def _filled(texts: Sequence[list[int]], most: Most) -> Iterator[list[int]]:
    """Yield calls that have as many of the texts, one after the other, as fit."""
    call: list[int] = []
    count = 0
    for places in texts:
        if call and (count == most.texts or len(call) + len(places) > most.labels):
            yield call
            call, count = [], 0
        call, count = call + places, count + 1
    if call:
        yield call


class Crossed:
    """Claims and texts of one call by number from 1, and which claim is compared with which texts.

    `shown` are the texts as the judge sees them. A text that stands as a whole in another one is named there,
    because the context of an answer is made of the retrieved texts.
    """

    def __init__(self, judgements: Sequence[Judgement], shown: Mapping[str, str]) -> None:
        self.texts = {
            text: number for number, text in enumerate(dict.fromkeys(one.premise for one in judgements), 1)
        }
        keys = dict.fromkeys((one.claim, one.context) for one in judgements)
        self.claims = {key: number for number, key in enumerate(keys, 1)}
        self.cells = [
            (str(self.claims[one.claim, one.context]), str(self.texts[one.premise])) for one in judgements
        ]
        self.of = {claim: [text for other, text in self.cells if other == claim] for claim, _ in self.cells}
        self._shown = [shown[text] for text in self.texts]

    @property
    def listed_texts(self) -> str:
        """The texts by number, one below the other."""
        return "\n\n".join(f"{number}. {self._short(text)}" for number, text in enumerate(self._shown, 1))

    def _short(self, text: str) -> str:
        """Return a text with others named where they stand in it."""
        longest_first = sorted(enumerate(self._shown, 1), key=lambda one: -len(one[1]))
        for number, other in longest_first:
            if _WORTH_NAMING <= len(other) < len(text):
                text = text.replace(other, f"[text {number}]")
        return text

    @property
    def listed_claims(self) -> str:
        """The claims by number, those of one sentence below it, each with the texts that it is compared
        with."""
        lines = []
        for context, group in groupby(self.claims.items(), lambda one: one[0][1]):
            lines += [f"Sentence: {context}"] if context else []
            for (claim, _), number in group:
                lines.append(f"{number}. {claim} (texts {', '.join(self.of[str(number)])})")
        return "\n".join(lines)

    def form(self, words: Sequence[str]) -> Form:
        """Return the form of the reply: a label for the number of each text, by the number of each claim."""
        labels = {claim: _labels_schema(texts, words) for claim, texts in self.of.items()}
        return Form(json_schema=_object(labels))

    def read(self, reply: str) -> list[str]:
        """Read the words of a reply in the order of the judgements; an empty one where there is none."""
        data = read_json(reply)
        by_claim = data if isinstance(data, dict) else {}
        found = {str(claim): texts for claim, texts in by_claim.items() if isinstance(texts, dict)}
        return [str(found.get(claim, {}).get(text, "")).strip().lower() for claim, text in self.cells]


def _labels_schema(numbers: Sequence[str], words: Sequence[str]) -> dict[str, Any]:
    """Return the schema of an object with a word for each number."""
    return _object({number: {"type": "string", "enum": list(words)} for number in numbers})


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an object that has all of its properties and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def listed_claims(judgements: Sequence[Judgement]) -> str:
    """List claims by number from 1, those of one sentence below it."""
    lines = []
    for context, group in groupby(enumerate(judgements, 1), lambda one: one[1].context):
        lines += [f"Sentence: {context}"] if context else []
        lines += [f"{number}. {judgement.claim}" for number, judgement in group]
    return "\n".join(lines)


def labels_form(count: int, words: tuple[str, ...]) -> Form:
    """Return the form of the reply: a label for the number of each claim, never a list in their order."""
    return Form(json_schema=_labels_schema([str(number) for number in range(1, count + 1)], words))


def listed_passages(judgements: Sequence[Judgement]) -> str:
    """List the passages that are graded by number from 1, each on one line."""
    return "\n".join(f"{number}. {' '.join(one.premise.split())}" for number, one in enumerate(judgements, 1))


def read_labels(reply: str, count: int, words: Sequence[str]) -> dict[str, str] | None:
    """Read the words of a reply by their numbers: of a JSON object, or of lines such as `2: yes`; the word
    alone where only one is asked for. `None` if there is none of them: a list in their order is not read."""
    data = read_json(reply)
    if isinstance(data, dict):
        found = {str(number): str(word).strip().lower() for number, word in data.items()}
        if count > 1 or "1" in found:
            return found
        if found and all(number.isdecimal() for number in found):
            return None  # the number of something that was not asked for
    if isinstance(data, list) and len(data) > 1:
        return None  # their order would be a guess
    if count == 1:
        word = read_choice(reply, words)
        return {"1": word} if word else None
    lines = re.findall(rf"^\W*(?:[a-z]+ )?([0-9]+)\W+({'|'.join(words)})\b", reply.lower(), re.MULTILINE)
    return dict(lines) or None
