"""Measure how much of the gold answers is in the parsed documents: the first stage of the funnel.

An answer that is missing from the parsed text can only be guessed. The measure needs no model: it is phrase
recall (`phrase_recall`) in the text of the gold pages instead of the answer, or in the whole gold documents
if no page is named.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import islice
from typing import Any, NamedTuple

from fathoms.metrics.aggregate import mean
from fathoms.metrics.phrase_recall import (
    Folded,
    Hyphens,
    Match,
    fold_phrase,
    fold_text,
    recall_in,
    searchable,
)
from fathoms.types import Document, GoldPhrase, GoldYesNo, Question

COMMON = 0.2
"""An answer that occurs whole in more than this share of the non-gold documents is too common to tell whether
the gold document was parsed well."""
COMMON_LEAST = 3
"""The fewest non-gold documents that make an answer common: a fifth of four is one, which proves nothing.
From ten documents on, more than a fifth are as many."""
COMPARED = 200
"""So many non-gold documents are read at most to see whether they hold an answer by chance: a share of 20 %
is then known to within 6 points (95 %), and reading a large corpus for every question would take minutes."""
_YES_NO = {"yes", "no", "true", "false"}
GoldPages = tuple[tuple[str, frozenset[int] | None], ...]
"""Pairs of a document's name and its page numbers, or `None` for all pages."""


class GoldText(NamedTuple):
    """The recall of one question's gold answer in its gold text.

    `recall` is in [0, 1], or `None` if the question is `left_out` for one of the reasons `unanswerable`,
    `no-phrases` (its gold answer is only a text), `yes-no`, `computed` (no document states it), `common` or
    `no-text`. `chance` is the share of non-gold documents that contain the whole answer, of at most
    `COMPARED` of them, and `None` if there are none. `missed` are the phrases that were not found, and
    `pages` are those of the gold text.
    """

    question: Question
    recall: float | None
    left_out: str | None
    chance: float | None
    missed: tuple[GoldPhrase, ...] = ()
    pages: GoldPages = ()


class ParsedTexts:
    """The parsed documents by id. Folded texts are cached, so each is folded once for all questions."""

    def __init__(self, documents: Mapping[str, Document]) -> None:
        self.documents = documents
        # by a hash of their names, so that a sample of them is the same for every run and order
        self._shuffled = sorted(documents, key=lambda name: sha256(name.encode("utf-8", "replace")).digest())
        self._whole: dict[tuple[str, Match], Folded] = {}
        self._gold: dict[tuple[GoldPages, Match], Folded] = {}

    def whole(self, name: str, match: Match) -> Folded:
        """Return the folded text of a whole document."""
        if (name, match) not in self._whole:
            self._whole[name, match] = fold_text(self.documents[name].text, match)
        return self._whole[name, match]

    def sample(self, without: Collection[str], most: int = COMPARED) -> list[str]:
        """Return the names of at most `most` documents other than those of `without`, drawn at random but
        always the same; all others where there are no more."""
        return list(islice((name for name in self._shuffled if name not in without), most))

    def gold(self, places: GoldPages, match: Match) -> Folded:
        """Return the folded text of some pages. Documents that could not be parsed have no text."""
        if (places, match) not in self._gold:
            text = "\n\n".join(
                page.text
                for name, numbers in places
                if name in self.documents
                for page in self.documents[name].pages
                if numbers is None or page.number in numbers
            )
            self._gold[places, match] = fold_text(text, match)
        return self._gold[places, match]


def gold_text_recall(
    question: Question,
    documents: Mapping[str, Document] | ParsedTexts,
    match: Match = "word",
    hyphens: Hyphens = "both",
) -> GoldText:
    """Measure how much of the gold answer of `question` is in the parsed text.

    `documents` must be all documents of the data set, by id: those that are not gold give `chance`.
    """
    texts = documents if isinstance(documents, ParsedTexts) else ParsedTexts(documents)
    if not question.answerable:
        return GoldText(question, None, "unanswerable", None)
    if not any(question.answers):
        return GoldText(question, None, "no-phrases", None)
    if all(is_yes_no(variant) for variant in question.answers if variant):
        return GoldText(question, None, "yes-no", None)
    if question.is_computed:
        return GoldText(question, None, "computed", None)
    wanted = searchable(question.answers)
    holding, others = _others_holding(question, wanted, texts, match, hyphens)
    chance = holding / others if others else None
    if is_common(holding, others):
        return GoldText(question, None, "common", chance)
    places = gold_pages(question)
    if not places:
        return GoldText(question, None, "no-text", chance)
    is_parsed = any(name in texts.documents for name, _ in places)
    found = recall_in((texts.gold(places, match),) if is_parsed else (), wanted, match, hyphens)
    return GoldText(question, found.value, None, chance, found.missed, places)


def gold_pages(question: Question) -> GoldPages:
    """Return the gold documents of a question, each with its gold pages, or `None` for all pages.

    They come from its evidence; a question without evidence has all pages of the files that it names.
    """
    pages: dict[str, set[int] | None] = dict.fromkeys(question.files) if not question.evidence else {}
    for item in question.evidence:
        known = pages.setdefault(item.document, set())
        if item.page is None or known is None:
            pages[item.document] = None
        else:
            known.add(item.page)
    return tuple((name, None if found is None else frozenset(found)) for name, found in pages.items())


def is_common(holding: int, others: int) -> bool:
    """Return whether an answer is too common, from how many of the other documents hold it: more than a fifth
    (`COMMON`), and at least `COMMON_LEAST` of them, or both where there are two."""
    return others > 1 and holding > COMMON * others and holding >= min(COMMON_LEAST, others)


def _others_holding(
    question: Question,
    wanted: Sequence[Sequence[GoldPhrase]],
    texts: ParsedTexts,
    match: Match,
    hyphens: Hyphens,
) -> tuple[int, int]:
    """Return how many non-gold documents contain the whole answer, and of how many (at most `COMPARED`)."""
    if not texts.documents:
        return 0, 0
    gold = {item.document for item in question.evidence} | set(question.files)
    holds = [
        recall_in((texts.whole(name, match),), wanted, match, hyphens).value == 1
        for name in texts.sample(gold)
    ]
    return sum(holds), len(holds)


def common_answers(found: Iterable[GoldText]) -> set[str]:
    """Return the ids of the questions left out because too many other documents contain their answer."""
    return {row.question.id for row in found if row.left_out == "common"}


def summarise_gold_text(found: Iterable[GoldText], common: Collection[str] = ()) -> dict[str, Any]:
    """Return the mean recall per category and their mean (`overall`), each with its number of questions `n`.

    `left_out` counts questions per reason; `chance` is the mean share of non-gold documents that contain a
    whole answer. The questions in `common` (see `common_answers`) are left out too, so that different parsers
    can be compared on the same questions.
    """
    rows = [
        row._replace(recall=None, left_out="common", missed=()) if row.question.id in common else row
        for row in found
    ]
    groups: dict[str, list[GoldText]] = {}
    for row in rows:
        groups.setdefault(row.question.category, []).append(row)
    categories = {
        name: {"recall": mean(row.recall for row in group), "n": sum(row.recall is not None for row in group)}
        for name, group in groups.items()
    }
    reasons = [row.left_out for row in rows if row.left_out]
    overall = {
        "recall": mean(figures["recall"] for figures in categories.values()),
        "micro_recall": mean(row.recall for row in rows),
        "n": sum(row.recall is not None for row in rows),
    }
    return {
        "overall": overall,
        "categories": categories,
        "left_out": {reason: reasons.count(reason) for reason in dict.fromkeys(reasons)},
        "chance": mean(row.chance for row in rows),
        "missed": {row.question.id: list(map(str, row.missed)) for row in rows if row.missed},
    }


def is_yes_no(variant: Sequence[GoldPhrase]) -> bool:
    """Return whether an answer is only yes, no, true or false, words that almost every text contains."""
    if len(variant) != 1 or isinstance(variant[0], GoldYesNo):
        return len(variant) == 1
    return isinstance(variant[0], str) and fold_phrase(variant[0]) in _YES_NO
