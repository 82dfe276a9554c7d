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


def overall_intervals(categories: Mapping[str, Samples]) -> dict[str, dict[str, Any] | None]:
    """Return the intervals of the macro means as `<metric>` and of the micro means as `micro_<metric>`.

    Macro intervals also have `groups`, the number of document groups (`None` if a question names no
    document), and `clustered` with `low`, `high` and `df`, which is `None` where the documents do not allow
    it; `not_clustered` then says why.
    """
    metrics = list(next(iter(categories.values()), {}))
    found: dict[str, dict[str, Any] | None] = {}
    for metric in metrics:
        named = {name: list(samples[metric]) for name, samples in categories.items() if samples[metric]}
        strata = list(named.values())
        if not strata:
            found[metric] = found[f"micro_{metric}"] = None
            continue
        macro = _stratified(strata, [1 / len(strata)] * len(strata))
        found[metric] = {**macro, **_clustered(named)}
        # The sizes of the categories are taken as fixed.
        total = sum(map(len, strata))
        found[f"micro_{metric}"] = _stratified(strata, [len(samples) / total for samples in strata])
    return found


def rate_interval(flags: Iterable[tuple[str, bool]], most: int) -> dict[str, Any] | None:
    """Return the interval of a share of answers, each with the id of its question; `None` without answers.

    The share is a ratio of counts that are added up over the questions, because answers to one question are
    not independent. `most` is the most answers that a question can have, and `n` the number of questions.
    """
    import numpy as np

    from fathoms.stats.intervals import ratio_interval

    counts: dict[str, list[bool]] = {}
    for question, flag in flags:
        counts.setdefault(question, []).append(flag)
    if not counts:
        return None
    tops, bottoms = np.array([(sum(found), len(found)) for found in counts.values()], dtype=float).T
    return {**ratio_interval(tops, bottoms, most=most)._asdict(), "n": len(counts)}


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


def _clustered(categories: Mapping[str, Sequence[Sample]]) -> dict[str, Any]:
    """Return the number of document groups, the clustered interval, and why there is none."""
    import numpy as np

    from fathoms.stats.clusters import connected, cr2_interval, usable

    strata = list(categories.values())
    samples = [sample for stratum in strata for sample in stratum]
    if not all(sample.documents for sample in samples):
        return {"groups": None, "clustered": None, "not_clustered": "not all questions name their documents"}
    groups = np.array(connected([sample.documents for sample in samples]))
    count = int(groups.max()) + 1
    codes = np.repeat(np.arange(len(strata)), [len(stratum) for stratum in strata])
    if (why_not := usable(codes, groups, list(categories))) is not None:
        return {"groups": count, "clustered": None, "not_clustered": why_not}
    found = cr2_interval(_values(samples), codes, groups, np.full(len(strata), 1 / len(strata)))
    return {"groups": count, "clustered": found._asdict(), "not_clustered": None}


def _values(samples: Sequence[Sample]) -> NDArray[float64]:
    """Return the values of the samples as an array."""
    import numpy as np

    return np.array([sample.value for sample in samples], dtype=float)
