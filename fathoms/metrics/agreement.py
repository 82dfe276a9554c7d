"""How far a classifier of abstention agrees with people's labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fathoms.errors import DataError, QuestionsError
from fathoms.metrics.abstention import Classifier, label_answers, label_of
from fathoms.metrics.labels import Why
from fathoms.safety.inputs import parse_json, read_text
from fathoms.types import Verdict

LABELS = ("statement", "abstention")
HEDGED = "hedged"
CONFIDENCE = 0.95
_DRAWS = 10_000


class Labelled(NamedTuple):
    """An answer and what people called it."""

    id: str
    answer: str
    label: str


class Counts(NamedTuple):
    """Answers by what people called them and what the classifier did; abstention is the positive class."""

    hits: int
    """Abstentions on both sides."""
    false: int
    """Statements that were taken for abstentions."""
    missed: int
    """Abstentions that were taken for statements."""
    agreed: int
    """Statements on both sides."""


def read_labels(path: Path) -> list[Labelled]:
    """Rows of `{id, answer, label}`, one JSON object a line; other keys are passed over, so are empty lines.
    A label that is `null` is read as `unlabelled`.

    Raises QuestionsError that lists every row that is wrong by file and line, and DataError for a file that
    cannot be read.
    """
    rows: list[Labelled] = []
    complaints: list[str] = []
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if line.strip():
            try:
                rows.append(_row(line, str(path), number))
            except DataError as error:
                complaints.append(str(error))
    if complaints:
        raise QuestionsError(complaints)
    return rows


def _row(line: str, name: str, number: int) -> Labelled:
    """One row; raises DataError at its place."""
    row, place = parse_json(line, name, first_line=number), f"{name}:{number}"
    if not isinstance(row, dict):
        raise DataError(f"{place}: want an object with 'id', 'answer' and 'label'")
    if row.get("label", "") is None:
        row["label"] = "unlabelled"
    for key in Labelled._fields:
        if not isinstance(row.get(key), str):
            raise DataError(f"{place}: '{key}' is {'no text' if key in row else 'missing'}")
    return Labelled(row["id"], row["answer"], row["label"])


def agree(rows: Sequence[Labelled], classifier: Classifier) -> dict[str, Any]:
    """The figures that `fathoms agree` prints, over the rows labelled `statement` or `abstention`.

    `empty` and `refusal` count as abstentions here; `kinds` tells them apart. Other rows are counted in
    `left_out`; `hedged` ones are also counted both ways. Raises DataError where no row has either label,
    and what the classifier raises.
    """
    known = [row for row in rows if row.label in LABELS]
    if not known:
        raise DataError(f"no row is labelled {' or '.join(LABELS)}")
    hedged = [row for row in rows if row.label == HEDGED]
    verdicts, _ = label_answers([row.answer for row in (*known, *hedged)], classifier, {})
    said = [
        label_of(verdicts[row.answer]) if row.answer in verdicts else "empty" for row in (*known, *hedged)
    ]
    labels = said[: len(known)]
    counts = count([(row.label, label) for row, label in zip(known, labels, strict=True)])
    return {
        **figures(counts),
        "intervals": intervals(counts),
        "confusion": _confusion(counts),
        "kinds": dict(Counter(labels)),
        "left_out": dict(Counter(row.label for row in rows if row.label not in LABELS)),
        "hedged": _both_ways(counts, said[len(known) :]),
        "differ": [
            {"id": row.id, "label": row.label, "classified": label, **_why(row, verdicts, classifier)}
            for row, label in zip(known, labels, strict=True)
            if (row.label == "statement") != (label == "statement")
        ],
        "classifier": classifier.model_dump(mode="json"),
    }


def _why(row: Labelled, verdicts: Mapping[str, Verdict], classifier: Classifier) -> dict[str, Any]:
    """What the label of an answer rests on; an answer without text has no verdict."""
    verdict = verdicts.get(row.answer)
    return (classifier.explain(verdict) if verdict else Why(reason="no text")).model_dump()


def count(pairs: Sequence[tuple[str, str]]) -> Counts:
    """Pairs of people's label and the classifier's, as counts."""
    cells = Counter((theirs != "statement", ours != "statement") for theirs, ours in pairs)
    return Counts(cells[True, True], cells[False, True], cells[True, False], cells[False, False])


def figures(counts: Counts) -> dict[str, Any]:
    """`n`, `accuracy`, `precision`, `recall`, `f1` (of abstention) and Cohen's `kappa`, each in [0, 1] but
    `kappa` in [-1, 1]; `None` where its denominator is 0."""
    from fathoms.stats.kappa import kappa

    n = sum(counts)
    accuracy = _ratio(counts.hits + counts.agreed, n)
    return {
        "n": n,
        "accuracy": accuracy,
        "precision": _ratio(counts.hits, counts.hits + counts.false),
        "recall": _ratio(counts.hits, counts.hits + counts.missed),
        "f1": _ratio(2 * counts.hits, 2 * counts.hits + counts.false + counts.missed),
        "kappa": kappa([[counts.hits, counts.missed], [counts.false, counts.agreed]]),
    }


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def intervals(counts: Counts, seed: int = 0) -> dict[str, tuple[float, float] | None]:
    """95 % intervals: Wilson's score interval for rates; for `f1` and `kappa` the percentile bootstrap over
    rows, smoothed (10,000 draws from `seed`). `None` where the figure is. Rows are taken as independent."""
    values, drawn = figures(counts), _bootstrap(counts, seed)
    return {
        "accuracy": _wilson(counts.hits + counts.agreed, sum(counts)),
        "precision": _wilson(counts.hits, counts.hits + counts.false),
        "recall": _wilson(counts.hits, counts.hits + counts.missed),
        **{name: None if values[name] is None else bounds for name, bounds in drawn.items()},
    }


def _wilson(successes: int, n: int) -> tuple[float, float] | None:
    """The score interval at 95 %; `None` for n = 0."""
    from fathoms.stats.intervals import wilson

    if not n:
        return None
    low, high = wilson(successes / n, n)
    return float(low), float(high)


def _bootstrap(counts: Counts, seed: int) -> dict[str, tuple[float, float] | None]:
    """Percentile intervals of F1 and kappa; drawing rows is drawing counts from a multinomial.

    Half a row is added to each cell before drawing: without it, full agreement would have an interval of
    no width. Draws without a value are left out.
    """
    import numpy as np

    n, tails = sum(counts), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]
    draws = (
        np.random.default_rng(seed)
        .multinomial(n, (np.array(counts) + 0.5) / (n + 2), size=_DRAWS)
        .astype(float)
    )
    hits, false, missed, agreed = draws.T
    chance = (hits + missed) * (hits + false) + (false + agreed) * (missed + agreed)
    found: dict[str, tuple[float, float] | None] = {}
    for name, part, whole in (
        ("f1", 2 * hits, 2 * hits + false + missed),
        ("kappa", (hits + agreed) * n - chance, n * n - chance),
    ):
        values = part[whole > 0] / whole[whole > 0]
        found[name] = tuple(np.quantile(values, tails).tolist()) if len(values) else None
    return found


def _confusion(counts: Counts) -> dict[str, dict[str, int]]:
    """By people's label, then by the classifier's."""
    return {
        "statement": {"statement": counts.agreed, "abstention": counts.false},
        "abstention": {"statement": counts.missed, "abstention": counts.hits},
    }


def _both_ways(counts: Counts, said: Sequence[str]) -> Mapping[str, dict[str, Any]]:
    """The figures with the hedged answers as abstentions, and with them as statements."""
    ways: Iterator[tuple[str, Counts]] = (
        (f"as_{label}", Counts(*map(sum, zip(counts, count([(label, each) for each in said]), strict=True))))
        for label in reversed(LABELS)
    )
    return {name: figures(both) for name, both in ways} if said else {}
