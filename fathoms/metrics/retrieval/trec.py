"""The arithmetic of ranked retrieval, by the library ir-measures with its provider `pytrec_eval`.

Only nDCG with exponential gain is computed here: trec_eval counts the items of every gain up to the highest,
which takes gigabytes where a gain is 2^30.

The provider is named, because ir-measures would otherwise take the first one that is installed. It is called
for many rankings at once: one call takes about as long as 10 rankings in it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

PROVIDER = "pytrec_eval"
EXPONENTIAL = "ndcg-exp"
"""The kind of nDCG with the gain 2^grade - 1."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Ranked items of a question, best first: the grade of each, 0 if it is not gold, and how many gold items
    there are in all, at least as many as were ranked. `grades` are those of all gold items, in any order;
    empty where all are 1. Only `ndcg` and `ndcg-exp` depend on grades."""

    gold_at: tuple[int, ...]
    gold: int
    grades: tuple[int, ...] = ()


class Measure(NamedTuple):
    """A measure of a ranking, with the number of items that it looks at (`None` for r-precision).

    - `hit` is 1 if one of the first k items is gold (Success@k in trec_eval), otherwise 0.
    - `recall` is the share of the gold items among the first k.
    - `precision` is the share of gold among the first k, where missing items count as wrong.
    - `mrr` is 1 / rank of the first gold item, 0 if it is not among the first k.
    - `ndcg` is DCG over the DCG of the best order, with linear gain and the discount log2(rank + 1).
    - `ndcg-exp` is the same with the gain 2^grade - 1 (Burges et al. 2005).
    - `map` is the mean, over all gold items, of the precision at their ranks, 0 for those after k.
    - `r-precision` is the precision at R, the number of gold items.
    """

    kind: str
    k: int | None = None


def measured(rankings: Sequence[Ranking], measures: Sequence[Measure]) -> list[dict[Measure, float]]:
    """Return the values in [0, 1] of all measures for each ranking. A ranking without any gold has the value
    0 for all of them."""
    from ir_measures.providers import registry

    names = {measure: _in_trec_eval(measure) for measure in measures if measure.kind != EXPONENTIAL}
    deepest = max((measure.k or 0 for measure in measures), default=0)
    qrels, run = {}, {}
    for number, ranking in enumerate(rankings):
        # scores fall by one from item to item, so that no two are equal and trec_eval keeps the order
        items = ranking.gold_at[: max(deepest, ranking.gold)]
        gold = {str(place): int(grade) for place, grade in enumerate(items) if grade}
        if ranking.grades:
            missed = list((Counter(ranking.grades) - Counter(gold.values())).elements())
        else:
            missed = [1] * (ranking.gold - len(gold))
        if ranking.gold:
            qrels[str(number)] = gold | {f"missed {place}": grade for place, grade in enumerate(missed)}
        if items:
            run[str(number)] = {str(place): float(-place) for place in range(len(items))}
    found: list[dict[Any, float]] = [{} for _ in rankings]
    if qrels and names:
        for one in registry[PROVIDER].iter_calc(list(dict.fromkeys(names.values())), qrels, run):
            found[int(one.query_id)][one.measure] = one.value
    return [
        {
            measure: _cut(measure, values.get(names[measure], 0.0))
            if measure in names
            else _exponential(ranking, measure.k)
            for measure in measures
        }
        for ranking, values in zip(rankings, found, strict=True)
    ]


def _in_trec_eval(measure: Measure) -> Any:
    """Return the measure of ir-measures. RR has no cut in the provider: `_cut` makes it."""
    import ir_measures

    base = {
        "hit": ir_measures.Success,
        "recall": ir_measures.R,
        "precision": ir_measures.P,
        "mrr": ir_measures.RR,
        "ndcg": ir_measures.nDCG,
        "map": ir_measures.AP,
        "r-precision": ir_measures.Rprec,
    }[measure.kind]
    return base if measure.k is None or measure.kind == "mrr" else base @ measure.k


def _cut(measure: Measure, value: float) -> float:
    """Return 0 for a reciprocal rank below 1 / k."""
    if measure.kind == "mrr" and measure.k is not None and value and round(1 / value) > measure.k:
        return 0.0
    return value


def _exponential(ranking: Ranking, k: int | None) -> float:
    """Return nDCG with the gain 2^grade - 1 and the discount log2(rank + 1)."""
    grades = sorted(ranking.grades or [1] * ranking.gold, reverse=True)
    if not grades:
        return 0.0
    highest = grades[0]

    def dcg(ranked: Sequence[int]) -> float:
        # divided by 2^highest, which cancels out, so that no grade is too high for a float
        gains = (math.ldexp(1.0, grade - highest) - math.ldexp(1.0, -highest) for grade in ranked[:k])
        return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))

    return dcg(ranking.gold_at) / dcg(grades)
