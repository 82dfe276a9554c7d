"""Measure how well an abstention classifier agrees with human labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fathoms.answers import read
from fathoms.errors import DataError, QuestionsError
from fathoms.metrics.abstention import Classifier, label_answers, label_of
from fathoms.metrics.judged_abstention import JudgedAbstention, judgement
from fathoms.metrics.labels import Label, Why, classified_text
from fathoms.safety.inputs import parse_json, read_text
from fathoms.types import Judgement, Verdict

LABELS = ("statement", "abstention")
"""The human labels that agreement is measured on."""
HEDGED = "hedged"
"""The human label of answers that could count as a statement or as an abstention."""
CONFIDENCE = 0.95
_DRAWS = 10_000


class Labelled(NamedTuple):
    """An answer with its human label, and the question where it is known."""

    id: str
    answer: str
    label: str
    question: str = ""


class Counts(NamedTuple):
    """The confusion counts of human labels against classifier labels; abstention is the positive class."""

    hits: int
    """True positives: abstentions according to both."""
    false: int
    """False positives: statements that the classifier called abstentions."""
    missed: int
    """False negatives: abstentions that the classifier called statements."""
    agreed: int
    """True negatives: statements according to both."""


def read_labels(path: Path) -> list[Labelled]:
    """Read a JSON Lines file of `{id, answer, label}` objects, optionally with a `question`; other keys and
    empty lines are ignored.

    A label that is `null` is read as `unlabelled`. Raises QuestionsError, which lists every invalid row with
    its file and line, and DataError for a file that cannot be read.
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
    """Parse one row; raises DataError that names its file and line."""
    row, place = parse_json(line, name, first_line=number), f"{name}:{number}"
    if not isinstance(row, dict):
        raise DataError(f"{place}: expected an object with 'id', 'answer' and 'label'")
    if row.get("label", "") is None:
        row["label"] = "unlabelled"
    for key in ("id", "answer", "label"):
        if not isinstance(row.get(key), str):
            raise DataError(f"{place}: '{key}' is {'not text' if key in row else 'missing'}")
    question = row.get("question")
    return Labelled(row["id"], row["answer"], row["label"], question if isinstance(question, str) else "")


def agree(
    rows: Sequence[Labelled],
    classifier: Classifier,
    by_judge: Mapping[Judgement, Verdict] | None = None,
) -> dict[str, Any]:
    """Compute the figures that `fathoms agree` prints, over the rows labelled `statement` or `abstention`.

    The classifier labels `empty` and `refusal` count as abstentions here; `kinds` counts them separately.
    Rows with other human labels are only counted, in `left_out`. For rows labelled `hedged`, `hedged` holds
    the figures with all of them taken as abstentions, and with all of them taken as statements. `by_judge`
    holds the verdicts for `kind: judge`; rows without a verdict are left out and counted as `unjudged`.
    Raises DataError if no row is left, and any error of the classifier.
    """
    known = [row for row in rows if row.label in LABELS]
    if not known:
        raise DataError(f"no row is labelled {' or '.join(LABELS)}")
    labelled = _labelled([*known, *(row for row in rows if row.label == HEDGED)], classifier, by_judge or {})
    said = [(row, label, why) for row, label, why in labelled if label is not None and row.label != HEDGED]
    if not said:
        raise DataError("the judge gave no verdict on any answer")
    counts = count([(row.label, label) for row, label, _ in said])
    left_out = Counter(row.label for row in rows if row.label not in LABELS)
    if unjudged := len(known) - len(said):
        left_out["unjudged"] = unjudged
    return {
        **figures(counts),
        "intervals": intervals(counts),
        "confusion": {
            "statement": {"statement": counts.agreed, "abstention": counts.false},
            "abstention": {"statement": counts.missed, "abstention": counts.hits},
        },
        "kinds": dict(Counter(label for _, label, _ in said)),
        "left_out": dict(left_out),
        "hedged": _both_ways(counts, [label for row, label, _ in labelled if label and row.label == HEDGED]),
        "differ": [
            {"id": row.id, "label": row.label, "classified": label, **why.model_dump()}
            for row, label, why in said
            if (row.label == "statement") != (label == "statement")
        ],
        "classifier": classifier.model_dump(mode="json"),
    }


def _labelled(
    rows: Sequence[Labelled], classifier: Classifier, by_judge: Mapping[Judgement, Verdict]
) -> list[tuple[Labelled, Label | None, Why]]:
    """Return each row with the label of the classifier and its reason; an empty answer needs no verdict, and
    one without a verdict of the judge has no label."""
    texts = [classified_text(read(row.answer)) for row in rows]
    if isinstance(classifier, JudgedAbstention):
        verdicts = [
            by_judge.get(judgement(row.question, said)) for row, said in zip(rows, texts, strict=True)
        ]
        labels = [classifier.label(verdict) if verdict else None for verdict in verdicts]
    else:
        by_text, _ = label_answers(texts, classifier, {})
        verdicts = [by_text.get(text) for text in texts]
        labels = [label_of(verdict) if verdict else None for verdict in verdicts]
    return [
        (row, label if said.strip() else "empty", _why(verdict, classifier))
        for row, said, verdict, label in zip(rows, texts, verdicts, labels, strict=True)
    ]


def _why(verdict: Verdict | None, classifier: Classifier) -> Why:
    """Return the reason for a label; an empty answer has no verdict."""
    return classifier.explain(verdict) if verdict else Why(reason="no text")


def count(pairs: Sequence[tuple[str, str]]) -> Counts:
    """Count pairs of human label and classifier label; every label but `statement` is an abstention."""
    cells = Counter((theirs != "statement", ours != "statement") for theirs, ours in pairs)
    return Counts(cells[True, True], cells[False, True], cells[True, False], cells[False, False])


def figures(counts: Counts) -> dict[str, Any]:
    """Return `n`, `accuracy`, `precision`, `recall` and `f1` of abstention, and Cohen's `kappa`.

    Rates are in [0, 1], `kappa` is in [-1, 1]. A figure is `None` if its denominator is 0.
    """
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
    """Return the 95 % interval of each figure, or `None` where the figure is `None`.

    Rates have Blaker's exact interval; `f1` and `kappa` have a smoothed percentile bootstrap over rows
    (10,000 draws, random seed `seed`). Rows are assumed to be independent.
    """
    values, drawn = figures(counts), _bootstrap(counts, seed)
    return {
        "accuracy": _blaker(counts.hits + counts.agreed, sum(counts)),
        "precision": _blaker(counts.hits, counts.hits + counts.false),
        "recall": _blaker(counts.hits, counts.hits + counts.missed),
        **{name: None if values[name] is None else bounds for name, bounds in drawn.items()},
    }


def _blaker(successes: int, n: int) -> tuple[float, float] | None:
    """Return Blaker's 95 % interval, or `None` for n = 0."""
    from fathoms.stats.intervals import blaker

    return blaker(successes / n, n) if n else None


def _bootstrap(counts: Counts, seed: int) -> dict[str, tuple[float, float] | None]:
    """Compute percentile bootstrap intervals of F1 and kappa.

    Resampling rows is the same as drawing the four counts from a multinomial distribution. Half a row is
    added to each cell first, because otherwise full agreement would have an interval of zero width. Draws
    for which a figure is undefined are left out.
    """
    import numpy as np

    n, tails = sum(counts), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]
    draws = np.random.default_rng(seed).multinomial(n, (np.array(counts) + 0.5) / (n + 2), size=_DRAWS)
    hits, false, missed, agreed = draws.T.astype(float)
    chance = (hits + missed) * (hits + false) + (false + agreed) * (missed + agreed)
    found: dict[str, tuple[float, float] | None] = {}
    for name, part, whole in (
        ("f1", 2 * hits, 2 * hits + false + missed),
        ("kappa", (hits + agreed) * n - chance, n * n - chance),
    ):
        values = part[whole > 0] / whole[whole > 0]
        found[name] = tuple(np.quantile(values, tails).tolist()) if len(values) else None
    return found


def _both_ways(counts: Counts, said: Sequence[str]) -> Mapping[str, dict[str, Any]]:
    """Return the figures with hedged answers counted as abstentions, and as statements."""
    found = {}
    for label in reversed(LABELS) if said else ():
        hedged = count([(label, each) for each in said])
        found[f"as_{label}"] = figures(Counts(*map(sum, zip(counts, hedged, strict=True))))
    return found
