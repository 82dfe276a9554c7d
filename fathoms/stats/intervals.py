"""Confidence intervals for means of scores in [0, 1].

They describe how far a figure would vary with other questions of the same kind on the same documents.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from statistics import NormalDist
from types import ModuleType
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
CONFIDENCE = 0.95
PSEUDO = 2.0
"""How many pseudo-questions at 0, and how many at 1, smooth the variance of a ratio of unequal sizes."""
INNER, EDGE = 0.0075, 0.2
"""The same for a mean of fractional scores: if all are inside (0, 1), and if nearly all are 0 or 1."""
ONE_SIDE = 0.75
"""The part of alpha for the side on which alone a truth near 0 or 1 is missed: not all, as spreads vary."""
SKEWED = 0.25
"""How much of the bounds of scores inside (0, 1) is for a variance that falls as (p (1 - p))^2."""
_SLACK, _ROOT = 1e-9, 1e-13
FEWEST_UNBOUNDED = 60
"""Below this number of questions, means of values without bounds have no interval."""


class Interval(NamedTuple):
    """The bounds of a mean; `method` is `blaker`, `score`, `log-t` or `t`."""

    low: float
    high: float
    method: str


def special() -> ModuleType:
    """Return `scipy.special`, whose import takes a fifth of a second that a run of one question can do
    without."""
    import scipy.special

    module: ModuleType = scipy.special
    return module


def root(function: Callable[[float], float], low: float, high: float, xtol: float) -> float:
    """Return where a function changes its sign between `low` and `high`, to within `xtol`, by bisection.

    SciPy's brentq needs fewer steps, but importing it takes a quarter of a second, at every start.
    """
    rises = function(high) > 0
    while high - low > xtol:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if (function(middle) > 0) == rises:
            high = middle
        else:
            low = middle
    return (low + high) / 2


def normal_quantile(confidence: float) -> float:
    """Return the z value of a two-sided interval, such as 1.96 for a confidence of 0.95."""
    return NormalDist().inv_cdf(0.5 + confidence / 2)


def wilson(mean: ArrayLike, n: ArrayLike, confidence: float = CONFIDENCE) -> tuple[Array, Array]:
    """Return the lower and upper bound of the score interval for a rate `mean` of `n` trials (Wilson 1927).

        (mean + z²/2n ± z sqrt(mean (1 - mean) / n + z²/4n²)) / (1 + z²/n)

    The variance of fractional scores in [0, 1] is at most mean * (1 - mean), so the interval is conservative
    for them. Arrays of one shape give arrays of that shape.
    """
    return score_interval(mean, n, normal_quantile(confidence))


def score_interval(mean: ArrayLike, n: ArrayLike, z: float) -> tuple[Array, Array]:
    """Return Wilson's interval (see `wilson`) for a given quantile `z`."""
    p, size = np.asarray(mean, dtype=float), np.asarray(n, dtype=float)
    shrink = 1 + z**2 / size
    centre = (p + z**2 / (2 * size)) / shrink
    half = z / shrink * np.sqrt(p * (1 - p) / size + z**2 / (4 * size**2))
    # Rounding errors must not leave the mean outside its interval, or the bounds outside [0, 1].
    return np.minimum(np.maximum(centre - half, 0), p), np.maximum(np.minimum(centre + half, 1), p)


def blaker(mean: float, n: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the lower and upper bound of Blaker's exact interval for a rate `mean` of `n` trials.

    It holds the true rate with at least the stated probability, whatever rate and `n`, and it lies within the
    exact interval of Clopper & Pearson (Blaker 2000). An effective `n` is rounded down, to 1 at least. Where
    `mean` is between two counts, the bounds are interpolated between theirs.
    """
    size = max(1, math.floor(n * (1 + _SLACK)))
    count = min(max(mean, 0.0), 1.0) * size
    count = round(count) if abs(count - round(count)) < _SLACK * size else count
    below, above = math.floor(count), math.ceil(count)
    part, alpha = count - below, 1 - confidence

    def low(hits: int, misses: int) -> float:
        return (1 - part) * _blaker_low(hits, size, alpha) + part * _blaker_low(misses, size, alpha)

    # Rounding errors must not leave the mean outside its interval.
    return min(low(below, above), mean), max(1 - low(size - below, size - above), mean)


@lru_cache(maxsize=4096)
def _blaker_low(hits: int, n: int, alpha: float) -> float:
    """Return Blaker's lower bound for `hits` of `n`.

    It is the smallest rate whose acceptability exceeds alpha: the chance of `hits` or more, plus that of the
    largest lower tail which is no more probable. It lies between the bounds of Clopper & Pearson at alpha / 2
    and at alpha. The lower tail grows by one count where the two tails are equal, and with it the
    acceptability jumps to more than alpha; up to there it can cross alpha only once.
    """
    if hits == 0:
        return 0.0
    if n == 1 and alpha <= 0.5:
        return alpha  # the chance of one hit in one is the rate itself: a run of one question needs no SciPy
    betainc, betaincinv = special().betainc, special().betaincinv

    def upper_tail(rate: float) -> float:
        return float(betainc(hits, n - hits + 1, rate))

    def lower_tail(count: int, rate: float) -> float:
        return 0.0 if count < 0 else float(betainc(n - count, count + 1, 1 - rate))

    start, end = (float(betaincinv(hits, n - hits + 1, level)) for level in (alpha / 2, alpha))
    tail = bisect.bisect_right(range(hits), alpha / 2, key=lambda count: lower_tail(count, start)) - 1
    if upper_tail(end) > lower_tail(tail + 1, end):
        end = root(lambda rate: upper_tail(rate) - lower_tail(tail + 1, rate), start, end, xtol=_ROOT)
    if upper_tail(end) + lower_tail(tail, end) <= alpha:
        return end
    return float(root(lambda rate: upper_tail(rate) + lower_tail(tail, rate) - alpha, start, end, xtol=_ROOT))


def mean_interval(values: Array, *, confidence: float = CONFIDENCE) -> Interval:
    """Return the interval of the mean of `values` in [0, 1]; see `stratified_interval`."""
    return stratified_interval([values], np.ones(1), confidence=confidence)


def stratified_interval(
    strata: Sequence[Array], weights: Array, *, confidence: float = CONFIDENCE
) -> Interval:
    """Return the interval of the sum of `weights` times the means of `strata`, whose values are in [0, 1].

    With weights 1/C this is the macro mean of C categories; with weights n_c/n it is the mean of all
    questions. `weights` add up to 1. One stratum of zeros and ones has Blaker's exact interval; the others:

    Each stratum counts as the number of right-or-wrong questions whose mean would vary as much as that of its
    values; for zeros and ones this is their number. The score interval ends at the truths from which the
    observed mean is z standard errors away, where the means of the strata are the most probable ones for such
    a truth (Miettinen & Nurminen 1985 for two rates). At either end, the standard error gives the number of
    questions of a single category that would have it, and the bound is Blaker's for this effective number, as
    Korn & Graubard (1998) do with the bounds of Clopper & Pearson.
    """
    ones = [np.ones(values.size) for values in strata]
    return _combined(list(zip(strata, ones, strict=True)), weights, confidence)


def ratio_interval(
    tops: Array,
    bottoms: Array,
    hit_weight: float = 1.0,
    most: float | None = None,
    *,
    confidence: float = CONFIDENCE,
) -> Interval:
    """Return the interval of `sum(tops) / sum(bottoms)`, where each question has one numerator and one
    denominator, and no numerator exceeds its denominator; not all denominators are 0.

    It is the interval of a mean in which a question counts as much as its denominator. Questions with a
    denominator of 0 do not change the ratio and are left out.

    `hit_weight` is how much a hit counts where a miss counts 1; in F1 = 2 TP / (2 TP + FP + FN) it is 2. The
    ratio is then w J / (1 + (w - 1) J), a rising function of the share of hits among hits and misses,
    J = TP / (TP + FP + FN) (the Jaccard index), and its bounds are those of J, mapped. Given the number of
    questions that are hits or misses, TP is binomial, so with one answer to each question the interval is
    Blaker's; it is conservative where questions differ in their chance to be a hit.

    `most` is the most hits and misses together that a question can have, by default the most that any has. If
    some have fewer, questions that are hits may count more or less than the others, and there may be too few
    of them to show it. Each bound is then the outer one of two: as above, and with a further weight of hits.
    This is the ratio of the mean sizes of hits and misses, after one more hit of size `most` for the upper
    bound, or one more miss of that size for the lower bound.
    """
    hits, misses = tops / hit_weight, bottoms - tops
    sizes = hits + misses
    counted = sizes > 0
    hits, misses, sizes = hits[counted], misses[counted], sizes[counted]
    most = float(sizes.max()) if most is None else most

    def bounds(weight: float) -> Interval:
        scaled = hits / weight + misses
        low, high, method = _combined([(hits / weight / scaled, scaled)], np.ones(1), confidence)
        weight *= hit_weight
        low, high = (weight * end / (1 + (weight - 1) * end) for end in (low, high))
        return Interval(low, high, method)

    low, high, method = bounds(1.0)
    if (sizes < most).any():
        method, shares = "score", hits / sizes
        right, wrong = float(hits.sum()), float(misses.sum())
        right_questions, wrong_questions = float(shares.sum()), float((1 - shares).sum())
        if wrong:  # otherwise the upper bound is 1
            high = max(high, bounds((right + most) / (right_questions + 1) * wrong_questions / wrong).high)
        if right:  # otherwise the lower bound is 0
            low = min(low, bounds(right / right_questions * (wrong_questions + 1) / (wrong + most)).low)
    return Interval(low, high, method)


def _combined(strata: Sequence[tuple[Array, Array]], weights: Array, confidence: float) -> Interval:
    """Return the interval of a weighted mean of strata, each with its values and how much each counts."""
    inside, pseudo = np.zeros(len(strata)), np.full(len(strata), PSEUDO)
    if not any(np.ptp(sizes) > 0 for _, sizes in strata):
        between = [(values > _SLACK) & (values < 1 - _SLACK) for values, _ in strata]
        varied = [np.ptp(values) > 0 for values, _ in strata]
        inside = np.array([np.mean(part) for part in between]) * varied
        if inside.any():
            pseudo = inside * INNER + (1 - inside) ** 3 * EDGE
    found = [_Stratum.of(*one, *rest) for one, *rest in zip(strata, pseudo, inside, strict=True)]
    mean = float(sum(weight * one.mean for weight, one in zip(weights, found, strict=True)))
    mean = min(max(mean, 0.0), 1.0)
    centres, counts = np.array([(one.centre, one.questions) for one in found]).T
    sizes = np.array([values.size for values, _ in strata])

    def lower(mean: float, centres: Array) -> float:
        if inside.any():
            return _fractional_low(mean, centres, counts, weights, confidence, inside, sizes)
        n = _effective(mean, centres, counts, weights, normal_quantile(confidence))
        return blaker(mean, n, confidence)[0]

    low, high = lower(mean, centres), 1 - lower(1 - mean, 1 - centres)
    plain = len(strata) == 1 and all(
        np.isin(values, (0.0, 1.0)).all() and (sizes == sizes[0]).all() for values, sizes in strata
    )
    # Rounding errors must not leave the mean outside its interval.
    return Interval(min(low, mean), max(high, mean), "blaker" if plain else "score")


def _fractional_low(
    mean: float,
    centres: Array,
    counts: Array,
    weights: Array,
    confidence: float,
    inside: Array,
    sizes: Array,
) -> float:
    """Return the lower bound of a mean of strata of which a share `inside` of the scores is inside (0, 1).

    For those scores it is the truth p from which the mean is t standard errors away: their spread is
    estimated, so t is Student's quantile with the degrees of freedom of Welch & Satterthwaite. The variance
    depends on p, as p (1 - p) (Wilson 1927) and in part (`SKEWED`) as its square (Wedderburn 1974), because
    scores near one end are more skewed than by the former; then mean - p = c p (1 - p), which is quadratic.
    Zeros and ones have Blaker's bound, so nothing jumps where one of them becomes a fraction.

    If p > (1 + mean) / 2, no sample exceeds p by as much as this mean falls short of it. Such a truth can be
    missed on one side only, and that side has more of alpha (`ONE_SIDE`): the upper bound is the one for it,
    at least (1 + mean) / 2, unless the two-sided one is lower. The lower bound mirrors it, with mean / 2.
    """
    variances = weights**2 * centres * (1 - centres) / counts
    df = float(variances.sum() ** 2 / np.sum(variances**2 / np.maximum(sizes - 1, 1)))
    inner = float(weights @ inside)

    def bound(level: float) -> float:
        z, t = normal_quantile(level), float(special().stdtrit(df, 0.5 + level / 2))
        n = _effective(mean, centres, counts * (1 - inside + inside * (z / t) ** 2), weights, z)
        c = z / math.sqrt(n * max(mean * (1 - mean), _ROOT))
        skewed = 2 * mean / (1 + c + math.sqrt((1 + c) ** 2 - 4 * c * mean))
        plain = float(score_interval(mean, n, z)[0])
        exact = blaker(mean, n, level)[0] if inner < 1 else 0.0
        return (1 - inner) * exact + inner * (SKEWED * skewed + (1 - SKEWED) * plain)

    two_sided, level = bound(confidence), 1 - 2 * ONE_SIDE * (1 - confidence)
    if two_sided >= mean / 2:
        return two_sided
    return min(bound(level) if level > 0 else mean, mean / 2)


class _Stratum(NamedTuple):
    """The mean of a stratum, the same with half a pseudo-question at 0 and at 1, so that it is inside (0, 1),
    and the number of right-or-wrong questions whose mean would vary as much."""

    mean: float
    centre: float
    questions: float

    @classmethod
    def of(cls, values: Array, sizes: Array, pseudo: float = PSEUDO, lost: float = 0.0) -> _Stratum:
        """Estimate them from values in [0, 1] that count as much as their sizes.

        The variance is that of a ratio (Woodruff 1971), with `pseudo` questions at 0 and as many at 1: few
        fractional scores that are nearly equal do not show how rare the others are. `lost` degrees of freedom
        went into the mean.
        """
        n, size, square = values.size, sizes.mean(), (sizes**2).mean()
        total = float(sizes @ values) / size
        smooth = (total + pseudo) / (n + 2 * pseudo)
        spread = float(sizes**2 @ (values - smooth) ** 2)
        spread += pseudo * square * (smooth**2 + (1 - smooth) ** 2)
        questions = smooth * (1 - smooth) * n * (n + 2 * pseudo - lost) * size**2 / spread
        return cls(total / n, (total + 0.5) / (n + 1), float(questions))


def _effective(mean: float, centres: Array, counts: Array, weights: Array, z: float) -> float:
    """Return the effective number of questions at the lower bound of the score interval.

    Of all means of the strata with one weighted sum, the most probable are those with
    `counts * (centre - p) / (p * (1 - p))` in proportion to their weights; the factor is the root to find.
    """
    if mean < _SLACK:
        return 1.0  # the lower bound is 0 for any number
    if counts.size == 1:
        return float(counts[0])  # whatever the truth

    def likely(power: float) -> Array:
        pull = math.sinh(power) * weights / counts
        start, pull = np.where(pull < 0, 1 - centres, centres), np.abs(pull)
        rates = 2 * start / (1 + pull + np.sqrt((1 + pull) ** 2 - 4 * pull * start))
        return np.asarray(np.where(power < 0, 1 - rates, rates))

    def variance(rates: Array) -> float:
        return float(np.sum(weights**2 * rates * (1 - rates) / counts))

    def excess(power: float) -> float:
        rates = likely(power)
        return mean - float(weights @ rates) - z * math.sqrt(variance(rates))

    # At these ends the rates are within 1e-12 of 1, but not rounded to it, and within 1e-24 of 0.
    rates = likely(root(excess, -30, 60, xtol=1e-12))
    truth = float(weights @ rates)
    return truth * (1 - truth) / variance(rates)


def effective_count(values: Array, sizes: Array | None = None, pseudo: float = PSEUDO) -> float:
    """Return the number of right-or-wrong items whose mean would vary as much as that of `values` in [0, 1],
    which count as much as their `sizes` (by default alike); for zeros and ones of one size, their number.
    `pseudo` values at 0 and as many at 1 smooth the variance."""
    return _Stratum.of(values, np.ones(values.size) if sizes is None else sizes, pseudo).questions


def log_t_interval(
    strata: Sequence[Array], weights: Array, *, confidence: float = CONFIDENCE
) -> Interval | None:
    """Return the interval of the sum of `weights` times the means of `strata`, of values without bounds.

    It is Student's t interval of the logarithm of the mean, with the error of the mean by the delta method,
    because seconds, tokens and costs are positive and skewed: mean * exp(± t * error / mean). The variance is
    pooled over the strata. The upper half is longer by the skewness of the estimated mean (that of the values
    divided by the root of their number), because the sample of a skewed distribution often lacks the high
    values. If there are negative values or the mean is 0, it is the plain t interval (`t`).

    `None` for fewer than `FEWEST_UNBOUNDED` questions (in effect: those of an equally weighted mean with the
    same error), or if no two values of a stratum differ: the spread is then not known. No interval holds for
    every distribution without bounds (Bahadur & Savage 1956): see the simulations in `docs/statistics.md`.
    """
    sizes = np.array([values.size for values in strata])
    if float(np.sum(weights**2 / sizes)) * FEWEST_UNBOUNDED > 1 + 1e-9:
        return None
    residuals = np.concatenate([values - values.mean() for values in strata])
    df = residuals.size - len(strata)
    variance = float(np.sum(residuals**2)) / max(df, 1)
    if not any(np.ptp(values) for values in strata):
        return None
    mean = float(weights @ np.array([values.mean() for values in strata]))
    error = math.sqrt(variance * float(np.sum(weights**2 / sizes)))
    half = float(special().stdtrit(df, 0.5 + confidence / 2)) * error
    if mean <= 0 or any(values.min() < 0 for values in strata):
        return Interval(mean - half, mean + half, "t")
    skewness = float(np.mean(residuals**3)) * float(np.sum(weights**3 / sizes**2)) / error**3
    upper = half * (1 + max(skewness, 0.0))
    return Interval(mean * math.exp(-half / mean), mean * math.exp(upper / mean), "log-t")
