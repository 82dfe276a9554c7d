"""People judge claims of random answers against their sources, with the labels of the judge of the run."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.rule import Rule

from fathoms.cli.asking import Review, labelled
from fathoms.errors import DataError, UsageError
from fathoms.judges.asking import Judged
from fathoms.judges.judge import LABELS, Judge
from fathoms.judges.of_run import NeedsVerdicts, needed
from fathoms.judges.rubrics import WORDS
from fathoms.report.text import shorten, visible
from fathoms.runs.people import (
    SAMPLES_FILE,
    ClaimLabel,
    DrawnSample,
    append_said,
    judged,
    read_samples,
)
from fathoms.types import Judgement, Question, Record, Rubric, Verdict

SHOWN = 2_000
"""Longer sources are cut, and shown in full on request."""
SUREST = 0.95
"""A judge that says that it is surer than this is wrong more often than it says."""
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
    """A judgement that a metric needs of one answer; `labels` are those of the judge. `metric` and `size` are
    stored with the label (`ClaimLabel`)."""

    run: str
    question: Question
    repeat: int
    judgement: Judgement
    labels: tuple[str, ...]
    metric: str | None = None
    size: float | None = None

    @property
    def said_key(self) -> tuple[Any, ...]:
        """The run, the question, and what is compared: the claim, its sentence, the source and the rubric."""
        return self.run, self.question.id, judged(self.judgement)

    @property
    def words(self) -> dict[str, str]:
        """The label for each word that can be said."""
        words = WORDS.get(self.judgement.rubric, {})
        if self.judgement.rubric in ("grade", "relevance"):
            return words
        labels = self.labels if self.judgement.rubric == "support" else words.values()
        return {str(number): label for number, label in enumerate(labels, start=1)}


class ClaimReview(Review[ClaimItem, ClaimLabel, str]):
    """One reviewer's labels of claims. The verdict of the judge is not shown."""

    noun = "claims"

    def __init__(
        self, items: Sequence[ClaimItem], files: Mapping[str, Path], reviewer: str, seed: int
    ) -> None:
        """Start with the first claim that the reviewer has not labelled yet."""
        super().__init__(items, ClaimLabel, files, reviewer, seed)
        self.legend = "; ".join(dict.fromkeys(map(_prompt_of, items)))

    def prompt(self, item: ClaimItem) -> str:
        """Return the question for the label of a claim, with the words that answer it."""
        return _prompt_of(item)

    def read(self, item: ClaimItem, word: str) -> str | None:
        """Return the label that a word stands for, `None` for any other word."""
        return item.words.get(word)

    def said(self, item: ClaimItem, value: str, about: Mapping[str, Any]) -> ClaimLabel:
        """Return the label of a claim, as it is saved."""
        claim, premise, context, image, rubric = judged(item.judgement)
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
            metric=item.metric,
            size=item.size,
            **about,
        )

    def panel(self, item: ClaimItem, place: str) -> list[RenderableType]:
        """Return the question, the source, the sentence that the claim comes from, and the claim."""
        judgement = item.judgement
        source = (
            f"the picture {judgement.image}"
            if judgement.image
            else shorten(visible(judgement.premise), SHOWN)
        )
        parts: list[RenderableType] = [
            Rule(place, style="dim"),
            labelled("question", item.question.text),
            labelled("source", source or "(empty)"),
        ]
        if judgement.context and judgement.context not in (judgement.claim, item.question.text):
            parts.append(labelled("sentence", judgement.context))
        if judgement.rubric != "relevance":  # there, the claim is the question
            parts.append(
                labelled("answer" if judgement.rubric in ("correct", "grade") else "claim", judgement.claim)
            )
        if self.before:
            parts.append(
                labelled("you said", f"{self.before.label}; {self.before.comment or ''}".strip("; "))
            )
        return parts

    def more(self, item: ClaimItem) -> list[RenderableType]:
        """Return the source in full."""
        return [labelled("source", str(item.judgement.image or "") or item.judgement.premise or "(empty)")]


def _prompt_of(item: ClaimItem) -> str:
    """Return the question about an item with the words that answer it."""
    rubric = item.judgement.rubric
    choices = _CHOICES.get(rubric) or ", ".join(" ".join(pair) for pair in item.words.items())
    return f"{_QUESTIONS[rubric]}: {choices}"


@dataclass(frozen=True)
class Candidate:
    """The answer to a question that may be drawn. `lot` is its random number in [0, 1], `uncertainty` that of
    the judge about its judgements, and `knows` whether the judge gives a probability for any of them."""

    repeat: int
    lot: float
    uncertainty: float
    knows: bool


def candidates(
    run: str, records: Callable[[], Iterable[Record]], metric: NeedsVerdicts, stored: Judged, seed: int
) -> dict[str, Candidate]:
    """Return one random answer of each question for which the metric needs judgements. `stored` has the
    claims and verdicts of the judge. Raises DataError if there is none."""
    found: dict[str, tuple[float, Record]] = {}
    repeats: Counter[str] = Counter()
    for record in records():
        if metric.lacks(record) is None and metric.judgements(record, stored.claims):
            question = record.question.id
            repeats[question] += 1
            lot = _lot(run, record, seed)
            if question not in found or lot < found[question][0]:
                found[question] = (lot, record)
    if not found:
        raise _nothing(run, records(), metric, stored)
    return {
        question: Candidate(
            # the least of several random numbers, as one that is as likely to be anywhere in [0, 1]
            record.repeat,
            1 - (1 - lot) ** repeats[question],
            *_uncertainty(metric, record, stored),
        )
        for question, (lot, record) in found.items()
    }


def _uncertainty(metric: NeedsVerdicts, record: Record, stored: Judged) -> tuple[float, bool]:
    """Return the standard deviation of the mean of the verdicts on a record, by the probabilities that the
    judge gives, and whether it gives any. A verdict that is missing or has none counts as probability 0.5."""
    judgements = dict.fromkeys(needed([metric], record, stored))
    shares = [_surest(stored.verdicts.get(one)) for one in judgements]
    variances = [0.25 if share is None else (p := min(share, SUREST)) * (1 - p) for share in shares]
    return math.sqrt(sum(variances)) / len(variances), any(share is not None for share in shares)


def _surest(verdict: Verdict | None) -> float | None:
    """Return the probability of the label of a verdict, by the judge or by its votes, `None` if unknown."""
    if verdict is None:
        return None
    if verdict.p is not None:
        return max(verdict.p, 1 - verdict.p)
    return max(verdict.votes.values()) / sum(verdict.votes.values()) if verdict.votes else None


def drawn_sizes(
    folder: Path, run: str, metric: str, seed: int, found: Mapping[str, Candidate], said: Iterable[ClaimLabel]
) -> Mapping[str, float]:
    """Return how likely each answer is to be drawn, relative to the average; empty where all are alike.

    The sizes of an earlier session stay: the file of samples in the folder of the run has it, and labels
    without such a sample are of one in which all answers have the same chance. A new sample is saved there.
    """
    import numpy as np

    from fathoms.stats.weighted_sample import sizes_of

    key = (metric, seed)
    for sample in read_samples(folder):
        if sample.key == key:
            return sample.sizes
    earlier = any(label.seed == seed and label.metric in (metric, None) for label in said)
    if earlier or not any(one.knows for one in found.values()):
        return {}
    sizes = sizes_of(np.array([one.uncertainty for one in found.values()]))
    if np.allclose(sizes, 1):
        return {}
    known = dict(zip(found, np.round(sizes, 6).tolist(), strict=True))
    time = datetime.now(UTC).isoformat(timespec="seconds")
    sample = DrawnSample(run=run, metric=metric, seed=seed, time=time, sizes=known)
    append_said(folder / SAMPLES_FILE, sample)
    return known


def claim_items(
    run: str,
    records: Callable[[], Iterable[Record]],
    metric: NeedsVerdicts,
    judge: Judge,
    stored: Judged,
    drawn: Mapping[tuple[str, int], float | None],
    said: Iterable[ClaimLabel],
    name: str | None = None,
) -> list[ClaimItem]:
    """Return the judgements that a metric needs of the answers that were `drawn`, in their order. `stored`
    has the claims of the judge, and `said` the labels of the reviewer so far, on which further judgements may
    depend. `drawn` maps question and repeat to how likely the answer was to be drawn, and `name` is that of
    the metric.

    Raises UsageError if the metric needs judgements that people cannot label.
    """
    labels = _labels(judge, stored)
    answers = _by_key(said)
    found: dict[tuple[str, int], list[ClaimItem]] = {}
    for record in records():
        if (key := (record.question.id, record.repeat)) in drawn:
            judgements = _judgements_of(
                metric, record, stored, partial(_verdicts, answers=answers, run=run, record=record)
            )
            if strange := {one.rubric for one in judgements} - set(_QUESTIONS):
                raise UsageError(
                    f"people cannot label what this metric asks for: {', '.join(sorted(strange))}"
                )
            found[key] = [
                ClaimItem(run, record.question, record.repeat, one, labels, name, drawn[key])
                for one in judgements
            ]
    return [item for key in drawn for item in found.get(key, [])]


def draw(
    found: Mapping[str, Candidate], sizes: Mapping[str, float], sample: int
) -> dict[tuple[str, int], float | None]:
    """Return the answers with the least random numbers, each divided by how likely it is to be drawn (Ohlsson
    1998, sequential Poisson sampling): so a larger sample contains a smaller one. Answers without a size,
    which came later, cannot be drawn."""
    lots = {
        question: one.lot / sizes.get(question, 1.0)
        for question, one in found.items()
        if not sizes or question in sizes
    }
    chosen = sorted(lots, key=lambda question: (lots[question], question))[:sample]
    return {(question, found[question].repeat): sizes.get(question) for question in chosen}


def _nothing(run: str, records: Iterable[Record], metric: NeedsVerdicts, stored: Judged) -> DataError:
    """Return the error that says why the metric compares nothing in any answer of a run."""
    lacking: Counter[str] = Counter()
    for record in records:
        lack = metric.lacks(record)
        if lack is None and not stored.claims.keys() >= set(metric.texts(record)):
            return DataError(
                f"{run}: this judge has not split its answers into claims for this metric: score the run"
                " first ('fathoms score' with --metric and --judge)"
            )
        lacking[lack or "claims"] += 1
    why = ", ".join(f"{number} without {what}" for what, number in lacking.most_common())
    return DataError(f"{run}: no answer has anything that this metric compares: of {lacking.total()}, {why}")


def _labels(judge: Judge, stored: Judged) -> tuple[str, ...]:
    """Return the labels of a judge; if it does not name them, those of its verdicts."""
    named = getattr(judge, "labels", None)
    if named in LABELS:
        return LABELS[named]
    given = {verdict.label for verdict in stored.verdicts.values()}
    return LABELS["binary" if given.isdisjoint(LABELS["three-way"]) else "three-way"]


def _judgements_of(
    metric: NeedsVerdicts,
    record: Record,
    stored: Judged,
    said: Callable[[Iterable[Judgement]], dict[Judgement, Verdict]],
) -> list[Judgement]:
    """Return the judgements that a metric needs of a record, given the labels of the reviewer: each round of
    judgements may depend on the verdicts of the one before."""
    verdicts: dict[Judgement, Verdict] = {}
    while True:
        judgements = list(dict.fromkeys(needed([metric], record, Judged(stored.claims, verdicts))))
        if len(known := said(judgements)) == len(verdicts):
            return judgements
        verdicts = known


def _by_key(said: Iterable[ClaimLabel]) -> dict[tuple[Any, ...], str]:
    return {label.key: label.label for label in said}


def _verdicts(
    judgements: Iterable[Judgement], answers: Mapping[tuple[Any, ...], str], run: str, record: Record
) -> dict[Judgement, Verdict]:
    """Return the labels of the reviewer for some judgements as verdicts."""
    found = {}
    for one in judgements:
        label = answers.get((run, record.question.id, judged(one)))
        if label is not None:
            found[one] = Verdict(claim=one.claim, premise=one.premise, label=label)
    return found


def _lot(run: str, record: Record, seed: int) -> float:
    """Return a pseudo-random number in [0, 1] for an answer."""
    name = repr((seed, run, record.question.id, record.repeat)).encode("utf-8", "replace")
    return int.from_bytes(hashlib.sha256(name).digest()) / 2**256
