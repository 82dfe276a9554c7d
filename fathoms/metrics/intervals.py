"""Compute the 95 % confidence intervals of a run's figures.

They describe how far a figure would vary with other questions of the same kind on the same documents. If
there are enough groups of documents, the macro means have a second interval, `clustered`, for other documents
as well. Questions that share a document, directly or through other questions, form one group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray


class Sample(NamedTuple):
    """The value of a metric for one question, in [0, 1], and its gold documents."""

    value: float
    documents: frozenset[str]


Samples = Mapping[str, Sequence[Sample]]


def mean_intervals(samples: Samples) -> dict[str, dict[str, Any] | None]:
    """Return `low`, `high`, `method` and `n` for each metric, or `None` if it applies to no question."""
    return {metric: _plain(known) if known else None for metric, known in samples.items()}


def overall_intervals(categories: Sequence[Samples]) -> dict[str, dict[str, Any] | None]:
    """Return the intervals of the macro means as `<metric>` and of the micro means as `micro_<metric>`.

    Macro intervals also have `groups`, the number of document groups (`None` if a question names no
    document), and `clustered` with `low`, `high` and `df` (`None` if there are too few groups).
    """
    metrics = list(categories[0]) if categories else []
    found: dict[str, dict[str, Any] | None] = {}
    for metric in metrics:
        strata = [list(samples[metric]) for samples in categories if samples[metric]]
        if not strata:
            found[metric] = found[f"micro_{metric}"] = None
            continue
        groups, clustered = _clustered(strata)
        macro = _stratified(strata, [1 / len(strata)] * len(strata))
        found[metric] = {**macro, "groups": groups, "clustered": clustered}
        # The sizes of the categories are taken as fixed.
        total = sum(map(len, strata))
        found[f"micro_{metric}"] = _stratified(strata, [len(samples) / total for samples in strata])
    return found


def rate_interval(flags: Iterable[tuple[str, bool]]) -> dict[str, Any] | None:
    """Return the interval of a share of answers, each with the id of its question; `None` without answers.

    The share is a ratio of counts that are added up over the questions, because answers to one question are
    not independent. `n` is the number of questions.
    """
    import numpy as np

    from fathoms.stats.intervals import ratio_interval

    counts: dict[str, list[bool]] = {}
    for question, flag in flags:
        counts.setdefault(question, []).append(flag)
    if not counts:
        return None
    tops, bottoms = np.array([(sum(found), len(found)) for found in counts.values()], dtype=float).T
    return {**ratio_interval(tops, bottoms)._asdict(), "n": len(counts)}


def _plain(samples: Sequence[Sample]) -> dict[str, Any]:
    """Return the interval of a plain mean over questions."""
    from fathoms.stats.intervals import mean_interval

    return {**mean_interval(_values(samples))._asdict(), "n": len(samples)}


def _stratified(strata: Sequence[Sequence[Sample]], weights: Sequence[float]) -> dict[str, Any]:
    """Return the interval of a weighted mean of category means."""
    import numpy as np

    from fathoms.stats.intervals import stratified_interval

    found = stratified_interval([_values(samples) for samples in strata], np.array(weights))
    return {**found._asdict(), "n": sum(map(len, strata))}


def _clustered(strata: Sequence[Sequence[Sample]]) -> tuple[int | None, dict[str, float] | None]:
    """Return the number of document groups (`None` if a question names no document), and the clustered
    interval if there are enough of them."""
    import numpy as np

    from fathoms.stats.clusters import ENOUGH, connected, cr2_interval

    samples = [sample for stratum in strata for sample in stratum]
    if not all(sample.documents for sample in samples):
        return None, None
    groups = np.array(connected([sample.documents for sample in samples]))
    count = int(groups.max()) + 1
    if count < ENOUGH:
        return count, None
    codes = np.repeat(np.arange(len(strata)), [len(stratum) for stratum in strata])
    found = cr2_interval(_values(samples), codes, groups, np.full(len(strata), 1 / len(strata)))
    return count, found._asdict()


def _values(samples: Sequence[Sample]) -> NDArray[float64]:
    """Return the values of the samples as an array."""
    import numpy as np

    return np.array([sample.value for sample in samples], dtype=float)
