"""The F1 of a precision and a recall that are each pooled over the questions of a run."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from fathoms.metrics.columns import packed, renumbered, unpacked
from fathoms.types.run.figures import MetricFigure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fathoms.metrics.columns import Values
    from fathoms.stats.f1_interval import Mean

UNKNOWN = MetricFigure(value=None, low=None, high=None, method=None, n=0)
"""The figure of no question."""


class F1Counts(NamedTuple):
    """What one answer adds to a pooled precision (hits, judged items, unjudged items, and those of the last
    that may be hits) and to a pooled recall (those found, judged as wanted, unjudged)."""

    hits: float
    items: float
    open_items: float
    open_hits: float
    found: float
    wanted: float
    open_wanted: float


_JUDGED = [F1Counts._fields.index(name) for name in ("hits", "items", "found", "wanted")]


class F1Pool:
    """The counts of the records of a run, added up by question."""

    def __init__(self) -> None:
        self._numbers = array("i")
        self._columns = [array("d") for _ in F1Counts._fields]

    def __bool__(self) -> bool:
        return bool(self._numbers)

    def add(self, number: int, counts: F1Counts) -> None:
        """Add the counts of a record of the question with a number."""
        self._numbers.append(number)
        for column, count in zip(self._columns, counts, strict=True):
            column.append(count)

    def state(self) -> dict[str, Any]:
        """Return everything that was added, as JSON values for `extend`."""
        return {"numbers": packed(self._numbers), "columns": [packed(column) for column in self._columns]}

    def extend(self, state: dict[str, Any], numbers: Sequence[int]) -> None:
        """Add what another process has pooled; `numbers` are those of its questions here."""
        self._numbers += renumbered(state["numbers"], self._numbers, numbers)
        for column, more in zip(self._columns, state["columns"], strict=True):
            column.extend(unpacked(more, column))

    def by_question(self, questions: int) -> Values:
        """Return the counts of each question, a row each, added up over its repeats."""
        import numpy as np

        number = np.array(self._numbers, dtype=int)
        return np.stack([np.bincount(number, column, questions) for column in self._columns], axis=1)


def f1_figure(counts: NDArray[Any], how: Mean) -> MetricFigure:
    """Return the mean of precision and recall over some questions, given by their rows, with its interval;
    its `n` is the number of questions with any judged item."""
    from fathoms.stats.f1_interval import f1_interval, f1_of_counts

    judged = counts[:, _JUDGED]
    judged = judged[judged[:, [1, 3]].any(axis=1)]
    value = f1_of_counts(judged, how)
    if value is None:
        return UNKNOWN
    return MetricFigure(value=value, **f1_interval(judged, how)._asdict(), n=len(judged))


def f1_bounds(counts: NDArray[Any]) -> tuple[float | None, float | None]:
    """Return the F1 if all unjudged items were wrong, and if all were right. One that cannot be a hit is left
    out of the second, because it then need not count."""
    from fathoms.stats.f1_interval import f1_of_counts

    hits, items, open_items, open_hits, found, wanted, open_wanted = counts.T
    low = counts[:, _JUDGED].copy()
    low[:, 1], low[:, 3] = items + open_items, wanted + open_wanted
    high = low.copy()
    high[:, 0], high[:, 1], high[:, 2] = hits + open_hits, items + open_hits, found + open_wanted
    return f1_of_counts(low), f1_of_counts(high)
