"""Compares the abstention classifiers with labels by people, by the source of the answers.

    python benchmarks/abstention ../shared/data/abstention

The folder holds `dev.jsonl` and `other-domains.jsonl`; hedged and empty answers are left out. `linear` is
cross-validated by model and question: an answer is classified by weights that were learnt from no answer of
its model and none to its question, with a threshold chosen among the answers that are learnt from. It is also
learnt from one source and tried on the other. The other classifiers have no weights; the author of the cues
and exemplars had read `dev.jsonl`. Speed is processor time on one core, over answers that the classifier has
not seen before.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from train import (
    Row,
    SentenceModel,
    describe,
    f1,
    fit,
    number_of,
    read_labelled,
    sentence_model,
    written_answers,
)

from fathoms.metrics.abstention import Classifier
from fathoms.metrics.agreement import count, figures
from fathoms.metrics.cues import Cues
from fathoms.metrics.linear import Linear
from fathoms.metrics.linear_weights import classify
from fathoms.metrics.nearest_neighbour import NearestNeighbour

GROUPS = 10
SPLITS = ("a ", "b ", "c ", "d ")
"""Other ways to divide models and questions into folds, to show how much the figure depends on that."""


def main(folder: Path) -> None:
    """Print the table by source and classifier, and the speed of each."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    rows = read_labelled(folder)
    learnt = Learnt(rows, sentence_model())
    validated = learnt.cross_validated("")
    print("| answers | classifier | accuracy | F1 | abstentions found | statements taken for abstentions |")
    print("|---|---|---|---|---|---|")
    for source, here in by_source(rows):
        for name, plain in (
            ("nearest exemplar, whole answer (`paper`)", NearestNeighbour().plain()),
            ("nearest exemplar, sentences", NearestNeighbour()),
            ("`cues`", Cues()),
        ):
            show(source, name, rows, labels(plain, rows), here)
        show(source, "`linear`, cross-validated", rows, validated, here)
        other = np.zeros(len(rows), dtype=bool)
        other[here] = learnt.said(~here, here)
        show(source, "`linear`, learnt from the other source", rows, other, here)
        show(source, "`linear` as it ships (has seen these)", rows, labels(Linear(), rows), here)
    abstains = np.array([row.abstains for row in rows])
    for split in SPLITS:
        said = learnt.cross_validated(split)
        found = [f"{f1(said[here], abstains[here]):.3f} ({source})" for source, here in by_source(rows)]
        print(f"cross-validated by other folds ({split}): F1 {', '.join(found)}")
    for classifier in (NearestNeighbour(), Cues(), Linear()):
        for source, _ in by_source(rows):
            rate = speed(classifier, [row.answer for row in rows if row.source == source])
            print(f"{classifier.kind}, {source}: {rate:.0f} answers a second of one core")
    print(f"load {os.getloadavg()[0]:.1f}")


class Learnt:
    """The second step of `linear`, learnt from some of the labelled answers."""

    def __init__(self, rows: Sequence[Row], first: SentenceModel) -> None:
        written = written_answers()
        self.rows, self.first = rows, first
        self.seen = describe(first, [row.answer for row in rows])
        self.written = describe(first, [text for text, _ in written])
        self.abstains = [abstains for _, abstains in written]

    def said(self, learnt_from: Any, tried: Any) -> list[bool]:
        """Whether each of the answers `tried` is said to abstain by weights that are learnt from others."""
        chosen = [row for row, one in zip(self.rows, learnt_from, strict=True) if one]
        found = fit(
            self.seen.of(learnt_from),
            [row.abstains for row in chosen],
            [row.question for row in chosen],
            self.written,
            self.abstains,
        )
        weights = self.first.weights._replace(**found._asdict())
        texts = [row.answer for row, one in zip(self.rows, tried, strict=True) if one]
        return [verdict.label != "statement" for verdict in classify(weights, texts)]

    def cross_validated(self, split: str) -> Any:
        """Whether every answer is said to abstain by weights learnt from other models and other questions.
        `split` decides which of them are in one fold."""
        models = np.array(
            [number_of(f"{split}model {row.model.split('_')[0]}") % GROUPS for row in self.rows]
        )
        questions = np.array([number_of(f"{split}q {row.question}") % GROUPS for row in self.rows])
        said = np.zeros(len(self.rows), dtype=bool)
        for model in range(GROUPS):
            for question in range(GROUPS):
                here = (models == model) & (questions == question)
                if here.any():
                    said[here] = self.said((models != model) & (questions != question), here)
        return said


def by_source(rows: Sequence[Row]) -> list[tuple[str, Any]]:
    """Every source, and which of the answers are from it."""
    sources = dict.fromkeys(row.source for row in rows)
    return [(source, np.array([row.source == source for row in rows])) for source in sources]


def labels(classifier: Classifier, rows: Sequence[Row]) -> list[bool]:
    """Whether the classifier says that each answer abstains."""
    return [verdict.label != "statement" for verdict in classifier.classify([row.answer for row in rows])]


def show(source: str, name: str, rows: Sequence[Row], said: Sequence[bool], here: Any) -> None:
    """One line of the table."""
    names = {True: "abstention", False: "statement"}
    pairs = [
        (names[row.abstains], names[one]) for row, one, taken in zip(rows, said, here, strict=True) if taken
    ]
    counts = count(pairs)
    values = figures(counts)
    found = f"{counts.hits} of {counts.hits + counts.missed}"
    false = f"{counts.false} of {counts.false + counts.agreed}"
    print(f"| {source} | {name} | {values['accuracy']:.3f} | {values['f1']:.3f} | {found} | {false} |")


def speed(classifier: Classifier, answers: Sequence[str], rounds: int = 5) -> float:
    """Answers a second of processor time, every one a new text, after a round that reads the weights."""
    classifier.classify(answers)
    start = time.process_time()
    for number in range(rounds):
        classifier.classify([f"{answer} [{number}]" for answer in answers])
    return rounds * len(answers) / (time.process_time() - start)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
