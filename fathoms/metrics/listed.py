"""Answers that are a number or a list, as questions over many documents have them.

Precision, recall and F1 of the items that an answer lists are those of QAMPARI (Amouyal et al. 2022), per
question and then averaged. There, an answer is a list of its own; here it is read from JSON, from the items
of a list, or from prose, in which commas, semicolons, "and" and line ends divide what is listed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Any, ClassVar, Literal, NamedTuple

from fathoms.answers import Reading
from fathoms.answers.markup import plain
from fathoms.metrics.gold.numbers import Quantity, number_places, quantities
from fathoms.metrics.gold.units import meanings
from fathoms.metrics.metric import Facts, Metric
from fathoms.metrics.phrase_recall import fold_text, written_places
from fathoms.metrics.said import reading_of
from fathoms.models.sentences import sentences
from fathoms.types import GoldList, GoldNumber, GoldPhrase, Question, Record, Score

_NONE = re.compile(r"\b(?:none|no|not any|nothing|nobody)\b|^\W*\[\s*\]\W*$", re.IGNORECASE)
_ITEM = re.compile(r"^[ \t]*(?:[-*•–+]|\d{1,4}[.)])[ \t]+(\S.*)$", re.MULTILINE)  # noqa: RUF001
_AFTER_NAME = re.compile(r"[:(–—]| - ")  # noqa: RUF001
_FENCE = re.compile(r"\A\s*```\w*\n(.*)```\s*\Z", re.DOTALL)
_DIVIDED = re.compile(r"[,;\n]|\band\b|\bor\b|&")
_WORD = re.compile(r"[^\W_]+")
_FOUND = "\ue000"
"""A character that stands in place of a gold item that was found."""
_LEAD = frozenset(("however", "yes", "so", "thus", "therefore", "also", "finally", "overall", "etc"))
_OF = re.compile(r"\b(?:of|from|among)\s+(?:the\s+|all\s+)*\Z", re.IGNORECASE)
_MOST_WORDS = 4
"""The most words of a listed item in lower case; what is longer says something about the items."""


class Listed(NamedTuple):
    """What an answer lists: how many gold items, and which others."""

    right: int
    others: frozenset[str]


class _ListMetric(Metric):
    """Base class of the three. A failed call scores 0, because it gave no answer."""

    source: ClassVar[str] = "QAMPARI, Amouyal et al. 2022"
    part: ClassVar[Literal["precision", "recall", "f1"]]
    """Which of the three figures is the value."""
    failed: ClassVar[float | None] = 0.0

    def lacks(self, record: Record) -> str | None:
        """Return what the record lacks: an answer, or a gold list."""
        return super().lacks(record) or (None if self._applies(record) else "a list as gold answer")

    def _applies(self, record: Record) -> bool:
        return bool(_gold_lists(record.question))

    def score(self, facts: Facts) -> Score:
        """Return the value for the gold list that the answer agrees with most."""
        reading = reading_of(facts.record)
        best: list[tuple[float, float | None, float | None]] = []
        for gold in _gold_lists(facts.record.question):
            found = listed(reading, gold, abstains=bool(facts.scores.abstained))
            number = found.right + len(found.others)
            precision = found.right / number if number else None if gold else 1.0
            recall = found.right / len(gold) if gold else None if number else 1.0
            best.append((_f1(precision, recall), precision, recall))
        f1, precision, recall = max(best, key=itemgetter(0))
        parts = {"precision": precision, "recall": recall}
        return Score(metric=self.name, value={**parts, "f1": f1}[self.part], parts=parts)


class ListPrecision(_ListMetric):
    """The share of the items that the answer lists which are in the gold list; without a value where the
    answer lists nothing."""

    kind: Literal["list-precision"] = "list-precision"
    part: ClassVar[Literal["precision"]] = "precision"


class ListRecall(_ListMetric):
    """The share of the gold list that the answer lists; without a value where the gold list is empty and the
    answer lists something."""

    kind: Literal["list-recall"] = "list-recall"
    part: ClassVar[Literal["recall"]] = "recall"


class ListF1(_ListMetric):
    """The F1 of precision and recall of the items that the answer lists; 0 where either is 0 or unknown."""

    kind: Literal["list-f1"] = "list-f1"
    part: ClassVar[Literal["f1"]] = "f1"


class NumberExact(Metric):
    """Whether the answer states the gold number (1) or not (0): its first or its last sentence with a number
    has this one and no other.

    Numbers in the question, totals (`12 of 60`) and numbers in other units do not count. "None" is 0.
    """

    failed: ClassVar[float | None] = 0.0

    kind: Literal["number-exact"] = "number-exact"

    def lacks(self, record: Record) -> str | None:
        """Return what the record lacks: an answer, or a gold number."""
        return super().lacks(record) or (None if self._applies(record) else "a number as gold answer")

    def _applies(self, record: Record) -> bool:
        return bool(_gold_numbers(record.question))

    def score(self, facts: Facts) -> Score:
        """Compare the number that the answer states with each accepted one."""
        question, text = facts.record.question, reading_of(facts.record).numbers
        right = stated = False
        for gold in _gold_numbers(question):
            known = {
                value
                for one in quantities(question.text, gold.decimal)
                if any(map(str.isdigit, question.text[one.start : one.number_end]))  # not "one station"
                for value in one.values
            } - {gold.number}
            said = [
                (sentence, found)
                for sentence in sentences(text)
                if (found := list(_stated(sentence, gold, known)))
            ]
            for sentence, found in said[:1] + said[-1:]:
                one = len({quantity.values for quantity in found}) == 1
                stated |= one
                right |= one and _is(gold, sentence, found[0])
            if not said and not facts.scores.abstained and _NONE.search(text):
                stated, right = True, right or gold.number == 0
        return Score(metric=self.name, value=float(right), parts={"stated": float(stated)})

    def counted(self, score: Score) -> Mapping[str, int]:
        """Count the answers without a number, or with several."""
        return {"answers that do not state one number": int(score.parts.get("stated") == 0)}


LISTED = (NumberExact, ListPrecision, ListRecall, ListF1)


def listed(reading: Reading, gold: tuple[GoldPhrase, ...], *, abstains: bool = False) -> Listed:
    """Return what an answer lists. One that abstains lists nothing but the gold items in it."""
    right: set[int] = set()
    others: set[str] = set()
    written = _items(reading.text)
    for text in [reading.plain] if written is None else written:
        replaced, found = _with_gold_replaced(plain(text), gold)
        right |= found
        if written is None:
            others.update(_in_prose(replaced))
        elif _FOUND not in replaced:
            others.add(_folded(replaced))
    if abstains or (not right and _NONE.search(reading.plain)):
        others.clear()
    return Listed(len(right), frozenset(others - {""}))


def _items(text: str) -> list[str] | None:
    """Return the items of an answer in JSON or with list marks; `None` for prose."""
    fenced = _FENCE.match(text)
    inner = (fenced[1] if fenced else text).strip()
    if inner[:1] in ("[", "{"):
        try:
            value = json.loads(inner)
        except (ValueError, RecursionError):
            value = None
        values = value.values() if isinstance(value, dict) else [value]
        lists = [one for one in values if isinstance(one, list)]
        if len(lists) == 1:
            return [_said(one) for one in lists[0]]
    found = _ITEM.findall(text)
    return [_AFTER_NAME.split(item, maxsplit=1)[0] for item in found] or None


def _said(item: Any) -> str:
    """Return an item of a JSON list as a text: the first value of an object."""
    return str(next(iter(item.values()), "") if isinstance(item, dict) else item)


def _with_gold_replaced(text: str, gold: tuple[GoldPhrase, ...]) -> tuple[str, set[int]]:
    """Return a text with `_FOUND` in place of each gold item in it, and which items were found."""
    folded = fold_text(text, "word")
    places: list[tuple[int, int]] = []
    found: set[int] = set()
    for number, item in enumerate(gold):
        spans = list(written_places(folded, item, "word", "both"))
        if spans:
            found.add(number)
            places += spans
    pieces, done = [], 0
    for start, end in sorted(places):
        if start >= done:
            pieces += [text[done:start], _FOUND]
        done = max(done, end)
    return "".join([*pieces, text[done:]]), found


def _in_prose(text: str) -> Iterator[str]:
    """Yield the items of prose that are not gold: of sentences that list something, or of one that is all
    there is."""
    found = sentences(text) if "\n" not in text.strip() else [text]
    several = [one for one in found if _FOUND in one or len(_DIVIDED.split(one)) > 1]
    for sentence in several or found[:1]:
        before, colon, after = sentence.partition(":")
        parts = _DIVIDED.split(after if colon and _FOUND not in before else sentence)
        for number, part in enumerate(parts):
            if _FOUND not in part and _names_something(part, leads=number == 0, alone=len(parts) == 1):
                yield _folded(part)


def _names_something(part: str, *, leads: bool, alone: bool) -> bool:
    """Whether a piece of prose can be an item: it has a name in it, or is short. The piece that `leads`
    begins with a capital letter anyway."""
    words = _WORD.findall(part)
    if not words or (len(words) == 1 and words[0].casefold() in _LEAD):
        return False
    names = [word for word in words[leads and len(words) > 1 :] if not word[0].islower()]
    return bool(names) or alone or (not leads and len(words) <= _MOST_WORDS)


def _folded(item: str) -> str:
    """Return an item as items are compared."""
    return " ".join(_WORD.findall(item)).casefold()


def _stated(sentence: str, gold: GoldNumber, known: set[float]) -> Iterator[Quantity]:
    """Yield the numbers of a sentence that can be its answer."""
    dimensions = {unit.dimension for unit in meanings(gold.unit)} if gold.unit else set()
    found = quantities(sentence, gold.decimal)
    fitting = [one for one in found if dimensions & {unit.dimension for unit in one.units}]
    for one in fitting or [one for one in found if not one.units]:
        pronoun = sentence[one.start : one.end].casefold() == "one" and gold.number != 1
        if known.isdisjoint(one.values) and not pronoun and not _OF.search(sentence[: one.start]):
            yield one


def _is(gold: GoldNumber, sentence: str, one: Quantity) -> bool:
    """Whether a number of a sentence is the gold number; one without a unit is taken to have the right
    unit."""
    bare = gold if one.units else gold.model_copy(update={"unit": None})
    return any(start == one.start for start, _ in number_places(bare, sentence))


def _f1(precision: float | None, recall: float | None) -> float:
    """Return the harmonic mean, 0 where a share is 0 or unknown."""
    return 2 * precision * recall / (precision + recall) if precision and recall else 0.0


def _gold_lists(question: Question) -> list[tuple[GoldPhrase, ...]]:
    """Return the gold answers that are a list; the phrase "none" is an empty one."""
    return [
        one.list if isinstance(one, GoldList) else ()
        for (one, *more) in question.answers
        if not more and (isinstance(one, GoldList) or (isinstance(one, str) and one.casefold() == "none"))
    ]


def _gold_numbers(question: Question) -> list[GoldNumber]:
    """Return the gold answers that are a number alone."""
    return [one for (one, *more) in question.answers if not more and isinstance(one, GoldNumber)]
