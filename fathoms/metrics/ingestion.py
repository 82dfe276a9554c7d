"""What of the gold answers stands in the documents as parsed: the first stage of the funnel.

An answer that is not in the parsed text can only be guessed. No model is asked: the measure is phrase
recall (`phrase_recall`), with the text of the gold pages in the place of the answer, or of the whole gold
documents where no page is named.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from fathoms.metrics.aggregate import mean
from fathoms.metrics.folding import fold_words
from fathoms.metrics.phrase_recall import Hyphens, Match, fold_text, recall_in
from fathoms.types import Document, Question

COMMON = 0.2
"""An answer that stands whole in more than this share of the other documents says nothing of any one."""
_YES_NO = {"yes", "no", "true", "false"}
GoldPages = tuple[tuple[str, frozenset[int] | None], ...]
"""Documents by name, each with some of its pages, or `None` for all."""


class GoldText(NamedTuple):
    """Recall in [0, 1] of one question's answer in its gold text, or `None` and why it is left out
    (`unanswerable`, `yes-no`, `common`, `no-text`); `chance` is the share of the other documents that hold
    the answer whole, `None` where there are none; `missed` are the phrases that were not found."""

    question: Question
    recall: float | None
    left_out: str | None
    chance: float | None
    missed: tuple[str, ...] = ()


class ParsedTexts:
    """Documents as parsed, by id; what phrases are looked for in is folded once for all questions."""

    def __init__(self, documents: Mapping[str, Document]) -> None:
        self.documents = documents
        self._whole: dict[tuple[str, Match], str] = {}
        self._gold: dict[tuple[GoldPages, Match], str] = {}

    def whole(self, name: str, match: Match) -> str:
        """The whole text of a document, folded."""
        if (name, match) not in self._whole:
            self._whole[name, match] = fold_text(self.documents[name].text, match)
        return self._whole[name, match]

    def gold(self, places: GoldPages, match: Match) -> str:
        """The text of some pages, folded. What ingestion lost as a whole has no text."""
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
    """How much of the answer of `question` the parser kept; `documents` are all there are, by id."""
    texts = documents if isinstance(documents, ParsedTexts) else ParsedTexts(documents)
    if not question.answerable or not any(question.answers):
        return GoldText(question, None, "unanswerable", None)
    if all(is_yes_no(variant) for variant in question.answers if variant):
        return GoldText(question, None, "yes-no", None)
    chance = _chance(question, texts, match, hyphens)
    if chance is not None and chance > COMMON:
        return GoldText(question, None, "common", chance)
    places = gold_pages(question)
    if not places:
        return GoldText(question, None, "no-text", chance)
    found = recall_in((texts.gold(places, match),), question.answers, match, hyphens)
    return GoldText(question, found.value, None, chance, found.missed)


def gold_pages(question: Question) -> GoldPages:
    """The gold documents of a question, each with its gold pages, or `None` for all of them where a page is
    not named. They are those of its evidence; without any, the files that it names."""
    pages: dict[str, set[int] | None] = dict.fromkeys(question.files) if not question.evidence else {}
    for item in question.evidence:
        known = pages.setdefault(item.document, set())
        if item.page is None or known is None:
            pages[item.document] = None
        else:
            known.add(item.page)
    return tuple((name, None if found is None else frozenset(found)) for name, found in pages.items())


def _chance(question: Question, texts: ParsedTexts, match: Match, hyphens: Hyphens) -> float | None:
    """The share of the documents that are not gold and hold the answer whole; `None` without any."""
    gold = {item.document for item in question.evidence} | set(question.files)
    holds = [
        recall_in((texts.whole(name, match),), question.answers, match, hyphens).value == 1
        for name in texts.documents
        if name not in gold
    ]
    return sum(holds) / len(holds) if holds else None


def common_answers(found: Iterable[GoldText]) -> set[str]:
    """The ids of questions whose answers stand in too many other documents to say anything."""
    return {row.question.id for row in found if row.left_out == "common"}


def summarise_gold_text(found: Iterable[GoldText], common: Collection[str] = ()) -> dict[str, Any]:
    """Means by category and their mean (`overall`), each with its `n`; `left_out` counts by reason;
    `chance` is the mean share of other documents that hold an answer whole.

    Parsers that are compared must be judged on the same questions: those in `common` are left out too.
    """
    rows = [
        row._replace(recall=None, left_out="common", missed=()) if row.question.id in common else row
        for row in found
    ]
    groups: dict[str, list[GoldText]] = {}
    for row in rows:
        groups.setdefault(row.question.category, []).append(row)
    categories = {name: _figures(group) for name, group in groups.items()}
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
        "missed": {row.question.id: list(row.missed) for row in rows if row.missed},
    }


def _figures(rows: Sequence[GoldText]) -> dict[str, Any]:
    """The mean over some questions."""
    recalls = [row.recall for row in rows]
    return {"recall": mean(recalls), "n": len(recalls) - recalls.count(None)}


def is_yes_no(variant: Sequence[str]) -> bool:
    """An answer that nearly every text holds by accident."""
    return len(variant) == 1 and fold_words(variant[0], hyphens=True) in _YES_NO
