"""Means and rates of a judge that are corrected by the labels of people."""

from __future__ import annotations

import numpy as np
import pytest

from fathoms.stats.prediction_powered import Stratum, prediction_powered_mean
from fathoms.stats.rogan_gladen import Agreeing, corrected_share, rogan_gladen

Strata = list[Stratum]


def test_a_prediction_powered_mean_worked_by_hand() -> None:
    """cov = 1/8 and var = 8/33 over all twelve, so lambda = (1/8) / (3/2 * 8/33) = 11/32."""
    people, judge = np.array([1.0, 1, 1, 0]), np.array([1.0, 1, 0, 0])
    others = np.array([1.0, 1, 0, 0, 0, 0, 0, 0])
    found = prediction_powered_mean([Stratum(people, judge, others)], [1])
    assert found.weight == pytest.approx(11 / 32)
    assert found.value == pytest.approx(3 / 4 - 11 / 32 / 4)
    assert (found.labels, found.unlabelled) == (4, 8)
    assert 0 <= found.low < found.value < found.high <= 1


def test_without_other_answers_only_people_count() -> None:
    found = prediction_powered_mean([Stratum(np.array([1.0, 0, 1]), np.array([0.0, 0, 1]), np.zeros(0))], [1])
    assert (found.weight, found.value) == (0, pytest.approx(2 / 3))


def test_a_mean_of_categories_weights_them_alike() -> None:
    """A judge that says what people say about all answers gives the mean of the two category means."""
    rng = np.random.default_rng(3)
    strata = [Stratum(one[:30], one[:30], one[30:]) for one in rng.integers(0, 2, (2, 90)).astype(float)]
    found = prediction_powered_mean(strata, [0.5, 0.5])
    ours = sum(
        np.mean(one.people) + found.weight * (np.mean(one.unlabelled) - np.mean(one.judge)) for one in strata
    )
    assert found.value == pytest.approx(ours / 2)
    assert found.weight == pytest.approx(2 / 3, abs=0.05)  # 1 / (1 + n/N)


def test_a_rate_corrected_by_hand() -> None:
    """(0.3 + 0.9 - 1) / (0.8 + 0.9 - 1) = 2/7; the bounds are those of `prevSeSp(0.3, 100, 0.8, 30, 0.9, 40)`
    in the R package asht, computed with its formulas."""
    found = rogan_gladen(0.3, 100, 0.8, 30, 0.9, 40)
    assert found is not None
    assert found.value == pytest.approx(2 / 7)
    assert (found.low, found.high) == pytest.approx((0.1008624, 0.4638857), abs=1e-7)


def test_a_judge_no_better_than_chance_corrects_nothing() -> None:
    assert rogan_gladen(0.3, 100, 0.5, 30, 0.5, 40) is None
    assert rogan_gladen(0.3, 100, 0.9, 30, 0.9, 0) is None


EDGE = "right or wrong, nearly all right"
KINDS = {
    "right or wrong, a fair judge": (0.7, 0.9, 0.9, 1),
    "right or wrong, a lenient judge": (0.8, 0.97, 0.6, 1),
    EDGE: (0.95, 0.95, 0.8, 1),
    "shares of four claims": (0.75, 0.9, 0.8, 4),
    "shares of four claims, nearly all right": (0.9, 0.97, 0.9, 4),
}


def answers(rng: np.random.Generator, kind: str, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The values of people and of a judge for some answers; the claims of one answer are alike."""
    rate, sensitivity, specificity, claims = KINDS[kind]
    chance = rng.beta(4 * rate, 4 * (1 - rate), (size, 1)) if claims > 1 else np.full((size, 1), rate)
    people = rng.random((size, claims)) < chance
    judge = rng.random((size, claims)) < np.where(people, sensitivity, 1 - specificity)
    return people.mean(axis=1), judge.mean(axis=1)


def coverage(kind: str, labels: int, others: int, runs: int, categories: int = 1) -> float:
    """The share of intervals that hold the truth, in percent."""
    rng, truth, held = np.random.default_rng(7), KINDS[kind][0], 0
    for _ in range(runs):
        strata = []
        for _ in range(categories):
            people, judge = answers(rng, kind, (labels + others) // categories)
            cut = labels // categories
            strata.append(Stratum(people[:cut], judge[:cut], judge[cut:]))
        found = prediction_powered_mean(strata, [1 / categories] * categories)
        held += found.low <= truth <= found.high
    return 100 * held / runs


def test_prediction_powered_intervals_hold_the_truth_in_a_short_simulation() -> None:
    assert 93 <= coverage("shares of four claims", 60, 240, 1_000) <= 97  # three standard errors are 2.1


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("labels", "others", "categories"), [(50, 150, 1), (50, 950, 1), (100, 400, 1), (50, 450, 5)]
)
def test_prediction_powered_intervals_hold_the_truth(
    kind: str, labels: int, others: int, categories: int
) -> None:
    """Where few of 50 right-or-wrong answers are wrong, the interval is a little too wide."""
    found = coverage(kind, labels, others, 10_000, categories)
    assert 93.5 <= found <= (97.5 if kind == EDGE and labels == 50 else 96.5)


@pytest.mark.long
@pytest.mark.parametrize(
    ("rate", "sensitivity", "specificity"), [(0.7, 0.9, 0.8), (0.5, 0.8, 0.8), (0.8, 0.95, 0.7)]
)
def test_corrected_rates_hold_the_truth(rate: float, sensitivity: float, specificity: float) -> None:
    """The items without a label are corrected by a random sample of items with labels."""
    rng, held, runs = np.random.default_rng(7), 0, 20_000
    for _ in range(runs):
        people = rng.random(600) < rate
        judge = rng.random(600) < np.where(people, sensitivity, 1 - specificity)
        yes, no = judge[:100][people[:100]], ~judge[:100][~people[:100]]
        found = rogan_gladen(judge[100:].mean(), 500, yes.mean(), yes.size, no.mean(), no.size)
        held += found is not None and found.low <= rate <= found.high
    assert 100 * held / runs == pytest.approx(95, abs=1.5)


@pytest.mark.long
def test_the_interval_of_the_paper_is_too_short_where_errors_are_rare() -> None:
    """Why the variance is smoothed: with 50 labels and a judge that is lenient, 87 % instead of 95 %."""
    rng, held, runs, rate = np.random.default_rng(7), {"ours": 0, "paper": 0}, 5_000, 0.9
    for _ in range(runs):
        people = (rng.random(1000) < rate).astype(float)
        judge = (rng.random(1000) < np.where(people, 0.97, 0.4)).astype(float)
        one = Stratum(people[:50], judge[:50], judge[50:])
        found = prediction_powered_mean([one], [1])
        spread = np.var(one.people - found.weight * one.judge) / 50
        half = 1.96 * np.sqrt(spread + np.var(found.weight * one.unlabelled) / 950)
        held["paper"] += abs(found.value - rate) <= half
        held["ours"] += found.low <= rate <= found.high
    assert 100 * held["paper"] / runs == pytest.approx(87, abs=1.5)
    assert 100 * held["ours"] / runs == pytest.approx(95, abs=1.5)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["shares of four claims", "shares of four claims, nearly all right"])
def test_corrected_shares_hold_the_truth_although_claims_of_an_answer_are_alike(kind: str) -> None:
    rng, held, runs = np.random.default_rng(7), 0, 5_000
    rate, sensitivity, specificity, claims = KINDS[kind]
    for _ in range(runs):
        chance = rng.beta(4 * rate, 4 * (1 - rate), (500, 1))
        people = rng.random((500, claims)) < chance
        judge = rng.random((500, claims)) < np.where(people, sensitivity, 1 - specificity)
        sides = []
        for said in (True, False):
            own = [(judge[n] == said)[people[n] == said] for n in range(100)]
            shares = np.array([one.mean() for one in own if one.size])
            sides.append(Agreeing(shares, np.array([float(one.size) for one in own if one.size])))
        found = corrected_share(judge[100:].mean(axis=1), *sides)
        held += found is not None and found.low <= rate <= found.high
    assert 93.5 <= 100 * held / runs <= (97.5 if "nearly" in kind else 96.5)
