"""People judge claims of random answers against their sources, with the labels of the judge of the run."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.rule import Rule

from fathoms.cli.asking import Review, labelled
from fathoms.errors import DataError, UsageError
from fathoms.judges.asking import Judged
from fathoms.judges.base import LABELS, Judge
from fathoms.judges.of_run import NeedsVerdicts, needed
from fathoms.judges.rubrics import WORDS
from fathoms.report.text import shorten, visible
from fathoms.runs.people import ClaimLabel, judged
from fathoms.types import Judgement, Question, Record, Rubric, Verdict

SHOWN = 2_000
"""Longer sources are cut, and shown in full on request."""
_QUESTIONS: dict[Rubric, str] = {
    "support": "does the source support the claim",
    "correct": "is the answer correct",
    "grade": "how correct is the answer",
    "relevance": "3 the source holds the exact answer, 2 some answer, unclear or among other matter, 1 it is"
    " related only, 0 unrelated",
    "extent": "does the source support the claim in full, in part or not",
}
_CHOICES: dict[Rubric, str] = {"grade": "0-10", "relevance": "0-3", "extent": "1 full, 2 partial, 3 none"}


@dataclass(frozen=True)
class ClaimItem:
    """A judgement that a metric asks for, of one answer; `labels` are those of the judge."""

    run: str
    question: Question
    repeat: int
    asked: Judgement
    labels: tuple[str, ...]

    @property
    def said_key(self) -> tuple[Any, ...]:
        """The run, the question, and what is compared: the claim, its sentence, the source and the rubric."""
        return self.run, self.question.id, judged(self.asked)

    @property
    def words(self) -> dict[str, str]:
        """The label for each word that can be said."""
        words = WORDS.get(self.asked.rubric, {})
        if self.asked.rubric in ("grade", "relevance"):
            return words
        labels = self.labels if self.asked.rubric == "support" else words.values()
        return {str(number): label for number, label in enumerate(labels, start=1)}


class ClaimReview(Review[ClaimItem, ClaimLabel, str]):
    """One reviewer's labels of claims. The verdict of the judge is not shown."""

    noun = "claims"

    def __init__(
        self, items: Sequence[ClaimItem], files: Mapping[str, Path], reviewer: str, seed: int
    ) -> None:
        """Start with the first claim that the reviewer has not labelled yet."""
        super().__init__(items, ClaimLabel, files, reviewer, seed)
        self.legend = "; ".join(dict.fromkeys(map(_asked_for, items)))

    def prompt(self, item: ClaimItem) -> str:
        """Return the question for the label of a claim, with the words that answer it."""
        return _asked_for(item)

    def read(self, item: ClaimItem, word: str) -> str | None:
        """Return the label that a word stands for, `None` for any other word."""
        return item.words.get(word)

    def said(self, item: ClaimItem, value: str, about: Mapping[str, Any]) -> ClaimLabel:
        """Return the label of a claim, as it is saved."""
        claim, premise, context, image, rubric = judged(item.asked)
        return ClaimLabel(
            claim=claim,
            premise=premise,
            context=context,
            image=image,
            rubric=rubric,
            label=value,
            group=item.question.id,
            question=item.question.id,
            repeat=item.repeat,
            **about,
        )

    def panel(self, item: ClaimItem, place: str) -> list[RenderableType]:
        """Return the question, the source, the sentence that the claim comes from, and the claim."""
        asked = item.asked
        source = f"the picture {asked.image}" if asked.image else shorten(visible(asked.premise), SHOWN)
        parts: list[RenderableType] = [
            Rule(place, style="dim"),
            labelled("question", item.question.text),
            labelled("source", source or "(empty)"),
        ]
        if asked.context and asked.context not in (asked.claim, item.question.text):
            parts.append(labelled("sentence", asked.context))
        if asked.rubric != "relevance":  # there, the claim is the question
            parts.append(labelled("answer" if asked.rubric in ("correct", "grade") else "claim", asked.claim))
        if self.before:
            parts.append(
                labelled("you said", f"{self.before.label}; {self.before.comment or ''}".strip("; "))
            )
        return parts

    def more(self, item: ClaimItem) -> list[RenderableType]:
        """Return the source in full."""
        return [labelled("source", str(item.asked.image or "") or item.asked.premise or "(empty)")]


def _asked_for(item: ClaimItem) -> str:
    """Return the question about an item with the words that answer it."""
    rubric = item.asked.rubric
    choices = _CHOICES.get(rubric) or ", ".join(" ".join(pair) for pair in item.words.items())
    return f"{_QUESTIONS[rubric]}: {choices}"


def claim_items(
    run: str,
    records: Callable[[], Iterable[Record]],
    metric: NeedsVerdicts,
    judge: Judge,
    kept: Judged,
    sample: int,
    seed: int,
    said: Iterable[ClaimLabel],
) -> list[ClaimItem]:
    """Return what a metric asks of `sample` random answers, one for each question, given the claims of the
    judge (`kept`) and what the reviewer has said so far, on which further judgements may depend.

    Raises DataError if there is nothing to label, and UsageError if the metric asks what people cannot label.
    """
    lots: dict[str, tuple[str, str, int]] = {}
    for record in records():
        if metric.lacks(record) is None and metric.judgements(record, kept.claims):
            own = (_lot(run, record, seed), record.question.id, record.repeat)
            lots[record.question.id] = min(lots.get(record.question.id, own), own)
    if not lots:
        raise _nothing(run, records(), metric, kept)
    drawn = {own[1:]: own[0] for own in sorted(lots.values())[:sample]}
    labels = _labels(judge, kept)
    answers = _by_key(said)
    found: list[tuple[str, list[ClaimItem]]] = []
    for record in records():
        if (key := (record.question.id, record.repeat)) in drawn:
            asked = _asked(metric, record, kept, partial(_verdicts, answers=answers, run=run, record=record))
            if strange := {one.rubric for one in asked} - set(_QUESTIONS):
                raise UsageError(
                    f"people cannot label what this metric asks for: {', '.join(sorted(strange))}"
                )
            items = [ClaimItem(run, record.question, record.repeat, one, labels) for one in asked]
            found.append((drawn[key], items))
    return [item for _, items in sorted(found, key=lambda pair: pair[0]) for item in items]


def _nothing(run: str, records: Iterable[Record], metric: NeedsVerdicts, kept: Judged) -> DataError:
    """Return the error that says why the metric compares nothing in any answer of a run."""
    lacking: Counter[str] = Counter()
    for record in records:
        lack = metric.lacks(record)
        if lack is None and not kept.claims.keys() >= set(metric.texts(record)):
            return DataError(
                f"{run}: this judge has not split its answers into claims for this metric: score the run"
                " first ('fathoms score' with --metric and --judge)"
            )
        lacking[lack or "claims"] += 1
    why = ", ".join(f"{number} without {what}" for what, number in lacking.most_common())
    return DataError(f"{run}: no answer has anything that this metric compares: of {lacking.total()}, {why}")


def _labels(judge: Judge, kept: Judged) -> tuple[str, ...]:
    """Return the labels of a judge: of one that does not name them, those of the verdicts that it gave."""
    named = getattr(judge, "labels", None)
    if named in LABELS:
        return LABELS[named]
    given = {verdict.label for verdict in kept.verdicts.values()}
    return LABELS["binary" if given.isdisjoint(LABELS["three-way"]) else "three-way"]


def _asked(
    metric: NeedsVerdicts,
    record: Record,
    kept: Judged,
    said: Callable[[Iterable[Judgement]], dict[Judgement, Verdict]],
) -> list[Judgement]:
    """Return what a metric asks of a record, given what the reviewer has said: each round of judgements may
    depend on the verdicts of the one before."""
    verdicts: dict[Judgement, Verdict] = {}
    while True:
        asked = list(dict.fromkeys(needed([metric], record, Judged(kept.claims, verdicts))))
        if len(known := said(asked)) == len(verdicts):
            return asked
        verdicts = known


def _by_key(said: Iterable[ClaimLabel]) -> dict[tuple[Any, ...], str]:
    return {label.key: label.label for label in said}


def _verdicts(
    asked: Iterable[Judgement], answers: Mapping[tuple[Any, ...], str], run: str, record: Record
) -> dict[Judgement, Verdict]:
    """Return what the reviewer has said of some judgements as verdicts."""
    found = {}
    for one in asked:
        label = answers.get((run, record.question.id, judged(one)))
        if label is not None:
            found[one] = Verdict(claim=one.claim, premise=one.premise, label=label)
    return found


def _lot(run: str, record: Record, seed: int) -> str:
    """Return a pseudo-random sort key of an answer."""
    return hashlib.sha256(
        repr((seed, run, record.question.id, record.repeat)).encode("utf-8", "replace")
    ).hexdigest()
