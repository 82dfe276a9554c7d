"""Writes the verdicts of a run as labelled claims, for those who train or check a verifier.

A row is a claim, the premise that it was compared with, and the label, with where they come from. The rows
are split into training, validation and test data by topic, so that no topic is in two of them, and balanced:
in each of the three, every label occurs equally often. `fathoms agree` reads the files.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fathoms.corpora.writing import refuse_existing, write_new
from fathoms.errors import DataError, amount
from fathoms.judges.judge import LABELS, UNPARSED, Judge
from fathoms.judges.of_run import NeedsVerdicts, needed, stored_judgements
from fathoms.runs.run import Run
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Judgement, Question, Record, Verdict

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")
SHARES: dict[Split, float] = {"train": 0.8, "validation": 0.1, "test": 0.1}
"""The shares of the topics."""
Topic = Literal["question", "document", "category"]
_KNOWN = {label for labels in LABELS.values() for label in labels}


@dataclass(frozen=True)
class Verdicts:
    """Rows by split, and sentences for the user on what is not in them."""

    rows: Mapping[Split, Sequence[Mapping[str, Any]]]
    warnings: tuple[str, ...]


def verdicts_of(
    run: Run,
    judge: Judge,
    metrics: Sequence[NeedsVerdicts],
    by: Topic = "question",
    *,
    balanced: bool = True,
    binary: bool = False,
    seed: int = 0,
) -> Verdicts:
    """Return the stored verdicts of a judge on a run as rows; no judge is called.

    A topic is a question, all questions that share a gold document, or a category, as `by` says; questions
    with the same text are one topic. With `binary`, entailment becomes `supported` and the other labels
    `unsupported`. Verdicts that could not be read, and those on pictures, which no row can hold, are left out
    and counted. Raises DataError if the run holds no verdict of the judge.
    """
    stored = stored_judgements(run, judge, metrics, run.records.all)
    questions = [record.question for record in run.records.all()]
    if not questions:
        raise DataError(f"{run.id} holds no answers, and so no verdicts: run or import it again")
    topics = _topics(questions, by)
    left_out: Counter[str] = Counter()
    found: dict[Judgement, dict[str, Any]] = {}
    origin = {
        "judge": judge.name,
        "judge_key": fingerprint(judge.identity()),
        "prompt": judge.prompt_of("support"),
    }
    for record in run.records.all():
        for judgement in needed(metrics, record, stored):
            verdict = stored.verdicts.get(judgement)
            if verdict is None or judgement.rubric != "support" or judgement in found:
                continue
            topic = topics[record.question.id]
            found[judgement] = _row(judgement, verdict, record, topic, binary) | origin | {"run": run.id}
    rows = []
    for judgement, row in found.items():
        if row["label"] not in _KNOWN:
            left_out["verdicts that could not be read"] += 1
        elif judgement.image is not None:
            left_out["verdicts on pictures"] += 1
        else:
            rows.append(row)
    if not rows:
        what = "".join(f", but {number} {name}" for name, number in left_out.items())
        raise DataError(f"{run.id} holds no verdicts of {judge.name} on claims and texts{what}")
    split = _split(rows, seed)
    warnings = [f"left out: {number} {name}" for name, number in left_out.items()]
    if balanced:
        whole, split = split, {name: _balanced(part, seed) for name, part in split.items()}
        if dropped := sum(map(len, whole.values())) - sum(map(len, split.values())):
            warnings.append(
                f"left out: {amount(dropped, 'row')} of the more frequent labels, to balance them"
            )
    return Verdicts(split, (*warnings, *_doubts(split)))


def write_verdicts(found: Verdicts, folder: Path) -> list[Path]:
    """Write `train.jsonl`, `validation.jsonl` and `test.jsonl` into a folder, and return their paths.

    A part without rows has no file. Raises UsageError if a file exists, and StoreError if one cannot be
    written.
    """
    paths = {name: folder / f"{name}.jsonl" for name in SPLITS if found.rows[name]}
    for path in paths.values():
        refuse_existing(path)
    for name, path in paths.items():
        lines = (json.dumps(row, ensure_ascii=False, allow_nan=False) for row in found.rows[name])
        write_new(path, "".join(line + "\n" for line in lines))
    return list(paths.values())


def _row(judgement: Judgement, verdict: Verdict, record: Record, topic: str, binary: bool) -> dict[str, Any]:
    """Return the row of a verdict; a label that could not be read stays as it is."""
    label = verdict.label
    if binary and label != UNPARSED:
        label = "supported" if verdict.supports else "unsupported"
    return {
        "claim": judgement.claim,
        "premise": judgement.premise,
        "context": judgement.context,
        "label": label,
        "p": verdict.p,
        "group": topic,
        "question": record.question.id,
    }


def _topics(questions: Iterable[Question], by: Topic) -> dict[str, str]:
    """Return the topic of each question by its id: the id of the first question of the topic."""
    links: dict[str, list[tuple[str, str]]] = {}
    for question in questions:
        own = [("question", question.text)]
        if by == "document":
            own += [("document", document) for document in sorted(question.gold_documents)]
        if by == "category":
            own.append(("category", question.category))
        links[question.id] = own
    return _connected(links)


def _connected(links: Mapping[str, Sequence[tuple[str, str]]]) -> dict[str, str]:
    """Return for each question the first one that it is connected to by what they share."""
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ids = list(links)
    numbers: dict[tuple[str, str], int] = {}
    pairs = [
        (at, len(ids) + numbers.setdefault(link, len(numbers)))
        for at, own in enumerate(links.values())
        for link in own
    ]
    left, right = np.array(pairs).T
    size = len(ids) + len(numbers)
    _, parts = connected_components(
        coo_array((np.ones(len(pairs)), (left, right)), (size, size)), directed=False
    )
    first: dict[int, str] = {}
    return {id: first.setdefault(int(part), id) for id, part in zip(ids, parts, strict=False)}


def _split(rows: Sequence[Mapping[str, Any]], seed: int) -> dict[Split, list[Mapping[str, Any]]]:
    """Distribute the topics at random; each part gets at least one if there are three."""
    topics = sorted({row["group"] for row in rows}, key=lambda topic: fingerprint(seed, topic))
    least = 1 if len(topics) >= len(SPLITS) else 0
    sizes = {name: max(least, round(SHARES[name] * len(topics))) for name in ("validation", "test")}
    order = ["validation"] * sizes["validation"] + ["test"] * sizes["test"]
    part = dict.fromkeys(topics, "train") | dict(zip(topics, order, strict=False))
    return {name: [row for row in rows if part[row["group"]] == name] for name in SPLITS}


def _balanced(rows: Sequence[Mapping[str, Any]], seed: int) -> list[Mapping[str, Any]]:
    """Draw equally many rows of each label that occurs, and return them in their order."""
    labels = Counter(row["label"] for row in rows)
    least = min(labels.values(), default=0)
    drawn: set[int] = set()
    for label in sorted(labels):
        numbers = [number for number, row in enumerate(rows) if row["label"] == label]
        drawn.update(random.Random(seed).sample(numbers, least))
    return [row for number, row in enumerate(rows) if number in drawn]


def _doubts(split: Mapping[Split, Sequence[Mapping[str, Any]]]) -> Iterable[str]:
    """Yield what a reader must know of the parts: labels that are missing, and premises that several hold."""
    every = {row["label"] for rows in split.values() for row in rows}
    for name, rows in split.items():
        if not rows:
            yield f"there are too few topics for '{name}'"
        elif missing := sorted(every - {row["label"] for row in rows}):
            yield f"'{name}' has no row with the label {', '.join(missing)}"
    holders: dict[str, set[str]] = {}
    for name, rows in split.items():
        for row in rows:
            holders.setdefault(row["premise"], set()).add(name)
    if shared := sum(len(names) > 1 for names in holders.values()):
        yield f"{shared} of {len(holders)} premises are in several parts, with other claims"
