"""The tests of a comparison: known answers for repeats, for other documents, and for what can be shown."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy

from fathoms.stats import detectable as detecting
from fathoms.stats.clusters import cr2_difference, usable
from fathoms.stats.detectable import detectable, sign_flip_ps
from fathoms.stats.difference import macro_weights
from fathoms.stats.paired import difference_p, mcnemar_p, repeats_p, sign_flip_p

# ----- repeats


def drawn_p(first: list[list[float]], second: list[list[float]], weights: list[float]) -> float:
    """Twice the smaller side of all ways to choose which answers to each question are the second run's."""
    choices = []
    for ours, theirs, weight in zip(first, second, weights, strict=True):
        pool = [*ours, *theirs]
        choices.append(
            [
                weight
                * (
                    np.mean([pool[i] for i in chosen])
                    - np.mean([pool[i] for i in range(len(pool)) if i not in chosen])
                )
                for chosen in itertools.combinations(range(len(pool)), len(theirs))
            ]
        )
    sums = np.array([sum(outcome) for outcome in itertools.product(*choices)])
    observed = sum(
        weight * (np.mean(theirs) - np.mean(ours))
        for ours, theirs, weight in zip(first, second, weights, strict=True)
    )
    return 2 * min(np.mean(sums <= observed + 1e-9), np.mean(sums >= observed - 1e-9))


def test_unequal_repeats_take_the_larger_of_two_p_values() -> None:
    # one question, right five times and then wrong: 1 of 6 draws is so low, and of 2 signs both are
    assert repeats_p([[1.0] * 5], [[0.0]], np.ones(1)) == 1
    # three such questions of one kind: 2 / 6^3 of the draws, but 2 / 2^3 of the signs
    assert repeats_p([[1.0] * 5] * 3, [[0.0]] * 3, np.full(3, 1 / 3)) == pytest.approx(2 / 8)
    # the differences -1/5, -1/5 and -1/5 of right answers in five against wrong ones: the draws decide
    first, second, weights = [[1.0, 0, 0, 0, 0]] * 6, [[0.0]] * 6, np.full(6, 1 / 6)
    assert sign_flip_p([-0.2] * 6, weights) == pytest.approx(2 / 2**6)
    assert drawn_p(first, second, weights.tolist()) == pytest.approx(2 * (5 / 6) ** 6)
    assert repeats_p(first, second, weights) == pytest.approx(2 * (5 / 6) ** 6)


def test_unequal_repeats_with_fractions_and_weights() -> None:
    first = [[1.0, 0.5, 1.0], [0.0, 0.5, 0.0], [1.0, 1.0, 0.25], [0.0, 0.0, 1.0]]
    second = [[0.5], [0.0, 0.0], [0.25], [0.0]]
    weights = np.array([0.4, 0.3, 0.2, 0.1])
    differences = [np.mean(b) - np.mean(a) for a, b in zip(first, second, strict=True)]
    both = difference_p(differences, weights), drawn_p(first, second, weights.tolist())
    assert repeats_p(first, second, weights) == pytest.approx(max(both))


def test_equal_repeats_are_exchanged_as_a_whole() -> None:
    # of 2^3 signs two are so extreme. To draw single answers would count 5 repeats as 5 questions.
    assert repeats_p([[1.0] * 5] * 3, [[0.0] * 5] * 3, np.full(3, 1 / 3)) == pytest.approx(2 / 8)


def test_single_flags_of_one_category_are_mcnemars_exact_test() -> None:
    first, second = [[1.0]] * 7 + [[0.0]] * 14, [[0.0]] * 7 + [[1.0]] + [[0.0]] * 13
    exact = scipy.stats.binomtest(1, 8).pvalue  # .070 in Fagerland, Lydersen & Laake 2013
    assert repeats_p(first, second, np.full(21, 1 / 21)) == pytest.approx(exact)
    assert mcnemar_p(1, 7) == pytest.approx(exact - scipy.stats.binom.pmf(1, 8, 0.5))


# ----- other documents


def test_other_documents_by_the_matrices_of_bell_and_mccaffrey() -> None:
    """Two categories on 24 groups of unlike size, with the formula of the variance as it is written."""
    rng = np.random.default_rng(3)
    groups = np.concatenate([np.arange(24), rng.integers(0, 24, 46)])
    strata = np.concatenate([np.arange(24) % 2, rng.integers(0, 2, 46)])
    values = rng.choice([-1.0, -0.5, 0.0, 0.0, 1.0], 70)
    x = np.eye(2)[strata]
    bread = np.linalg.inv(x.T @ x)
    hat = x @ bread @ x.T
    rest = np.eye(70) - hat
    variance, rows = 0.0, []
    for group in range(24):
        inside = groups == group
        root = scipy.linalg.fractional_matrix_power(rest[np.ix_(inside, inside)], -0.5)
        lever = root @ x[inside] @ bread @ np.full(2, 0.5)
        variance += (lever @ (rest @ values)[inside]) ** 2
        rows.append(rest[:, inside] @ lever)
    form = np.array(rows) @ np.array(rows).T
    share = 0.5 / np.bincount(strata)[strata]
    alike = np.array([share[groups == group].sum() ** 2 for group in range(24)])
    df = min(np.trace(form) ** 2 / np.trace(form @ form), alike.sum() ** 2 / (alike @ alike))
    # two pseudo-differences of 1 in the variance, and in the effective number of questions
    gains, losses = share @ np.maximum(values, 0), share @ np.maximum(-values, 0)
    n = (gains + losses + 2 / 70) / (variance + 2 * np.mean(share**2))
    t = abs(gains - losses) * np.sqrt(n / (gains + losses))
    found = cr2_difference(values, strata, groups)
    assert found.df == pytest.approx(df)
    assert found.p == pytest.approx(2 * scipy.stats.t.sf(t, df))
    assert found.low < gains - losses < found.high
    assert (found.p < 0.05) == (found.low > 0 or found.high < 0)


def test_runs_without_a_difference_are_as_uncertain_as_their_groups() -> None:
    found = cr2_difference(np.zeros(60), np.zeros(60, int), np.repeat(np.arange(20), 3))
    t = scipy.stats.t.ppf(0.975, 19)
    assert found == pytest.approx((-(t**2) / (20 + t**2), t**2 / (20 + t**2), 1, 19))


def test_why_nothing_is_said_about_other_documents() -> None:
    one = np.zeros(60, int)
    assert usable(one, np.repeat(np.arange(20), 3)) is None
    assert usable(one, np.repeat(np.arange(6), 10)) == "6 groups of documents, fewer than 20"
    alone = np.array([1] * 3 + [0] * 57)
    assert usable(alone, np.repeat(np.arange(20), 3), ["Text", "Tables"]) == (
        "the category Tables rests on a single group of documents"
    )
    # 41 questions on one document, and 19 documents with a single one
    assert usable(one, np.maximum(np.arange(60) - 40, 0)) == (
        "most questions are on a few of the groups of documents"
    )


# ----- what can be shown


def test_six_questions_show_only_what_all_of_them_show() -> None:
    # 2 / 2^6 = .031: all six must be better. They are with a probability of d^6, which is .8 at d = .9635
    one = np.zeros(6, int)
    assert detectable(np.zeros(6), one, "sign-flip", 0.05) == pytest.approx(0.8 ** (1 / 6), abs=0.008)
    assert detectable(np.zeros(6), one, "sign-flip", 0.025) is None
    assert detectable(np.zeros(6), one, "sign-flip", 0.05, most=0.75) is None


def test_many_questions_are_not_simulated_and_give_what_simulation_gives() -> None:
    """500 simulated comparisons know a probability of .8 to +- .035 (95 %)."""
    rng = np.random.default_rng(3)
    strata = np.sort(rng.choice(3, 2_000, p=[0.7, 0.2, 0.1]))
    differences = rng.choice([-1.0, 0.0, 0.5, 1.0], 2_000, p=[0.05, 0.85, 0.05, 0.05])
    simulated = detecting._Simulated(differences, strata, "sign-flip")
    normal = detecting._Normal(differences, strata, "sign-flip")
    for difference in (0.02, 0.04, 0.2):
        assert normal.power(difference, 0.05) == pytest.approx(simulated.power(difference, 0.05), abs=0.06)
    # by hand: 10,000 flags of which a tenth differ have a standard error of sqrt(.1 / 10000)
    flags = np.tile([1.0, -1.0, *[0.0] * 18], 500)
    expected = (1.959964 + 0.841621) * np.sqrt(0.1 / 10_000)
    one = np.zeros(10_000, int)
    assert detectable(flags, one, "mcnemar", 0.05) == pytest.approx(expected, rel=0.01)
    assert detectable(np.zeros(10_000), one, "sign-flip", 0.05) is not None


def test_the_smallest_difference_of_mcnemar_is_that_of_the_binomial() -> None:
    # none differ: six, or five, wins of six or five are the fewest with mid-p below .05 (2^-6 and 2^-5)
    assert mcnemar_p(0, [4, 5]) == pytest.approx([1 / 16, 1 / 32])
    found = detectable(np.zeros(40), np.zeros(40, int), "mcnemar", 0.05)
    exact = next(d for d in np.arange(0.05, 0.5, 0.001) if scipy.stats.binom.sf(4, 40, d) >= 0.8)
    assert found == pytest.approx(exact, abs=0.015)


@pytest.mark.slow
def test_the_quick_p_values_are_those_of_the_test() -> None:
    rng = np.random.default_rng(2)
    strata = np.repeat(np.arange(5), [31, 13, 14, 25, 10])
    for rate, sizes in ((0.1, [1.0]), (0.4, [1.0]), (0.4, [0.2, 0.5, 1.0])):
        signs = rng.choice([-1, 0, 1], (30, 93), p=[rate * 0.35, 1 - rate, rate * 0.65])
        differences = signs * rng.choice(sizes, (30, 93))
        quick = sign_flip_ps(differences * macro_weights(strata))
        exact = [sign_flip_p(row, macro_weights(strata)) for row in differences]
        assert quick == pytest.approx(np.array(exact), abs=0.012)


@pytest.mark.slow
def test_what_is_found_has_the_power_that_is_said() -> None:
    """Fresh comparisons with the true difference that is printed, on average over histories without one."""
    rng = np.random.default_rng(5)
    strata = np.repeat(np.arange(5), [31, 13, 14, 25, 10])
    powers = []
    for history in flips(rng, 93, 0.3, 0.0, 8):
        found = detectable(history, strata, "sign-flip", 0.05)
        assert found is not None
        fresh = flips(rng, 93, 0.3, found, 300)
        powers.append(np.mean(sign_flip_ps(fresh * macro_weights(strata)) <= 0.05))
    assert np.mean(powers) == pytest.approx(0.8, abs=0.05)


def flips(rng: np.random.Generator, n: int, rate: float, difference: float, times: int) -> np.ndarray:
    """Comparisons of which a share `rate` differs, and which have a true difference."""
    luck, gains = rng.random((times, n)), (max(rate, difference) + difference) / 2
    return (luck < gains) * 1.0 - ((luck >= gains) & (luck < max(rate, difference)))


def test_little_losses_on_many_questions_are_no_evidence_that_one_run_is_worse() -> None:
    """30 differences of -0.1: the sign-flip test is sure, but one gain of 0.9 in ten would undo them."""
    losses, weights = np.full(30, -0.1), np.full(30, 1 / 30)
    assert sign_flip_p(losses, weights) == pytest.approx(2 / 2**30)
    # by hand: the variance is (0.3 + 2) / 900, the effective number (0.1 + 2 / 30) / variance = 65.2
    z = 0.1 * np.sqrt((0.1 + 2 / 30) / (2.3 / 900) / 0.1)
    assert (
        difference_p(losses, weights)
        == pytest.approx(2 * scipy.stats.norm.sf(z))
        == pytest.approx(0.0107, abs=1e-4)
    )
