"""The e-detector: worked by hand, and its guarantee by counting all orders of a small case."""

from __future__ import annotations

import itertools
import math
from types import ModuleType

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from fathoms.stats.noninferiority import LOST_LEVEL, Answers, judge
from fathoms.stats.pooled import pooled_tail
from fathoms.stats.sequential import BUDGET, SHIFTS, e_values, evidence, level_alone, needed, night_p


def test_a_night_worked_by_hand() -> None:
    # pool {1, 0}: the loss is the lower of two equally likely draws, so p is uniform on (0, 1/2]
    assert night_p([[1.0]], [[0.0]], 0.0) == pytest.approx(0.5)
    assert night_p([[1.0]], [[0.0]], 0.5) == pytest.approx(0.25)
    assert night_p([[1.0]], [[1.0]], 0.5) == pytest.approx(0.5)  # a tie: anywhere in (0, 1]
    # two questions with four right answers each before: the single loss of each is one of five draws
    assert night_p([[1.0] * 4] * 2, [[0.0]] * 2, 0.5) == pytest.approx(0.5 / 25)
    # pools {1, 1, 1, 1, 0} and {1, 1, 1, 0, 0}: both are lost with probability 1/5 * 2/5, and exactly one
    # with 1/5 * 3/5 + 4/5 * 2/5
    assert night_p([[1.0] * 4, [1.0] * 3 + [0.0]], [[0.0], [0.0]], 0.0) == pytest.approx(0.08)
    assert night_p([[1.0] * 4, [1.0] * 2 + [0.0] * 2], [[0.0], [1.0]], 0.25) == pytest.approx(0.41)


def test_questions_without_scores_are_left_out() -> None:
    assert night_p([[1.0], []], [[0.0], [1.0]], 0.5) == pytest.approx(0.25)
    assert night_p([[1.0], []], [[], [1.0]], 0.5) is None


def test_the_evidence_of_two_nights_worked_by_hand() -> None:
    # the 97.5 % quantile of the normal distribution is 1.959964, the median 0
    first = [math.exp(shift * 1.959964 - shift**2 / 2) for shift in (0.5, 1, 2, 4)]
    assert first[2] == pytest.approx(math.exp(1.919928), rel=1e-6)
    assert e_values(0.025) == pytest.approx(first, rel=1e-5)
    second = [(1 + e) * math.exp(-(shift**2) / 2) for e, shift in zip(first, SHIFTS, strict=True)]
    found = evidence([0.025, None, 0.5])
    assert found == pytest.approx([sum(first) / 4, sum(first) / 4, sum(second) / 4], rel=1e-5)


def test_the_budget_is_five_percent_of_365_nights_for_all_checks_together() -> None:
    assert (needed(), needed(3)) == (pytest.approx(14_600), pytest.approx(43_800))
    # 1/2 + 1/6 + 1/12 + ... = 1: the levels of single nights add up to 2 %
    assert [level_alone(1), level_alone(2), level_alone(1, 2)] == pytest.approx([0.01, 0.02 / 6, 0.005])
    assert sum(map(level_alone, range(1, 100_000))) == pytest.approx(0.02, rel=1e-4)
    assert pytest.approx(0.05) == 365 / needed() + 0.02 + LOST_LEVEL == BUDGET


def mean_e_value(low: float, high: float, shift: float) -> float:
    """The mean of an e-value over p values that are uniform between two bounds, by its antiderivative."""
    area = ndtr(ndtri(high) + shift) - ndtr(ndtri(low) + shift)
    return float(area / (high - low))


@pytest.mark.parametrize("shift", SHIFTS)
def test_products_of_e_values_are_one_on_average_over_all_orders(shift: float) -> None:
    """One answer in the baseline and three nights: every order of the answers of each question is equally
    likely if nothing has changed."""
    easy, hard = (
        set(itertools.permutations([1.0, 1.0, 1.0, 0.0])),
        set(itertools.permutations([1, 0.5, 0, 0])),
    )
    # equal orders of a multiset are equally likely too, so each is counted once
    products = []
    for one, two in itertools.product(easy, hard):
        products.append(1.0)
        for night in range(1, 4):
            low, high = pooled_tail([one[:night], two[:night]], [[one[night]], [two[night]]], [1.0, 1.0])
            products[-1] *= mean_e_value(low, high, shift)
    assert len(products) == 4 * 12
    assert np.mean(products) == pytest.approx(1.0)


def test_p_values_of_two_nights_are_independent_and_uniform() -> None:
    """The joint distribution over all orders is that of two independent uniform numbers: the mean of any
    product of functions is the product of their means."""
    points = np.linspace(0.1, 0.9, 5)
    joint = np.zeros((5, 5))
    orders = set(itertools.permutations([1.0, 1.0, 0.0]))
    for one, two in itertools.product(orders, repeat=2):
        below = []
        for night in (1, 2):
            low, high = pooled_tail([one[:night], two[:night]], [[one[night]], [two[night]]], [1.0, 1.0])
            below.append(np.clip((points - low) / (high - low), 0, 1))
        joint += np.outer(*below) / len(orders) ** 2
    assert joint == pytest.approx(np.outer(points, points))


def test_the_simulation_ranks_nights_as_fathoms_does(simulation: ModuleType) -> None:
    rng = np.random.default_rng(1)
    ones = rng.integers(1, 7, (5, 9))  # of 7 answers, tonight's included
    seen = rng.integers(0, 10, 5)
    found = np.transpose(simulation.lower_tail(ones, 7, 1, seen))
    for row, right, tail in zip(ones, seen, found, strict=True):
        tonight = [[1.0] if place < right else [0.0] for place in range(9)]
        before = [int(number - now[0]) for number, now in zip(row, tonight, strict=True)]
        earlier = [[1.0] * number + [0.0] * (6 - number) for number in before]
        assert tail == pytest.approx(pooled_tail(earlier, tonight, [1.0] * 9))


@pytest.mark.parametrize("repeats", [1, 5])
def test_the_simulation_decides_as_the_gate_does(simulation: ModuleType, repeats: int) -> None:
    rng = np.random.default_rng(2)
    n, count = 7, 12
    base = rng.binomial(repeats, 0.8, (3, n))
    nights = rng.random((3, count, n)) < 0.35
    failed, unsure = simulation.fails_of_last(3, base, repeats, nights)
    assert 0 < failed.sum() < failed.size
    for history, night in itertools.product(range(3), range(count)):
        answers = Answers(
            (0,) * n,
            tuple((1.0,) * int(right) + (0.0,) * int(repeats - right) for right in base[history]),
            tuple(
                tuple((float(score),) for score in each)
                for each in nights[history, max(0, night - 2) : night + 1]
            ),
        )
        (check,) = judge([answers], 0.02, 0.025)
        assert (check.verdict == "FAIL") == failed[history, night]
        assert unsure[history, night] == (check.verdict == "UNDECIDED" and check.nights[-1].delta <= -0.25)
