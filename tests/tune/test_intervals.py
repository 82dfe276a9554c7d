"""Intervals of a race: exact at the end, and covering the truth whenever the race ends."""

from __future__ import annotations

import numpy as np
import pytest

from fathoms.stats.betting import mean_of_these
from fathoms.tune.order import draw_order
from fathoms.tune.race import Race
from fathoms.tune.result import difference_on_new, on_new, questions_to_settle


def test_nothing_is_known_before_the_first_question() -> None:
    order = draw_order(["a"] * 5, np.random.default_rng(0))
    assert mean_of_these(np.array([]), order.weights) == (0.0, 1.0)
    assert on_new(np.array([]), order.strata[:0], 1) == (0.0, 1.0)


def test_after_the_last_question_the_figure_is_known() -> None:
    order = draw_order(["a", "a", "b"], np.random.default_rng(0))
    scores = np.array([1.0, 0.0, 1.0])
    expected = float(order.weights @ scores)
    assert mean_of_these(scores, order.weights) == (expected, expected)


def test_a_category_without_answers_may_have_any_mean() -> None:
    low, high = on_new(np.ones(400), np.zeros(400, dtype=np.int64), 2)
    assert low < 0.5
    assert high == pytest.approx(1.0)
    assert difference_on_new(np.zeros(400), np.zeros(400, dtype=np.int64), 2)[0] < -0.49


def test_more_questions_settle_a_smaller_difference() -> None:
    rng = np.random.default_rng(0)
    strata = np.zeros(60, dtype=np.int64)
    large, small = rng.normal(0.2, 0.3, 60), rng.normal(0.2, 0.3, 60) * 0.1 + 0.005
    noisy = rng.normal(0.05, 0.3, 60)
    first, second = questions_to_settle(large, strata), questions_to_settle(noisy, strata)
    assert first is not None
    assert second is not None
    assert first < second
    assert questions_to_settle(small * 0, strata) is None


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.03, 0.5])
def test_both_intervals_cover_the_truth_at_the_end_of_a_race(rate: float) -> None:
    rng, missed_these, missed_new, number = np.random.default_rng(3), 0, 0, 0
    categories = ["a"] * 60 + ["b"] * 25 + ["c"] * 8
    for _ in range(40):
        scores = (rng.random((4, 93)) < rate).astype(float)
        order = draw_order(categories, rng)
        race = Race(order, 4)
        while not race.is_over:
            race.add(scores[:, order.positions[race.done]])
        for candidate in range(4):
            wanted = race.dropped_at[candidate] or race.done
            row = scores[candidate, order.positions]
            low, high = mean_of_these(row[:wanted], order.weights)
            missed_these += not low - 1e-9 <= float(order.weights @ row) <= high + 1e-9
            low, high = on_new(row[:wanted], order.strata[:wanted], 3)
            missed_new += not low <= rate <= high
            number += 1
    assert missed_these <= 0.08 * number
    assert missed_new <= 0.08 * number
