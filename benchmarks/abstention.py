"""Compares classifiers of abstentions with human labels: released flags, nearest exemplar, and cues.

    python benchmarks/abstention.py LABELS.jsonl

Rows are `{id, question, answer, label, correctness, released_hallucination_flag}`. Only incorrect answers
with the label `statement` or `abstention` are used, because a released flag identifies an abstention only if
the answer is incorrect. The cross-validated lines choose `least_cosine` on the other folds; all answers to
one question are in the same fold. Speed is measured in processor time on one core, over answers that the
classifier has not seen before.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fathoms.metrics import Classifier, Cues, NearestNeighbour
from fathoms.metrics.agreement import count, figures

FOLDS = 5
GRID = [step / 20 for step in range(4, 17)]
Row = dict[str, Any]


def main(path: Path) -> None:
    """Print the confusion table of every judge, then the speed of two."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    judged = [row for row in rows if row["correctness"] != 1 and row["label"] in ("statement", "abstention")]
    questions = {row["question"] for row in judged}
    print(f"{len(judged)} answers to {len(questions)} questions; load {os.getloadavg()[0]:.1f}")
    print("| judge | accuracy | F1 | kappa | abstentions found | statements taken for abstentions |")
    print("|---|---|---|---|---|---|")
    flags = ["statement" if row["released_hallucination_flag"] else "abstention" for row in judged]
    show("released flags", judged, flags)
    show("nearest exemplar, whole answer (`plain`)", judged, labels(NearestNeighbour().plain(), judged))
    show("nearest exemplar, sentences", judged, labels(NearestNeighbour(), judged))
    show(
        "the same, cross-validated",
        judged,
        cross_validated(judged, lambda at: NearestNeighbour(least_cosine=at)),
    )
    show("cues", judged, labels(Cues(), judged))
    show("the same, cross-validated", judged, cross_validated(judged, lambda at: Cues(least_cosine=at)))
    for classifier in (NearestNeighbour(), Cues()):
        rate = speed(classifier, [row["answer"] for row in rows])
        print(f"{classifier.kind}: {rate:.0f} answers a second of one core")


def show(name: str, rows: Sequence[Row], said: Sequence[str]) -> None:
    """One line of the table."""
    counts = count([(row["label"], label) for row, label in zip(rows, said, strict=True)])
    values = figures(counts)
    means = " | ".join(f"{values[key]:.3f}" for key in ("accuracy", "f1", "kappa"))
    found = f"{counts.hits} of {counts.hits + counts.missed}"
    print(f"| {name} | {means} | {found} | {counts.false} of {counts.false + counts.agreed} |")


def labels(classifier: Classifier, rows: Sequence[Row]) -> list[str]:
    """The classifier's labels."""
    return [verdict.label for verdict in classifier.classify([row["answer"] for row in rows])]


def cross_validated(rows: Sequence[Row], make: Callable[[float], Classifier]) -> list[str]:
    """Labels of every fold by the threshold that is best on the other folds."""
    tried = [labels(make(at), rows) for at in GRID]
    folds = {
        question: place % FOLDS for place, question in enumerate(sorted({row["question"] for row in rows}))
    }
    of = [folds[row["question"]] for row in rows]
    said = [""] * len(rows)
    for fold in range(FOLDS):
        best = max(tried, key=lambda found: right(rows, found, [other != fold for other in of]))
        for place in range(len(rows)):
            said[place] = best[place] if of[place] == fold else said[place]
    return said


def right(rows: Sequence[Row], said: Sequence[str], chosen: Sequence[bool]) -> int:
    """How many of the chosen rows got their label."""
    triples = zip(rows, said, chosen, strict=True)
    return sum(row["label"] == label for row, label, taken in triples if taken)


def speed(classifier: Classifier, answers: Sequence[str], rounds: int = 5) -> float:
    """Answers a second of processor time, every one a new text, after a first round that reads the cues."""
    classifier.classify(answers)
    start = time.process_time()
    for number in range(rounds):
        classifier.classify([f"{answer} [{number}]" for answer in answers])
    return rounds * len(answers) / (time.process_time() - start)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
