"""Compute the 95 % confidence intervals of a run's figures.

They describe how far a figure would vary with other questions of the same kind on the same documents. If
there are enough groups of documents, the macro means have a second interval, `clustered`, for other documents
as well. Questions that share a document, directly or through other questions, form one group.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fathoms.metrics.columns import Column
from fathoms.types.run.figures import Bounds, ClusteredBounds

if TYPE_CHECKING:
    from fathoms.metrics.columns import Codes, Values


def plain_interval(known: Column) -> Bounds | None:
    """Return the interval of the mean over some questions, whose values are all known and in [0, 1]; `None`
    without a question."""
    from fathoms.stats.intervals import mean_interval

    return Bounds(**mean_interval(known.values)._asdict(), n=len(known)) if len(known) else None


def overall_intervals(
    categories: Mapping[str, Column], weights: Mapping[str, float] | None = None
) -> tuple[Bounds | None, Bounds | None]:
    """Return the intervals of the macro mean and of the micro mean, in which a question counts as often as
    the weight of its category says; `None` without a question.

    The macro interval also has `groups`, the number of document groups (`None` if a question names no
    document), and `clustered` with `low`, `high` and `df`, which is `None` where the documents do not allow
    it; `not_clustered` then says why.
    """
    named = {name: known for name, known in categories.items() if len(known)}
    if not named:
        return None, None
    macro = _stratified(named, [1 / len(named)] * len(named))
    # The sizes of the categories are taken as fixed.
    micro = _stratified(named, list(shares_of(named, weights or {}).values()))
    return macro.model_copy(update=_clustered(named)), micro


def shares_of(categories: Mapping[str, Column], weights: Mapping[str, float]) -> dict[str, float]:
    """Return the share of all questions that each category stands for."""
    sizes = {name: len(known) * weights.get(name, 1.0) for name, known in categories.items()}
    total = sum(sizes.values())
    return {name: size / total for name, size in sizes.items()}


def rate_interval(numbers: Codes, flags: Values, most: int) -> Bounds | None:
    """Return the interval of a share of answers, each with the number of its question and 0 or 1; `None`
    without answers.

    The share is a ratio of counts that are added up over the questions, because answers to one question are
    not independent. `most` is the most answers that a question can have, and `n` the number of questions.
    """
    import numpy as np

    from fathoms.stats.intervals import ratio_interval

    if not len(numbers):
        return None
    tops, bottoms = (np.bincount(numbers, weights).astype(float) for weights in (flags, None))
    there = bottoms > 0
    interval = ratio_interval(tops[there], bottoms[there], most=most)
    return Bounds(**interval._asdict(), n=int(there.sum()))


def _stratified(strata: Mapping[str, Column], weights: list[float]) -> Bounds:
    """Return the interval of a weighted mean of category means."""
    import numpy as np

    from fathoms.stats.intervals import stratified_interval

    found = stratified_interval([known.values for known in strata.values()], np.array(weights))
    return Bounds(**found._asdict(), n=sum(map(len, strata.values())))


def _clustered(categories: Mapping[str, Column]) -> dict[str, Any]:
    """Return the fields of `Bounds` about groups of documents: their number, the clustered interval, and why
    there is none."""
    import numpy as np

    from fathoms.stats.clusters import cr2_interval, usable

    strata = list(categories.values())
    groups = strata[0].sets.groups(np.concatenate([known.documents for known in strata]))
    if groups is None:
        return {"groups": None, "clustered": None, "not_clustered": "not all questions name their documents"}
    count = int(groups.max()) + 1
    codes = np.repeat(np.arange(len(strata)), [len(known) for known in strata])
    if (why_not := usable(codes, groups, list(categories))) is not None:
        return {"groups": count, "clustered": None, "not_clustered": why_not}
    values = np.concatenate([known.values for known in strata])
    found = cr2_interval(values, codes, groups, np.full(len(strata), 1 / len(strata)))
    return {"groups": count, "clustered": ClusteredBounds(**found._asdict()), "not_clustered": None}
