"""The interval of the mean of a finite set of scores of which only some are known."""

from __future__ import annotations

import numpy as np
import pytest

from fathoms.stats.betting import mean_of_these


def test_what_is_left_bounds_the_mean() -> None:
    """One of two scores is 1, so the mean of both is at least 1/2; half of the weight is left."""
    assert mean_of_these(np.array([1.0]), np.array([0.5, 0.5])) == (0.5, 1.0)
    assert mean_of_these(np.array([0.0]), np.array([0.8, 0.2])) == (0.0, pytest.approx(0.2))


def test_the_mean_of_those_that_have_a_score_is_known_at_the_end() -> None:
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    mean = (0.1 * 1 + 0.3 * 0.5) / 0.4
    assert mean_of_these(np.array([1.0, np.nan, 0.5, np.nan]), weights) == pytest.approx((mean, mean))
    assert mean_of_these(np.full(4, np.nan), weights) == (0.0, 1.0)


def test_scores_without_a_value_tell_nothing() -> None:
    """Of 300 questions, half have no score: the interval is about that of the other half alone."""
    scores = np.tile([1.0, 1.0, 0.0, 1.0], 25)
    low, high = mean_of_these(scores, np.full(150, 1 / 150))
    mixed = np.ravel(np.column_stack([scores, np.full(100, np.nan)]))
    found = mean_of_these(mixed, np.full(300, 1 / 300))
    assert found == pytest.approx((low, high), abs=0.03)


@pytest.mark.long
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_it_holds_at_all_times_together(missing: float, rate: float) -> None:
    """In at least 95 % of the races, looked at after every tenth score; `pytest -m long -s` prints it."""
    rng, runs, covered = np.random.default_rng(1), 400, 0
    weights = np.repeat([0.5 / 60, 0.5 / 90], [60, 90])
    for _ in range(runs):
        scores = (rng.random(150) < rate).astype(float)
        scores[rng.random(150) < missing] = np.nan
        order = np.argsort(rng.exponential(size=150) / weights)
        known = ~np.isnan(scores)
        truth = weights[known] @ scores[known] / weights[known].sum()
        ends = [mean_of_these(scores[order][:seen], weights[order]) for seen in range(10, 150, 10)]
        covered += all(low - 1e-9 <= truth <= high + 1e-9 for low, high in ends)
    print(f"{missing} without a score, rate {rate}: {100 * covered / runs:.1f}")
    assert covered >= (0.95 - 3 * np.sqrt(0.05 * 0.95 / runs)) * runs
