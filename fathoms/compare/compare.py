"""Compare several runs with the first of them, with scores paired by question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from fathoms.compare.question_scores import (
    QuestionScores,
    aligned,
    count_notes,
    match,
    match_ratios,
    names,
    parser_notes,
    require_rules,
)
from fathoms.errors import UsageError

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

ALPHA = 0.05
"""The significance level of a comparison, shared by all its tests."""


@dataclass(frozen=True)
class Effect:
    """The means of two runs over `n` questions, their difference (second minus first), its 95 % interval."""

    n: int
    first: float
    second: float
    difference: float
    low: float
    high: float


@dataclass(frozen=True)
class Flip:
    """A question on which the scores of the two runs differ. A score is `None` where the answer does not
    count, as right answers do not in `abstention-f1`."""

    question: str
    first: float | None
    second: float | None


@dataclass(frozen=True)
class OtherDocuments:
    """What the comparison says about other documents: the 95 % interval of the difference of Overall, its p
    value, and the same after Holm's correction over all such tests of the comparison.

    `groups` counts the groups of questions that share no gold document, and `df` are the degrees of freedom.
    """

    groups: int
    difference: float
    low: float
    high: float
    df: float
    p: float
    p_holm: float


@dataclass(frozen=True)
class Tested:
    """The comparison of one run with the first on one metric.

    - `overall` is the effect on the macro mean, `micro` the effect on the mean over all questions. For a
      metric that adds up counts, both are the effect on the ratio over all questions.
    - `p` is the p value of `test`, for other questions on the same documents, and `p_holm` is `p` after
      Holm's correction over all such tests of the comparison. `detectable` is the smallest true difference
      that the test finds with a probability of 80 %, `None` if it finds none so often. These refer to
      `overall`, or to `micro` if the test is McNemar's. `sign-flip-and-pooled` is the larger of two p values
      (`repeats_p`).
    - `other_documents` is `None` where the documents do not allow it; `no_other_documents` then says why.
    - `wins` counts the questions on which the second run is better.
    - `left_out` are the questions for which the metric is not defined in both runs.
    """

    run: str
    metric: str
    overall: Effect
    micro: Effect
    categories: dict[str, Effect]
    test: Literal["sign-flip", "sign-flip-and-pooled", "mcnemar"]
    p: float
    p_holm: float
    detectable: float | None
    other_documents: OtherDocuments | None
    no_other_documents: str | None
    wins: int
    losses: int
    ties: int
    flips: tuple[Flip, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class Unshared:
    """The questions that were not compared: asked in only one run, or with another text or gold answer
    (`changed`)."""

    run: str
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    changed: tuple[str, ...]


@dataclass(frozen=True)
class AnswerCounts:
    """How many answers a run was asked for, how many calls failed, and how many replies were reused; and the
    versions that the service behind its pipeline had."""

    run: str
    answers: int
    failed: int
    cached: int
    versions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """Runs compared with the run `first` under one profile; `judge` is its abstention classifier. `notes` say
    what values rest on where a reader must know it (`count_notes`)."""

    first: str
    profile: str
    judge: str
    runs: tuple[AnswerCounts, ...]
    tests: tuple[Tested, ...]
    unshared: tuple[Unshared, ...]
    notes: tuple[str, ...] = ()


def compare(runs: Sequence[QuestionScores], metrics: Sequence[str]) -> Comparison:
    """Compare each run with the first, on the questions that both asked with the same gold answer.

    Raises UsageError if there are fewer than two runs or a run is given twice, and DataError if runs were
    scored by different rules or have no question in common.
    """
    from fathoms.stats.paired import holm

    for run in runs:
        for metric in metrics:
            run.kind_of(metric)  # raises UsageError
    if len({run.runs for run in runs}) < max(len(runs), 2):
        raise UsageError("a comparison needs two or more different runs")
    first, *others = runs
    for other in others:
        require_rules(first, other, metrics)
    corrected = ALPHA / (len(others) * len(metrics))
    pairs = [aligned(first, other) for other in others]
    others = [other for other, _ in pairs]
    tests = [_test(first, other, metric, corrected) for other in others for metric in metrics]
    adjusted = holm([test.p for test in tests])
    clustered = [test.other_documents for test in tests]
    corrected_too = iter(holm([found.p for found in clustered if found]))
    others_adjusted = [found and replace(found, p_holm=float(next(corrected_too))) for found in clustered]
    return Comparison(
        first=first.runs[0],
        profile=first.profile,
        judge=first.judge,
        runs=tuple(
            AnswerCounts(names(run), run.answers, run.failed, run.cached, run.versions) for run in runs
        ),
        tests=tuple(
            replace(test, p_holm=float(p), other_documents=found)
            for test, p, found in zip(tests, adjusted, others_adjusted, strict=True)
        ),
        unshared=tuple(
            Unshared(names(other), found.removed, found.added, found.changed) for other, found in pairs
        ),
        notes=(
            *dict.fromkeys(said for _, found in pairs for said in found.notes),
            *count_notes(runs, metrics),
            *parser_notes(first, others, old=False),
        ),
    )


def _test(first: QuestionScores, other: QuestionScores, metric: str, alpha: float) -> Tested:
    """Compare one metric of one pair of runs; `p_holm` is filled in later. `alpha` is the significance level
    after correction for the number of tests; it decides `detectable`."""
    import numpy as np

    from fathoms.stats.detectable import detectable
    from fathoms.stats.difference import macro_weights
    from fathoms.stats.paired import mcnemar_p, repeats_p

    golds = other.golds
    shared = [name for name, gold in first.golds.items() if golds.get(name) == gold]
    if first.adds_counts(metric):
        return _test_ratios(first, other, metric, shared, alpha)
    matched = match(first, other, metric, shared)
    both = np.array([matched.first, matched.second])
    differences = both[1] - both[0]
    # the tests and the score intervals are made for differences in [-1, 1]
    share = first.kind_of(metric).unit == "share"
    scale = 1.0 if share else float(np.abs(differences).max()) or 1.0
    ups, downs = int((differences > 0).sum()), int((differences < 0).sum())
    wins, losses = (ups, downs) if first.higher_is_better(metric) else (downs, ups)
    counts = first.weights or other.weights  # for how many questions one of each category stands
    macro = macro_weights(_codes(matched.categories))
    micro = np.array([counts.get(name, 1.0) for name in matched.categories])
    micro /= micro.sum()
    # McNemar's test needs one hallucination flag (0 or 1) per question and run, which count alike
    values = [run.values_of(metric) for run in (first, other)]
    flags = metric == "hallucination" and all(len(side[name]) == 1 for side in values for name in matched.ids)
    flags = flags and not counts
    sides = [[side[name] for name in matched.ids] for side in values]
    if scale != 1:
        sides = [[tuple([value / scale for value in each]) for each in side] for side in sides]
    equal = all(len(ours) == len(theirs) for ours, theirs in zip(*sides, strict=True))
    codes, everything = np.array(_codes(matched.categories)), np.arange(len(differences))
    whole, by_question = (_effect(both, everything, weights, scale) for weights in (macro, micro))
    # a share that is 0.8 cannot rise by more than 0.2
    start = (by_question if flags else whole).first
    most = min(1.0, max(start, 1 - start)) if share else 1.0
    least = detectable(differences / scale, codes, "mcnemar" if flags else "sign-flip", alpha, most)
    found, why_not = _other_documents(first, matched.ids, differences / scale, matched.categories, scale)
    return Tested(
        run=names(other),
        metric=metric,
        overall=whole,
        micro=by_question,
        categories=_by_category(both, matched.categories, scale),
        test="mcnemar" if flags else "sign-flip" if equal else "sign-flip-and-pooled",
        p=float(mcnemar_p(ups, downs)) if flags else repeats_p(sides[0], sides[1], macro),
        p_holm=1.0,
        detectable=least and least * scale,
        other_documents=found,
        no_other_documents=why_not,
        wins=wins,
        losses=losses,
        ties=len(differences) - ups - downs,
        flips=tuple(
            Flip(name, one, two)
            for name, one, two in zip(matched.ids, matched.first, matched.second, strict=True)
            if one != two
        ),
        left_out=matched.left_out,
    )


def _test_ratios(
    first: QuestionScores, other: QuestionScores, metric: str, shared: Sequence[str], alpha: float
) -> Tested:
    """Compare a metric that adds up counts over all questions, by the linearised difference of the ratios."""
    import numpy as np

    from fathoms.stats.detectable import detectable
    from fathoms.stats.paired import difference_p
    from fathoms.stats.ratio import linearised

    matched = match_ratios(first, other, metric, shared)
    ours, theirs = np.array(matched.first), np.array(matched.second)
    values = linearised(ours, theirs)
    scale, weights = float(np.abs(values).max()) or 1.0, _alike(len(values))
    whole = _ratio_effect(ours, theirs)
    one_category = np.zeros(len(values), dtype=np.int64)
    most = min(1.0, max(whole.first, 1 - whole.first) / scale)
    least = detectable(values / scale, one_category, "sign-flip", alpha, most)
    found, why_not = _other_documents(first, matched.ids, values / scale, ["all"] * len(values), scale)
    listed = np.array(matched.categories)
    parts = {name: listed == name for name in dict.fromkeys(matched.categories)}
    # a change counts for the run in whose favour it moves the ratio of both together
    top, bottom = (ours + theirs).sum(axis=0)
    moved = (theirs - ours) @ np.array([1.0, -top / bottom])
    ups, downs = int((moved > _TIE).sum()), int((moved < -_TIE).sum())
    wins, losses = (ups, downs) if first.higher_is_better(metric) else (downs, ups)
    return Tested(
        run=names(other),
        metric=metric,
        overall=whole,
        micro=whole,
        categories={
            name: _ratio_effect(ours[chosen], theirs[chosen])
            for name, chosen in parts.items()
            if ours[chosen, 1].any() and theirs[chosen, 1].any()
        },
        test="sign-flip",
        p=difference_p(values / scale, weights),
        p_holm=1.0,
        detectable=least and least * scale,
        other_documents=found,
        no_other_documents=why_not,
        wins=wins,
        losses=losses,
        ties=len(values) - ups - downs,
        flips=tuple(
            Flip(name, *(top / bottom if bottom else None for top, bottom in (one, two)))
            for name, one, two in zip(matched.ids, matched.first, matched.second, strict=True)
            if one != two
        ),
        left_out=matched.left_out,
    )


_TIE = 1e-12
"""Changes of a ratio that are smaller than this are rounding errors."""


def _ratio_effect(first: NDArray[float64], second: NDArray[float64]) -> Effect:
    """Compute the effect on a ratio over some questions."""
    import numpy as np

    from fathoms.stats.difference import bounds, pair
    from fathoms.stats.intervals import CONFIDENCE, normal_quantile
    from fathoms.stats.ratio import linearised

    values = linearised(first, second)
    scale = float(np.abs(values).max()) or 1.0
    low, high = bounds(pair(values / scale, _alike(len(values))), normal_quantile(CONFIDENCE))
    ours, theirs = (float(top / bottom) for top, bottom in (first.sum(axis=0), second.sum(axis=0)))
    ends = max(float(low) * scale, -1.0), min(float(high) * scale, 1.0)
    return Effect(len(values), ours, theirs, theirs - ours, *ends)


def _other_documents(
    first: QuestionScores,
    ids: Sequence[str],
    differences: NDArray[float64],
    categories: Sequence[str],
    scale: float,
) -> tuple[OtherDocuments | None, str | None]:
    """Compare for other documents, or say why that is not possible."""
    import numpy as np

    from fathoms.stats.clusters import connected, cr2_difference, usable
    from fathoms.stats.difference import macro_weights

    documents = first.documents_of(ids)
    if not all(documents):
        return None, "not all questions name their documents"
    groups, codes = np.array(connected(documents)), np.array(_codes(categories))
    if (why_not := usable(codes, groups, list(dict.fromkeys(categories)))) is not None:
        return None, why_not
    low, high, p, df = cr2_difference(differences, codes, groups)
    mean = float(differences @ macro_weights(codes))
    count = int(groups.max()) + 1
    return OtherDocuments(count, mean * scale, low * scale, high * scale, df, p, 1.0), None


def _codes(categories: Sequence[str]) -> list[int]:
    """Number the categories from 0, in order of first appearance."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(categories))}
    return [numbers[name] for name in categories]


def _alike(n: int) -> NDArray[float64]:
    """Return equal weights that add up to 1."""
    import numpy as np

    return np.full(n, 1 / n)


def _by_category(both: NDArray[float64], categories: Sequence[str], scale: float) -> dict[str, Effect]:
    """Compute the effect in each category."""
    import numpy as np

    codes = np.array(_codes(categories))
    members = {name: np.flatnonzero(codes == code) for code, name in enumerate(dict.fromkeys(categories))}
    return {name: _effect(both, chosen, _alike(len(chosen)), scale) for name, chosen in members.items()}


def _effect(both: NDArray[float64], members: NDArray[Any], weights: NDArray[float64], scale: float) -> Effect:
    """Compute the effect on the weighted mean over some questions; `both` has their means in the two runs.
    Differences are divided by `scale`, and their interval is multiplied by it."""
    from fathoms.stats.difference import bounds, pair
    from fathoms.stats.intervals import CONFIDENCE, normal_quantile

    first, second = both[:, members]
    low, high = bounds(pair((second - first) / scale, weights), normal_quantile(CONFIDENCE))
    means = float(first @ weights), float(second @ weights)
    return Effect(
        len(members), *means, float((second - first) @ weights), float(low) * scale, float(high) * scale
    )
