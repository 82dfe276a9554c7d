"""People decide whether questions that a model calls ambiguous are so, each by themselves."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, NamedTuple

from rich.console import RenderableType
from rich.rule import Rule

from fathoms.cli.asking import Review, labelled
from fathoms.runs.metadata import AMBIGUITY, AMBIGUOUS, CLEAR, OF
from fathoms.runs.people import AmbiguityLabel
from fathoms.stats.kappa import kappa
from fathoms.types import Question

Mark = Literal["clear", "ambiguous"]
_WORDS: dict[str, Mark] = {"c": "clear", "a": "ambiguous"}


class Flagged(NamedTuple):
    """A question that a model calls ambiguous, and why. `run` is the name of its question file."""

    run: str
    question: Question
    reason: str

    @property
    def said_key(self) -> tuple[Hashable, ...]:
        """The key of decisions about this question."""
        return self.run, self.question.id, 0


def flagged(questions: Sequence[Question], name: str) -> list[Flagged]:
    """Return the questions that are marked as ambiguous, without variants."""
    return [
        Flagged(name, one, str(one.metadata.get("ambiguity_reason") or ""))
        for one in questions
        if one.metadata.get(AMBIGUITY) == AMBIGUOUS and OF not in one.metadata
    ]


class AmbiguityReview(Review[Flagged, AmbiguityLabel, Mark]):
    """One reviewer's decisions. What others said is not shown."""

    noun = "questions"
    legend = (
        "a: ambiguous, more than one answer is right; c: clear, a reasonable reader finds one right answer"
    )

    def __init__(self, items: Sequence[Flagged], file: Path, reviewer: str) -> None:
        """Start with the first question that the reviewer has not decided yet."""
        super().__init__(items, AmbiguityLabel, {item.run: file for item in items}, reviewer, 0)

    def prompt(self, item: Flagged) -> str:
        """Return the prompt for a decision about a question."""
        return "ambiguous or clear, a/c"

    def read(self, item: Flagged, word: str) -> Mark | None:
        """Return what a letter or a word says."""
        return _WORDS.get(word.lower()[:1]) if word.lower() in (*_WORDS, *_WORDS.values()) else None

    def said(self, item: Flagged, value: Mark, about: Mapping[str, Any]) -> AmbiguityLabel:
        """Return the label that is saved for a decision."""
        return AmbiguityLabel(question=item.question.id, label=value, text=item.question.text, **about)

    def panel(self, item: Flagged, place: str) -> list[RenderableType]:
        """Show a question and why it was flagged, without its answer."""
        parts: list[RenderableType] = [
            Rule(place, style="dim"),
            labelled("question", item.question.text),
            labelled("flagged because", item.reason or "(no reason)", dim=True),
        ]
        if self.before:
            parts.append(labelled("you said", f"{self.before.label} {self.before.comment or ''}".strip()))
        return parts

    def more(self, item: Flagged) -> list[RenderableType]:
        """Show the gold answer of a question."""
        variants = " or ".join(" + ".join(map(str, variant)) for variant in item.question.answers)
        return [labelled("answer", item.question.reference or variants or "(none)")]


@dataclass(frozen=True)
class Adjudicated:
    """The questions with the marks that people agree on. `kappas` has Cohen's kappa and the number of
    questions of each two reviewers, `open` the ids of flagged questions on which they disagree or that fewer
    than two have decided, and `changed` how many marks of the model people changed."""

    questions: tuple[Question, ...]
    kappas: Mapping[tuple[str, str], tuple[float | None, int]]
    open: tuple[str, ...]
    changed: int


def adjudicated(questions: Sequence[Question], labels: Sequence[AmbiguityLabel]) -> Adjudicated:
    """Apply the labels of people: a flagged question has the mark on which all agree who decided it, if they
    are two or more; others keep the mark of the model and stay open. A label of a question whose text has
    changed since does not count, and names that differ in case alone are one person."""
    said: dict[str, dict[str, str]] = {}
    texts = {one.id: one.text for one in questions}
    for label in labels:
        if texts.get(label.question) in (label.text, None) or label.text is None:
            said.setdefault(label.question, {})[" ".join(label.reviewer.casefold().split())] = label.label
    found, left, changed = [], [], 0
    for one in questions:
        if one.metadata.get(AMBIGUITY) == AMBIGUOUS and OF not in one.metadata:
            decisions = list(said.get(one.id, {}).values())
            if len(decisions) < 2 or len(set(decisions)) > 1:
                left.append(one.id)
            elif decisions[0] != AMBIGUOUS:
                changed += 1
                one = one.model_copy(update={"metadata": {**one.metadata, AMBIGUITY: decisions[0]}})
        found.append(one)
    return Adjudicated(tuple(found), _kappas(said), tuple(left), changed)


def _kappas(said: Mapping[str, Mapping[str, str]]) -> dict[tuple[str, str], tuple[float | None, int]]:
    """Return Cohen's kappa of every two reviewers, and the number of questions that both decided."""
    reviewers = sorted({name for own in said.values() for name in own})
    found = {}
    for first, second in combinations(reviewers, 2):
        both = [(own[first], own[second]) for own in said.values() if {first, second} <= own.keys()]
        if both:
            table = [[both.count((a, b)) for b in (CLEAR, AMBIGUOUS)] for a in (CLEAR, AMBIGUOUS)]
            found[first, second] = kappa(table), len(both)
    return found
