"""What of the gold answers stands in the documents as parsed: the first stage of the funnel.

An answer that is not in the parsed text can only be guessed. No model is asked: the measure is phrase
recall (`phrase_recall`), with the text of the gold pages in the place of the answer, or of the whole gold
documents where no page is named.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from fathoms.metrics.aggregate import mean
from fathoms.metrics.folding import fold_words
from fathoms.metrics.phrase_recall import Match, phrase_recall
from fathoms.types import Document, Question

COMMON = 0.2
"""An answer that stands whole in more than this share of the other documents says nothing of any one."""
_YES_NO = {"yes", "no", "true", "false"}


class GoldText(NamedTuple):
    """Recall in [0, 1] of one question's answer in its gold text, or `None` and why it is left out
    (`unanswerable`, `yes-no`, `common`, `no-text`); `chance` is the share of the other documents that hold
    the answer whole, `None` where there are none; `missed` are the phrases that were not found."""

    question: Question
    recall: float | None
    left_out: str | None
    chance: float | None
    missed: tuple[str, ...] = ()


def gold_text_recall(
    question: Question, documents: Mapping[str, Document], match: Match = "word"
) -> GoldText:
    """How much of the answer of `question` the parser kept; `documents` are all there are, by id."""
    if not question.answerable or not any(question.answers):
        return GoldText(question, None, "unanswerable", None)
    if all(_is_yes_no(variant) for variant in question.answers if variant):
        return GoldText(question, None, "yes-no", None)
    gold = {item.document for item in question.evidence} | set(question.files)
    others = [document.text for name, document in documents.items() if name not in gold]
    holds = [phrase_recall(text, question.answers, match).value == 1 for text in others]
    chance = sum(holds) / len(holds) if holds else None
    if chance is not None and chance > COMMON:
        return GoldText(question, None, "common", chance)
    text = _gold_text(question, documents)
    if text is None:
        return GoldText(question, None, "no-text", chance)
    found = phrase_recall(text, question.answers, match)
    return GoldText(question, found.value, None, chance, found.missed)


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
    known = [row.recall for row in rows if row.recall is not None]
    return {"recall": math.fsum(known) / len(known) if known else None, "n": len(known)}


def _is_yes_no(variant: Sequence[str]) -> bool:
    """An answer that nearly every text holds by accident."""
    return len(variant) == 1 and fold_words(variant[0], hyphens=True) in _YES_NO


def _gold_text(question: Question, documents: Mapping[str, Document]) -> str | None:
    """The gold pages, or the gold documents where a document's page is not named; `None` where none of
    them is known. What ingestion lost as a whole has no text: it must not be `None`."""
    pages: dict[str, set[int] | None] = dict.fromkeys(question.files) if not question.evidence else {}
    for item in question.evidence:
        known = pages.setdefault(item.document, set())
        if item.page is None or known is None:
            pages[item.document] = None
        else:
            known.add(item.page)
    if not pages:
        return None
    return "\n\n".join(
        page.text
        for name, numbers in pages.items()
        if name in documents
        for page in documents[name].pages
        if numbers is None or page.number in numbers
    )
