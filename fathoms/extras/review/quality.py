"""People grade the quality of answers, as in MiRAGE's extrinsic judgements (Martin et al. 2025)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.rule import Rule

from fathoms.cli.asking import Review, labelled
from fathoms.extras.review.answer import context_panel
from fathoms.extras.review.sample import Item, draw, lot
from fathoms.report.text import gold, visible
from fathoms.runs.people import Grade
from fathoms.runs.run import Run
from fathoms.types import Question, Reply


class QualityReview(Review[Item, Grade, int]):
    """One reviewer's grades of answers. The answers to one question follow one another in an order drawn at
    random, and neither pipelines nor scores are shown."""

    legend = (
        "the quality of the answer from 1 (bad) to 5 (good), by (the most important first) factuality,"
        " adequacy, coherence, relevancy and fluency"
    )

    def __init__(self, items: Sequence[Item], files: Mapping[str, Path], reviewer: str, seed: int) -> None:
        """Start with the first answer that the reviewer has not graded yet."""
        super().__init__(items, Grade, files, reviewer, seed)

    def prompt(self, item: Item) -> str:
        """Return the question for the grade of an answer."""
        return "quality, 1-5"

    def read(self, item: Item, word: str) -> int | None:
        """Return the grade that a word stands for, `None` if it is not a number from 1 to 5."""
        return int(word) if word in ("1", "2", "3", "4", "5") else None

    def said(self, item: Item, value: int, about: Mapping[str, Any]) -> Grade:
        """Return the grade of an answer, as it is saved."""
        return Grade(question=item.question.id, repeat=item.repeat.repeat, grade=value, **about)

    def panel(self, item: Item, place: str) -> list[RenderableType]:
        """Return the question, what is known of the right answer, the answer, and the earlier grade."""
        parts = [Rule(place, style="dim"), *answer_parts(item)]
        if self.before:
            parts.append(labelled("you said", f"{self.before.grade} {self.before.comment or ''}".strip()))
        return parts

    def more(self, item: Item) -> list[RenderableType]:
        """Return the retrieved texts in full."""
        return context_panel(item.repeat)


def answer_parts(item: Item) -> list[RenderableType]:
    """Show the question, the gold answer and the answer, without scores."""
    answer = item.repeat.answer or Reply(text="")
    parts: list[RenderableType] = [
        labelled("question", item.question.text),
        labelled("gold", gold_answer(item.question)),
        labelled("answer", answer.text or "(empty)"),
    ]
    if answer.refusal:
        parts.append(labelled("refused", answer.refusal))
    return parts


def gold_answer(question: Question) -> str:
    """Return the reference answer where there is one, else the gold phrases."""
    return visible(question.reference) if question.reference else gold(question)


def draw_common(runs: Iterable[Run], profile: str | None, size: int, seed: int) -> list[Item]:
    """Draw at most `size` random questions, with one answer of each run.

    The questions depend on the seed alone, so that answers of several runs to one question are compared.
    Questions with answers in more runs come first.
    """
    answers: dict[str, list[Item]] = {}
    for run in runs:
        views = list(run.questions())
        for item in draw(run.original_id, run.profile(profile), views, len(views), seed, _answered):
            answers.setdefault(item.question.id, []).append(item)
    order = sorted(answers, key=lambda id: (-len(answers[id]), _lot(id, seed)))
    return [item for id in order[:size] for item in sorted(answers[id], key=lambda one: lot(one, seed))]


def _answered(item: Item) -> bool:
    return item.repeat.answer is not None


def _lot(question: str, seed: int) -> str:
    """Return a pseudo-random sort key of a question."""
    return hashlib.sha256(repr((seed, question)).encode("utf-8", "replace")).hexdigest()
