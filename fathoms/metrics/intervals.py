"""The intervals of a run's figures: 95 %, for other questions of the same kind on the same documents.

A category is a mean of questions (Wilson), the overall figure a mean of categories (BCa, or MOVER where a
category is constant). Where there are enough groups of documents, the macro means have a second interval,
`clustered`, for other documents too; questions that share a document, directly or by way of others, are
one group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

    from fathoms.stats.intervals import Interval


class Sample(NamedTuple):
    """One question's value of a metric, whether it is a mean of repeats, and its gold documents."""

    value: float
    repeated: bool
    documents: frozenset[str]


Samples = Mapping[str, Sequence[Sample]]


def mean_intervals(samples: Samples) -> dict[str, dict[str, Any] | None]:
    """By metric `low`, `high`, `method` and `n`; `None` where no question applies."""
    return {metric: _plain(known) if known else None for metric, known in samples.items()}


def overall_intervals(categories: Sequence[Samples]) -> dict[str, dict[str, Any] | None]:
    """Those of the macro means by metric, and of the micro means by `micro_<metric>`.

    The macro ones have also `groups` of documents, and `clustered` (`low`, `high`, `df`; `None` where the
    groups are too few).
    """
    metrics = list(categories[0]) if categories else []
    found: dict[str, dict[str, Any] | None] = {}
    for metric in metrics:
        strata = [list(samples[metric]) for samples in categories if samples[metric]]
        found[metric] = _macro(strata) if strata else None
        found[f"micro_{metric}"] = _micro(strata) if strata else None
    return found


def rate_interval(rate: float, questions: int, answers: int) -> dict[str, Any]:
    """Wilson's interval of a share of answers, as if each question had answered once: repeats of one question
    are no further questions."""
    from fathoms.stats.intervals import Interval, wilson

    low, high = wilson(rate, questions)
    method = "wilson" if answers == questions else "wilson-conservative"
    return _as_json(Interval(float(low), float(high), method), questions)


def _plain(samples: Sequence[Sample]) -> dict[str, Any]:
    """One mean of questions."""
    from fathoms.stats.intervals import mean_interval

    repeated = any(sample.repeated for sample in samples)
    return _as_json(mean_interval(_values(samples), repeated=repeated), len(samples))


def _macro(strata: Sequence[Sequence[Sample]]) -> dict[str, Any]:
    """The unweighted mean of the categories."""
    found = _stratified(strata, [1 / len(strata)] * len(strata))
    groups, clustered = _clustered(strata)
    return {**found, "groups": groups, "clustered": clustered}


def _micro(strata: Sequence[Sequence[Sample]]) -> dict[str, Any]:
    """The mean of all questions alike; how many a category has is by design, not by chance."""
    total = sum(map(len, strata))
    return _stratified(strata, [len(samples) / total for samples in strata])


def _stratified(strata: Sequence[Sequence[Sample]], weights: Sequence[float]) -> dict[str, Any]:
    """A weighted mean of category means; of a single category, its own interval."""
    import numpy as np

    from fathoms.stats.intervals import stratified_interval

    if len(strata) == 1:
        return _plain(strata[0])
    found = stratified_interval([_values(samples) for samples in strata], np.array(weights))
    return _as_json(found, sum(map(len, strata)))


def _clustered(strata: Sequence[Sequence[Sample]]) -> tuple[int | None, dict[str, float] | None]:
    """How many groups of documents there are (`None` where a question does not say on which it rests), and
    the interval where these are enough."""
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
    """The values alone."""
    import numpy as np

    return np.array([sample.value for sample in samples], dtype=float)


def _as_json(interval: Interval, n: int) -> dict[str, Any]:
    """As it stands in a summary."""
    return {**interval._asdict(), "n": n}
