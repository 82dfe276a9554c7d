"""Known answers: from papers, from SciPy, and worked by hand."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from fathoms.stats.clusters import connected, cr2, cr2_interval
from fathoms.stats.difference import bounds, macro_weights, pair, tango
from fathoms.stats.intervals import (
    blaker,
    log_t_interval,
    mean_interval,
    ratio_interval,
    stratified_interval,
    wilson,
)
from fathoms.stats.noninferiority import Answers, judge, overall
from fathoms.stats.paired import holm, mcnemar_p, sign_flip_p
from fathoms.stats.power import questions_needed, resolvable

Z = 1.959963984540054

# ----- one mean


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    # Newcombe 1998 (Statistics in Medicine 17, 857-872), table I, method 3
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_as_newcombe_prints_it(successes, n, low, high):
    found = wilson(successes / n, n)
    assert [round(float(end), 4) for end in found] == [low, high]


@pytest.mark.parametrize("successes", range(11))
def test_wilson_is_scipys(successes):
    theirs = scipy.stats.binomtest(successes, 10).proportion_ci(method="wilson")
    assert wilson(successes / 10, 10) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        # the mean is 2, its error sqrt(60 / 59 / 60) = 0.1302, and t of 59 degrees of freedom 2.0010
        ([1.0] * 30 + [3.0] * 30, 2 / 1.1391, 2 * 1.1391),
        # the error is sqrt(540 / 59 / 60) = 0.3906, the skewness of the mean 72 / 3600 / 0.3906**3 = 0.3357
        ([1.0] * 54 + [11.0] * 6, 1.3531, 3.3706),
    ],
)
def test_log_t_by_hand(values, low, high):
    found = log_t_interval([np.array(values)], np.ones(1))
    assert found == (pytest.approx(low, abs=1e-3), pytest.approx(high, abs=1e-3), "log-t")


def test_means_without_bounds_have_no_interval_below_sixty_questions():
    values = np.arange(1.0, 61)
    assert log_t_interval([values[:30], values[30:]], np.full(2, 1 / 2)) is not None
    assert log_t_interval([values[1:]], np.ones(1)) is None
    assert log_t_interval([values[:20], values[20:]], np.full(2, 1 / 2)) is None  # twenty of them count half
    assert log_t_interval([np.ones(80)], np.ones(1)) is None


def test_the_t_interval_of_values_below_zero_is_scipys():
    values = np.tile([-3.0, -1.0, 0.5, 2.0, -4.0, 6.0], 10)
    theirs = scipy.stats.t.interval(0.95, 59, values.mean(), scipy.stats.sem(values))
    assert log_t_interval([values], np.ones(1)) == (*map(pytest.approx, theirs), "t")


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    # the examples of the R package BlakerCI; with 29 of 99 and 59 of 355, Blaker's own algorithm fails
    [
        (3, 10, 0.08726443, 0.61941066),
        (6, 13, 0.2158050, 0.7395922),
        (29, 99, 0.2097022, 0.3929079),
        (59, 355, 0.1300807, 0.2090809),
    ],
)
def test_blaker_as_the_r_package_prints_it(successes, n, low, high):
    assert blaker(successes / n, n) == pytest.approx((low, high), abs=6e-8)
    assert mean_interval(np.repeat([1.0, 0.0], [successes, n - successes])) == pytest.approx(
        (low, high, "blaker"), abs=6e-8
    )


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7, 10, 13, 31, 50])
def test_blaker_holds_every_rate_in_95_of_100_cases(n):
    """Exactly, by the binomial distribution, for rates from .001 to .999."""
    rates, counts = np.linspace(0.001, 0.999, 999), np.arange(n + 1)
    lows, highs = np.array([blaker(count / n, n) for count in counts]).T
    covered = (lows[:, None] <= rates + 1e-9) & (rates - 1e-9 <= highs[:, None])
    assert (scipy.stats.binom.pmf(counts[:, None], n, rates) * covered).sum(axis=0).min() >= 0.95


def test_between_two_counts_and_for_an_effective_number():
    low, high = np.array([blaker(0.3, 10), blaker(0.4, 10)]).mean(axis=0)
    assert blaker(0.35, 10) == pytest.approx((low, high))
    assert blaker(0.3, 10.9) == blaker(0.3, 10)
    assert blaker(0.5, 0.2) == blaker(0.5, 1)


@pytest.mark.parametrize("sizes", [(4, 12), (20, 5, 9)])
def test_the_bounds_are_where_the_likelihood_says(sizes):
    """The effective numbers of questions with the constrained likelihood maximised by SciPy."""
    rng = np.random.default_rng(7)
    strata = [rng.choice([0.0, 1.0], size, p=[0.3, 0.7]) for size in sizes]
    weights = np.full(len(sizes), 1 / len(sizes))
    centres = np.array([(values.sum() + 0.5) / (values.size + 1) for values in strata])
    mean = float(weights @ [values.mean() for values in strata])

    def effective(truth):
        found = scipy.optimize.minimize(
            lambda p: -np.sum(sizes * (centres * np.log(p) + (1 - centres) * np.log(1 - p))),
            np.full(len(sizes), truth),
            bounds=[(1e-6, 1 - 1e-6)] * len(sizes),
            constraints=scipy.optimize.LinearConstraint(weights, truth, truth),
            options={"ftol": 1e-15},
        )
        variance = np.sum(weights**2 * found.x * (1 - found.x) / sizes)
        return truth * (1 - truth) / variance, (mean - truth) / np.sqrt(variance)

    low = scipy.optimize.brentq(lambda truth: effective(truth)[1] - Z, 0.01, mean - 1e-3)
    high = scipy.optimize.brentq(lambda truth: effective(truth)[1] + Z, mean + 1e-3, 0.99)
    ends = blaker(mean, effective(low)[0])[0], blaker(mean, effective(high)[0])[1]
    assert stratified_interval(strata, weights) == pytest.approx((*ends, "score"), abs=1e-4)


def test_a_category_of_equal_scores_still_adds_its_error():
    right, mixed = np.ones(10), np.array([0.0, 1.0, 1.0, 0.0] * 50)
    found = stratified_interval([right, mixed], np.array([0.5, 0.5]))
    # the error of the other category alone would be .5 * .035
    assert found.low < 0.75 - 2 * 0.5 * 0.035
    nothing = stratified_interval([np.zeros(3), np.zeros(4)], np.array([0.5, 0.5]))
    assert nothing.low == 0
    assert nothing.high > 0.2


def test_scores_alike_are_no_certainty_and_vary_less_than_flags():
    half, flags = np.full(20, 0.5), np.repeat([0.0, 1.0], 10)
    alike, apart = mean_interval(half), mean_interval(flags)
    assert apart.low < alike.low < 0.45
    assert 0.55 < alike.high < apart.high


def test_the_interval_of_fractional_scores_by_hand():
    """The mean is .8, and the squared deviations add up to .04. With .0075 pseudo-questions at 0 and at 1 the
    mean is 8.0075 / 10.015 = .79955 and the sum .045098; .79955 * .20045 * 10 * 9.015 / .045098 = 320.4
    questions would vary as much, and (1.95996 / 2.26216)^2 of them, 240.5, have Student's interval. A quarter
    of it is Wedderburn's: with c = 1.95996 / sqrt(240.5 * .16) = .31596, the truths at which p differs from
    .8 by c p (1 - p) are .73907 and .84203, where Wilson's are .74491 and .84566."""
    found = mean_interval(np.repeat([0.7, 0.8, 0.9], [2, 6, 2]))
    low, high = (float(end) for end in wilson(0.8, 240.5))
    for end in (0.73907, 0.84203):
        assert abs(end - 0.8) == pytest.approx(0.31596 * end * (1 - end), abs=1e-5)
    expected = (0.75 * low + 0.25 * 0.73907, 0.75 * high + 0.25 * 0.84203)
    assert found == (*(pytest.approx(end, abs=1e-4) for end in expected), "score")


def test_a_truth_that_can_be_missed_on_one_side_only_has_three_quarters_of_alpha_there():
    """Four times .03 and once .08: a mean of .04. No sample falls short of a truth below .02 by as much as
    .04 exceeds it, so a bound below .02 is that of a lower level, and it is .02 if that one is higher."""
    scores = np.array([0.03] * 4 + [0.08])
    low = {level: mean_interval(scores, confidence=level).low for level in (0.5, 0.8, 0.95)}
    assert low[0.5] > 0.02
    assert low[0.8] == pytest.approx(0.02)
    assert low[0.95] < 0.02


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_intervals_are_nested_and_mirror_those_of_the_scores_lost(scores):
    values = np.array(scores)
    found = [mean_interval(values, confidence=level) for level in (0.5, 0.9, 0.95, 0.99)]
    assert all(wide.low <= narrow.low + 1e-9 for narrow, wide in itertools.pairwise(found))
    assert all(wide.high >= narrow.high - 1e-9 for narrow, wide in itertools.pairwise(found))
    mirror = mean_interval(1 - values)
    assert (1 - mirror.high, 1 - mirror.low) == pytest.approx(found[2][:2], abs=1e-6)


def test_nothing_jumps_where_one_of_the_ones_becomes_a_fraction():
    nearly = mean_interval(np.append(np.ones(9), 0.9999))
    assert blaker(1, 9)[0] == pytest.approx(nearly.low, abs=0.02)  # they count as one question fewer
    assert nearly.high == pytest.approx(1)


@pytest.mark.parametrize("ends", [(8.2, 1.8), (6, 6), (2.5, 6)])
def test_fractional_scores_are_held_as_often_as_promised_and_hardly_wider_than_by_t(ends):
    """The other distributions are in `test_stats_simulations.py`."""
    values = np.random.default_rng(1).beta(*ends, (300, 10))
    found = np.array([mean_interval(sample)[:2] for sample in values])
    truth = ends[0] / sum(ends)
    assert 0.925 < ((found[:, 0] <= truth) & (truth <= found[:, 1])).mean() < 0.985
    student = 2 * scipy.stats.t.ppf(0.975, 9) * scipy.stats.sem(values, axis=1)
    assert np.diff(found).mean() < 1.15 * student.mean()


def test_a_ratio_of_answers_to_one_question_each_is_a_mean():
    tops = np.array([1.0, 0.0, 1.0, 1.0, 0.0])
    assert ratio_interval(tops, np.ones(5)) == mean_interval(tops)
    assert ratio_interval(3 * tops, np.full(5, 3.0)) == mean_interval(tops)
    assert ratio_interval(np.append(tops, 0), np.append(np.ones(5), 0)) == mean_interval(tops)


def test_unequal_numbers_of_answers_count_as_fewer_questions():
    """Kish: 10 answers to one question and 1 to each of 10 others are 20^2 / 110 = 3.6 questions. The 11
    questions, all hits, have 20 answers; a miss that was not seen may have 10, so a hit counts 2/11 of it."""
    tops, bottoms = np.append(10.0, np.ones(10)), np.append(10.0, np.ones(10))
    found = ratio_interval(tops, bottoms)
    low, high = blaker(1, 3)
    assert found[:2] == pytest.approx((2 * low / (2 * low + 11 * (1 - low)), high))


def test_f1_has_the_interval_of_its_share_of_hits():
    """3 hits and 7 misses: J = 3/10 has the interval that the R package BlakerCI prints, and
    F1 = 2J / (1 + J) is 6/13. Questions that are neither are left out."""
    tops, bottoms = np.repeat([2.0, 0.0, 0.0], [3, 7, 5]), np.repeat([2.0, 1.0, 0.0], [3, 7, 5])
    low, high = 2 * 0.08726443 / 1.08726443, 2 * 0.61941066 / 1.61941066
    assert ratio_interval(tops, bottoms, 2) == pytest.approx((low, high, "blaker"), abs=1e-7)
    assert low < 6 / 13 < high
    # five answers to each question that all agree are no more evidence than one
    assert ratio_interval(5 * tops, 5 * bottoms, 2) == pytest.approx((low, high, "blaker"), abs=1e-7)


def test_hits_that_were_not_seen_may_have_more_answers_than_misses():
    """0 of 1 answer to each of 10 questions that could have had 5: a hit would count 5 times as much as a
    miss. With u the upper bound of the share of questions, that of answers is 5 u / (5 u + 1 - u)."""
    tops, ones = np.zeros(10), np.ones(10)
    u = blaker(0, 10)[1]
    assert ratio_interval(tops, ones, most=5) == pytest.approx((0, 5 * u / (5 * u + 1 - u), "score"))
    assert ratio_interval(ones, ones, most=5) == pytest.approx((1 - 5 * u / (5 * u + 1 - u), 1, "score"))
    assert ratio_interval(tops, ones) == ratio_interval(tops, ones, most=1) == (0, u, "blaker")


@pytest.mark.parametrize("n", [2, 5, 10, 31])
def test_the_interval_of_f1_holds_every_truth_in_95_of_100_cases(n):
    """Exactly, for n questions that are hits or misses, by the binomial distribution."""
    shares, hits = np.linspace(0.001, 0.999, 999), np.arange(n + 1)
    ends = [
        ratio_interval(np.repeat([2.0, 0.0], [hit, n - hit]), np.repeat([2.0, 1.0], [hit, n - hit]), 2)
        for hit in hits
    ]
    lows, highs = (np.array([end[side] for end in ends])[:, None] for side in (0, 1))
    truths = 2 * shares / (1 + shares)
    covered = (lows <= truths + 1e-9) & (truths - 1e-9 <= highs)
    assert (scipy.stats.binom.pmf(hits[:, None], n, shares) * covered).sum(axis=0).min() >= 0.95


@given(
    st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=20), min_size=1, max_size=5),
)
def test_an_interval_holds_its_mean_and_has_a_width(scores):
    strata = [np.array(values) for values in scores]
    weights = np.full(len(strata), 1 / len(strata))
    found = stratified_interval(strata, weights)
    mean = weights @ [values.mean() for values in strata]
    assert 0 <= found.low <= mean + 1e-12
    assert mean - 1e-12 <= found.high <= 1
    assert found.high - found.low > 0.01


# ----- groups


def test_groups_are_joined_by_what_they_share():
    assert connected([{"a"}, {"b"}, {"c"}, {"b", "a"}, set(), set()]) == [0, 0, 1, 0, 2, 3]


def test_cr2_of_single_questions_is_the_standard_error():
    values = np.array([0.2, 0.4, 0.9, 0.5, 0.55, 0.3])
    found = cr2(values, np.zeros(6, int), np.arange(6), np.ones(1))
    assert found == pytest.approx((values.mean(), scipy.stats.sem(values), 5))


def test_cr2_of_equal_groups_is_the_standard_error_of_their_means():
    values = np.array([0.1, 0.3, 0.5, 0.9, 0.4, 0.4, 0.7, 0.2])
    found = cr2(values, np.zeros(8, int), np.repeat(np.arange(4), 2), np.ones(1))
    assert found == pytest.approx((values.mean(), scipy.stats.sem(values.reshape(4, 2).mean(axis=1)), 3))


def test_cr2_of_two_categories_of_single_questions_adds_their_variances():
    first, second = np.array([0.2, 0.4, 0.9, 0.6]), np.array([0.5, 0.55, 0.3])
    found = cr2(
        np.concatenate([first, second]), np.repeat([0, 1], [4, 3]), np.arange(7), np.array([0.5, 0.5])
    )
    parts = [first.var(ddof=1) / 4, second.var(ddof=1) / 3]
    # Welch's degrees of freedom for equal variances: (1/4 + 1/3)^2 / (1/48 + 1/18)
    df = (1 / 4 + 1 / 3) ** 2 / (1 / 48 + 1 / 18)
    middle = (first.mean() + second.mean()) / 2
    assert found == pytest.approx((middle, 0.5 * np.sqrt(sum(parts)), df))


def test_cr2_is_the_formula_with_whole_matrices():
    """Groups of unlike size across three categories, by Bell & McCaffrey's matrices as they are written."""
    rng = np.random.default_rng(7)
    strata, groups = rng.integers(0, 3, 40), np.sort(rng.integers(0, 12, 40))
    groups = np.unique(groups, return_inverse=True)[1]
    values, weights = rng.random(40), np.full(3, 1 / 3)
    x = np.eye(3)[strata]
    bread = np.linalg.inv(x.T @ x)
    hat = x @ bread @ x.T
    residuals = (np.eye(40) - hat) @ values
    variance, columns = 0.0, []
    for group in range(groups.max() + 1):
        inside = groups == group
        root = scipy.linalg.fractional_matrix_power(np.eye(inside.sum()) - hat[np.ix_(inside, inside)], -0.5)
        lever = root @ x[inside] @ bread @ weights
        variance += (lever @ residuals[inside]) ** 2
        columns.append((np.eye(40) - hat)[:, inside] @ lever)
    form = np.array(columns) @ np.array(columns).T
    df = np.trace(form) ** 2 / np.trace(form @ form)
    middle = weights @ bread @ x.T @ values
    assert cr2(values, strata, groups, weights) == pytest.approx((middle, np.sqrt(variance), df))


def test_the_clustered_interval_is_wilsons_with_t():
    """6 of 10 single questions: the squared error is .24 / 9, and t has 9 degrees of freedom. With half a
    question at 0 and half of one at 1 the mean is 13/22 and the variance of the mean is
    (10 * .24 / 9 + .5 * (13/22)^2 / 10 + .5 * (9/22)^2 / 10) / 11 = .0266."""
    values = np.array([1.0] * 6 + [0.0] * 4)
    found = cr2_interval(values, np.zeros(10, int), np.arange(10), np.ones(1))
    n = 13 / 22 * 9 / 22 / ((2.4 / 9 + (13**2 + 9**2) / 22**2 / 20) / 11)
    t = scipy.stats.t.ppf(0.975, 9)
    centre = (0.6 + t**2 / (2 * n)) / (1 + t**2 / n)
    half = t * np.sqrt(0.24 / n + t**2 / (4 * n**2)) / (1 + t**2 / n)
    assert found == pytest.approx((centre - half, centre + half, 9))


@pytest.mark.parametrize("score", [0.0, 1.0])
def test_the_clustered_interval_of_scores_that_are_alike_counts_groups(score):
    """20 groups: n = 20 * 21 * .5 * 20.5 / (.5 * (.5^2 + 20.5^2)), which is about 20."""
    found = cr2_interval(np.full(60, score), np.zeros(60, int), np.repeat(np.arange(20), 3), np.ones(1))
    n, t = 20 * 21 * 20.5 / (0.5**2 + 20.5**2), scipy.stats.t.ppf(0.975, 19)
    assert n == pytest.approx(20.475, abs=1e-3)
    ends = (n / (n + t**2), 1) if score else (0, t**2 / (n + t**2))
    assert found == pytest.approx((*ends, 19))


# ----- differences


def test_tango_as_fagerland_prints_it():
    # Bentur 2009: 1 and 7 discordant pairs of 21 (Fagerland, Lydersen & Laake 2014, table V)
    assert [round(float(end), 3) for end in tango(1 / 21, 7 / 21, 21, Z)] == [-0.517, -0.026]


@pytest.mark.parametrize(("b", "c", "n"), [(3, 9, 40), (0, 4, 25), (12, 2, 50)])
def test_tango_is_where_the_likelihood_says(b, c, n):
    """The same limits with the constrained likelihood maximised by SciPy."""

    def distance(mean):
        def loss(q):
            return -(
                b * np.log(q + mean + 1e-300)
                + c * np.log(q + 1e-300)
                + (n - b - c) * np.log(1 - 2 * q - mean)
            )

        ends = (max(0, -mean) + 1e-12, (1 - mean) / 2 - 1e-12)
        q = scipy.optimize.minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-12}).x
        return (b - c - n * mean) / np.sqrt(n * (2 * q + mean * (1 - mean)))

    middle = (b - c) / n
    low = scipy.optimize.brentq(lambda mean: distance(mean) - Z, -0.99, middle)
    high = scipy.optimize.brentq(lambda mean: distance(mean) + Z, middle, 0.99)
    assert tango(b / n, c / n, n, Z) == pytest.approx((low, high), abs=1e-6)


def test_nothing_flipped_is_no_certainty():
    low, high = bounds(pair(np.zeros(50), np.full(50, 1 / 50)), Z)
    width = Z**2 / (50 + Z**2)
    assert (low, high) == pytest.approx((-width, width))


def test_whole_flips_in_one_category_are_tangos_counts():
    found = pair([1.0] * 7 + [-1.0] + [0.0] * 13, np.full(21, 1 / 21))
    assert found.effective == pytest.approx(21)
    assert bounds(found, Z) == pytest.approx((0.026003, 0.517232), abs=1e-6)


@pytest.mark.slow
@given(st.lists(st.floats(-1, 1), min_size=2, max_size=30), st.integers(1, 4))
def test_bounds_hold_the_mean_and_have_a_width(differences, categories):
    strata = np.arange(len(differences)) % min(categories, len(differences))
    found = pair(differences, macro_weights(strata))
    low, high = bounds(found, Z)
    assert -1 <= low <= found.mean + 1e-9
    assert found.mean - 1e-9 <= high <= 1
    assert high - low > 0.01


# ----- tests


def test_sign_flip_counts_all_patterns():
    differences, weights = np.array([1.0, -0.5, 0.25, 0.0, 1.0]), np.array([0.1, 0.1, 0.1, 0.1, 0.6])
    steps = (differences * weights)[[0, 1, 2, 4]]
    outcomes = [abs(np.dot(signs, steps)) for signs in itertools.product((1, -1), repeat=4)]
    share = np.mean([outcome >= abs(steps.sum()) - 1e-12 for outcome in outcomes])
    assert sign_flip_p(differences, weights) == pytest.approx(share)


def test_sign_flip_is_scipys_permutation_test():
    rng = np.random.default_rng(7)
    values = rng.choice([-1, -0.5, 0, 0, 0, 0.5, 1], 60) + 0.0
    theirs = scipy.stats.permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=20_000, vectorized=True, rng=5
    )
    assert sign_flip_p(values, np.full(60, 1 / 60)) == pytest.approx(theirs.pvalue, abs=0.015)


@pytest.mark.slow
def test_sign_flip_draws_where_there_is_too_much_to_count():
    rng = np.random.default_rng(7)
    values = np.round(rng.normal(0.02, 0.1, 200), 6)
    drawn = sign_flip_p(values, np.full(200, 1 / 200))
    z = values.sum() / np.sqrt(np.sum(values**2))
    assert drawn == pytest.approx(2 * scipy.stats.norm.sf(abs(z)), abs=0.01)
    assert drawn == sign_flip_p(values, np.full(200, 1 / 200))
    assert sign_flip_p(np.zeros(3), np.ones(3)) == 1


def test_mcnemar_mid_p_as_fagerland_prints_it():
    # 1 and 7 discordant pairs: exact .070, mid-p 0.039 (Fagerland, Lydersen & Laake 2013)
    assert mcnemar_p(1, 7) == pytest.approx(
        scipy.stats.binomtest(1, 8).pvalue - scipy.stats.binom.pmf(1, 8, 0.5)
    )
    assert round(float(mcnemar_p(1, 7)), 3) == 0.039
    assert mcnemar_p([0, 4], [0, 4]) == pytest.approx([1, 1])


def test_holm_by_hand():
    # Holm's steps: 4 * .01, 3 * .02, 2 * .03, then the larger of .04 and what came before
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.5, 0.9]) == pytest.approx([1, 1])


# ----- the gate


def answers(*nights: list[float], baseline: list[float] | None = None, repeats: int = 1) -> Answers:
    """One category; the baseline is right on all questions if not given."""
    base = baseline or [1.0] * len(nights[0])
    return Answers(
        (0,) * len(base),
        tuple((score,) * repeats for score in base),
        tuple(tuple((score,) for score in night) for night in nights),
    )


def lost(number: int, n: int) -> list[float]:
    return [0.0] * number + [1.0] * (n - number)


def verdict(found: Answers, margin: float = 0.02) -> str:
    return judge([found], margin=margin, alpha=0.025)[0].verdict


def test_a_collapse_on_six_questions_fails_on_the_first_night():
    # 4 of 6 were right, and all of these are lost: .25^4 = .0039 is below .005
    (check,) = judge([answers([0.0] * 6, baseline=[1, 1, 1, 1, 0.5, 0])], margin=0.02, alpha=0.025)
    assert (check.verdict, check.lost) == ("FAIL", (4, 4))
    assert check.p == pytest.approx(0.25**4 / 5)  # on the scale of .001
    assert check.nights[0].p == pytest.approx(1 / 2**5)  # the permutation test cannot tell alone
    # 3 of 3 may be chance (.0156), and with 5 baseline runs the permutation test is enough: 6^-6
    assert verdict(answers([0.0] * 6, baseline=[1, 1, 1, 0, 0, 0])) == "UNDECIDED"
    (check,) = judge([answers([0.0] * 6, repeats=5)], margin=0.02, alpha=0.025)
    assert (check.verdict, check.lost) == ("FAIL", None)
    assert check.p == pytest.approx(6.0**-6)


def test_one_lost_answer_of_few_proves_nothing():
    # P(Bin(6, .25) >= 1) = 1 - .75^6, brought from the level .005 to .001
    (check,) = judge([answers(lost(1, 6))], margin=0.02, alpha=0.025)
    assert (check.verdict, check.lost) == ("UNDECIDED", (6, 1))
    assert check.p == pytest.approx((1 - 0.75**6) / 5)


def test_nights_are_judged_alone_and_pooled():
    # one night: all 9 losses of 9 flips are 2^-9 = .00195. The last two nights pooled against one answer:
    # each of 9 questions has 3 answers, and its right one is the baseline's with probability 1/3
    once, twice = answers(lost(9, 100)), answers(lost(9, 100), lost(9, 100))
    assert judge([once], 0.02, 0.025)[0].tests == pytest.approx([2.0**-9])
    assert judge([twice], 0.02, 0.025)[0].tests == pytest.approx([2.0**-9, 3.0**-9])
    assert (verdict(once), verdict(twice)) == ("UNDECIDED", "FAIL")


def test_a_night_within_the_margin_is_not_pooled():
    assert verdict(answers(lost(0, 100), lost(9, 100))) == "UNDECIDED"
    assert verdict(answers(lost(0, 100), lost(11, 100))) == "FAIL"  # 2^-11 is below .001 alone
    assert verdict(answers(lost(11, 100), lost(0, 100)), margin=0.05) == "PASS"


@pytest.mark.slow
def test_a_drop_that_is_sure_but_within_the_margin_is_no_fail():
    (small,) = judge([answers(lost(30, 5000), lost(30, 5000))], margin=0.02, alpha=0.025)
    assert small.nights[0].high < 0
    assert small.verdict == "PASS"


def test_holm_makes_a_fail_harder_in_company():
    weak, other = answers(lost(10, 100)), answers(lost(0, 100))
    alone = judge([weak], margin=0.02, alpha=0.025)
    together = judge([weak, other, other], margin=0.02, alpha=0.025)
    assert (alone[0].verdict, together[0].verdict) == ("FAIL", "UNDECIDED")
    assert (together[0].p, together[0].alone) == (pytest.approx(3 * 2.0**-10), pytest.approx(2.0**-10))
    assert overall([*alone, *together]) == "FAIL"
    assert overall(together) == "UNDECIDED"


def test_every_night_is_compared_on_the_questions_that_both_sides_have():
    found = Answers((0, 0, 1), ((1.0,), (1.0,), (1.0,)), (((1.0,), (), (0.0,)), ((1.0,), (0.0,), (0.0,))))
    (check,) = judge([found], margin=0.02, alpha=0.025)
    assert [night.delta for night in check.nights] == pytest.approx([-0.5, -0.75])
    # pooled, question 2 has one answer of the second night: 1/2, and question 3 two of both: 1/3
    assert check.tests[1] == pytest.approx(1 / 6)


# ----- how many questions


@pytest.mark.slow
@pytest.mark.parametrize(("n", "repeats"), [(60, 5), (200, 1)])
def test_an_unchanged_pipeline_passes_as_often_as_said(n: int, repeats: int) -> None:
    """With the margin that is said to be resolvable, fresh nights of the same pipeline pass in 80 % of the
    cases, on average over baselines."""
    rng = np.random.default_rng(1)
    passed = []
    for _ in range(20):
        chance = rng.beta(0.4, 0.25, n)
        base = tuple(map(tuple, rng.binomial(1, np.repeat(chance[:, None], repeats, 1)).tolist()))

        def night(chance=chance, base=base) -> Answers:
            scores = rng.binomial(1, chance).tolist()
            return Answers((0,) * n, base, (tuple((score,) for score in scores),))

        margin = resolvable(night(), 0.025)
        differences = [_difference(night()) for _ in range(40)]
        low, _ = bounds(pair(differences, np.full(n, 1 / n)), 1.959964)
        passed += (low > -margin).tolist()
    assert np.mean(passed) == pytest.approx(0.8, abs=0.05)


def _difference(found: Answers) -> list[float]:
    ours, theirs, _ = found.compared()
    return [float(np.mean(now) - np.mean(before)) for before, now in zip(ours, theirs, strict=True)]


@pytest.mark.slow
def test_the_questions_needed_resolve_the_margin():
    found = answers(lost(10, 100), repeats=1)
    needed = questions_needed(found, 0.05, 0.025)
    assert needed is not None
    assert 100 <= needed < 400
    began = time.process_time()
    for margin in (0.0, -0.1):
        assert questions_needed(found, margin, 0.025) is None
    found_by_thought = time.process_time()
    questions_needed(found, 0.05, 0.025)
    assert found_by_thought - began < time.process_time() - found_by_thought  # nothing was simulated
