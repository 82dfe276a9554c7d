"""Compares the abstention classifiers with labels by people, by the source of the answers.

    python benchmarks/abstention ../shared/data/abstention

The folder holds `dev.jsonl` and `other-domains.jsonl`; hedged and empty answers are left out. Beside it,
`cases/abstention.jsonl` has answers with ordinary endings; a text is right if it is with all of its endings.
Every answer is classified by what it says (`fathoms.answers.read`), except where the rule of the paper takes
it as it came. `linear` is cross-validated by model and question: an answer is classified by weights that were
learnt from no answer of its model and none to its question. It is also learnt from one source and tried on
the other, and from the written answers without a fifth of their sources. `blind*.yaml` have answers that
nothing is learnt from. The other classifiers have no weights; the author of the cues and exemplars had read
`dev.jsonl`. Speed is processor time on one core, over answers that the classifier has not seen before.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from train import (
    VARIANTS,
    Row,
    SentenceModel,
    describe,
    fit,
    lesson,
    read_labelled,
    read_more_labelled,
    said,
    sentence_model,
    with_endings,
    written_answers,
)

from fathoms.metrics.abstention import Classifier
from fathoms.metrics.agreement import count, figures
from fathoms.metrics.cues import Cues
from fathoms.metrics.linear import Linear
from fathoms.metrics.linear_weights import Weights, classify
from fathoms.metrics.nearest_neighbour import NearestNeighbour

GROUPS = 5
SPLITS = ("a ", "b ")
"""Other ways to divide models and questions into folds, to show how much the figure depends on that."""


def main(folder: Path) -> None:
    """Print the table by source and classifier, and the speed of each."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    rows = read_labelled(folder) + read_more_labelled(folder.parent)
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
        other[here] = learnt.said(np.array([row.source != source for row in rows]), here)
        show(source, "`linear`, learnt from the other source", rows, other, here)
        show(source, "`linear` as it ships (has seen these)", rows, labels(Linear(), rows), here)
    abstains = np.array([row.abstains for row in rows])
    for split in SPLITS:
        said = learnt.cross_validated(split)
        found = [f"{f1(said[here], abstains[here]):.3f} ({source})" for source, here in by_source(rows)]
        print(f"cross-validated by other folds ({split}): F1 {', '.join(found)}")
    print("| answers with endings | F1 | texts right with all of them |\n|---|---|---|")
    cases(folder)
    blind()
    by_written_source(rows)
    for classifier in (NearestNeighbour(), Cues(), Linear()):
        for source, _ in by_source(rows):
            rate = speed(classifier, [row.answer for row in rows if row.source == source])
            print(f"{classifier.kind}, {source}: {rate:.0f} answers a second of one core")
    print(f"load {os.getloadavg()[0]:.1f}")


class Learnt:
    """The second step of `linear`, learnt from some of the labelled answers."""

    def __init__(
        self, rows: Sequence[Row], first: SentenceModel, without: frozenset[str] = frozenset()
    ) -> None:
        self.rows, self.first = rows, first
        self.seen = describe(first, [said(row.answer) for row in rows])
        self.written = lesson(without)

    def said(self, learnt_from: Any, tried: Any) -> list[bool]:
        """Whether each of the answers `tried` is said to abstain by weights that are learnt from others."""
        weights = self.weights(learnt_from)
        return abstained(weights, [row.answer for row, one in zip(self.rows, tried, strict=True) if one])

    def weights(self, learnt_from: Any) -> Weights:
        """The weights that are learnt from the written answers and from some of the labelled ones."""
        chosen = [row for row, one in zip(self.rows, learnt_from, strict=True) if one]
        found = fit(
            self.seen.of(learnt_from),
            [row.abstains for row in chosen],
            self.written,
        )
        return self.first.weights._replace(**found._asdict())

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


def f1(said: Any, labels: Any) -> float:
    """F1 of abstention."""
    return float(2 * (said & labels).sum() / max(said.sum() + labels.sum(), 1))


def number_of(text: str) -> int:
    """A number that depends on the text alone, for folds."""
    return int.from_bytes(sha256(text.encode()).digest()[:4], "big")


def by_source(rows: Sequence[Row]) -> list[tuple[str, Any]]:
    """Every source, and which of the answers are from it, without those that are learnt from only."""
    sources = dict.fromkeys(row.source for row in rows)
    return [(source, np.array([row.source == source and not row.more for row in rows])) for source in sources]


def labels(classifier: Classifier, rows: Sequence[Row]) -> list[bool]:
    """Whether the classifier says that each answer abstains."""
    is_paper = isinstance(classifier, NearestNeighbour) and classifier.unit == "answer"
    texts = [row.answer if is_paper else said(row.answer) for row in rows]
    return [verdict.label != "statement" for verdict in classifier.classify(texts)]


def abstained(weights: Weights, answers: Sequence[str]) -> list[bool]:
    """Whether each answer is said to abstain by these weights."""
    return [verdict.label != "statement" for verdict in classify(weights, list(map(said, answers)))]


def show_endings(name: str, rows: Sequence[tuple[str, bool]], found: Sequence[bool], each: int) -> None:
    """One line on texts with their endings, which stand together, so many of `each`."""
    abstains = np.array([one for _, one in rows])
    right = (np.array(found) == abstains).reshape(-1, each).all(axis=1)
    print(f"| {name} | {f1(np.array(found), abstains):.3f} | {right.sum()} of {len(right)} |")


def by_written_source(rows: Sequence[Row]) -> None:
    """How written answers with their endings are classified by weights that were learnt without their source
    and others, in the first step too."""
    everything, written = np.ones(len(rows), dtype=bool), written_answers()
    sources = [
        one for one in dict.fromkeys(row.source for row in written) if one not in ("tests", "exemplars")
    ]
    for group in range(GROUPS):
        left_out = frozenset(sources[group::GROUPS])
        learnt = Learnt(rows, sentence_model(left_out), left_out)
        weights = learnt.weights(everything)
        for source in sources[group::GROUPS]:
            own = with_endings([one for one in written if one.source == source])
            found = abstained(weights, [one.text for one in own])
            show_endings(source, [(one.text, one.abstains) for one in own], found, 1 + VARIANTS)


def blind() -> None:
    """How the answers of `blind*.yaml` are classified, which nothing is learnt from, by file and source: as
    they are, and with every ending and opening: those of the file, or those of `blind.yaml`."""
    here = Path(__file__).parent
    endings = yaml.safe_load((here / "blind.yaml").read_text(encoding="utf-8"))["endings"]
    for path in sorted(here.glob("blind*.yaml")):
        sources = yaml.safe_load(path.read_text(encoding="utf-8"))
        around = [("", ending) for ending in ["", *sources.pop("endings", endings)]]
        around += [(opening, "") for opening in sources.pop("openings", ())]
        wanted, found = [], []
        for source, by_label in sources.items():
            own = [
                (before + text + after, label == "abstention")
                for label, texts in by_label.items()
                for text in texts
                for before, after in around
            ]
            verdicts = Linear().classify([said(text) for text, _ in own])
            taken = [verdict.label != "statement" for verdict in verdicts]
            show_blind(f"{path.stem}: {source}", own, taken, len(around))
            wanted, found = wanted + own, found + taken
        show_blind(f"{path.stem}: all", wanted, found, len(around))


def show_blind(name: str, rows: Sequence[tuple[str, bool]], found: Sequence[bool], each: int) -> None:
    """One line on blind texts with their endings, and what is found of those without any, the first ones."""
    abstains, taken = (np.array(values)[::each] for values in ([one for _, one in rows], found))
    hits = f"{(taken & abstains).sum()} of {abstains.sum()}"
    counts = f"{hits}, {(taken & ~abstains).sum()} of {(~abstains).sum()}"
    show_endings(f"{name} (as they are {f1(taken, abstains):.3f}: {counts})", rows, found, each)


def cases(folder: Path) -> None:
    """How the answers with ordinary endings are classified."""
    path = folder.parent / "cases" / "abstention.jsonl"
    if path.is_file():
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        rows.sort(key=lambda row: str(row["id"]).partition(":")[2])
        found = labels(Linear(), [Row("cases", "", "", row["answer"], False, row["id"]) for row in rows])
        each = len({row["ending"] for row in rows})
        wanted = [(row["answer"], row["label"] == "abstention") for row in rows]
        show_endings("`linear` as it ships", wanted, found, each)


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
