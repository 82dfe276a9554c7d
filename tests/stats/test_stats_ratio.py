"""Differences of ratios of sums, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fathoms.stats.difference import bounds, pair
from fathoms.stats.paired import sign_flip_p
from fathoms.stats.ratio import linearised, ratio_of

# F1 of abstaining as (2 tp, 2 tp + fp + fn): right abstention, right answer, and either mistake
RIGHT, ANSWERED, WRONG = (2.0, 2.0), (0.0, 0.0), (0.0, 1.0)


def test_a_ratio_by_hand() -> None:
    assert ratio_of([RIGHT, RIGHT, WRONG, ANSWERED]) == 4 / 5
    assert ratio_of([ANSWERED]) is None
    assert ratio_of([]) is None


def test_the_mean_of_the_values_is_the_difference_of_the_ratios() -> None:
    """By hand: 4/5 and 2/4, so the difference is -3/10."""
    first, second = [RIGHT, RIGHT, WRONG, ANSWERED], [RIGHT, WRONG, WRONG, ANSWERED]
    values = linearised(first, second)
    assert values.mean() == pytest.approx(-0.3)
    assert linearised(second, first).mean() == pytest.approx(0.3)
    # R = 6/9, and the mean denominators are 5/4 and 4/4; the second question: (0 - 6/9) - (2 - 2 * 6/9)
    assert values[1] == pytest.approx((-2 / 3 - 2 / 3) * (1 / 1.25 + 1) / 2)
    assert values[[0, 2, 3]] == pytest.approx(0)


def test_one_more_mistake_is_no_evidence() -> None:
    """30 right abstentions of 30 on both sides, and one wrong one: F1 changes by -1/61, and p is 1."""
    first = [RIGHT] * 30 + [ANSWERED] * 70
    values = linearised(first, [*first[:-1], WRONG])
    assert values.mean() == pytest.approx(-1 / 61)
    assert sign_flip_p(values / np.abs(values).max(), np.full(100, 0.01)) == 1


def test_equal_sides_do_not_differ() -> None:
    assert np.all(linearised([RIGHT, WRONG], [RIGHT, WRONG]) == 0)


def test_a_side_without_a_denominator_is_refused() -> None:
    with pytest.raises(ZeroDivisionError):
        linearised([ANSWERED], [RIGHT])


def test_the_values_vary_as_the_bootstrapped_difference_does() -> None:
    """400 questions, seeded: the standard error by linearisation is that of 4,000 resamples within 7 %."""
    rng = np.random.default_rng(3)
    kinds = np.array([RIGHT, WRONG, ANSWERED])
    first, second = (kinds[rng.choice(3, 400, p=p)] for p in ([0.3, 0.2, 0.5], [0.2, 0.3, 0.5]))
    drawn = rng.integers(0, 400, (4000, 400))
    ratios = [side[drawn].sum(axis=1) for side in (first, second)]
    spread = np.std(ratios[1][:, 0] / ratios[1][:, 1] - ratios[0][:, 0] / ratios[0][:, 1])
    assert linearised(first, second).std(ddof=1) / 20 == pytest.approx(spread, rel=0.07)


@pytest.mark.slow
@pytest.mark.parametrize(("recall", "mistaken"), [(0.9, 0.1), (0.99, 0.01)])
def test_the_interval_holds_the_true_difference_and_equal_runs_seldom_differ(
    recall: float, mistaken: float
) -> None:
    """100 questions, 30 % of them unanswerable; both runs abstain on a share of those and of the others,
    alike on half of the questions. The true difference is 0."""
    rng, covered, found, times = np.random.default_rng(0), 0, 0, 1000
    kinds = np.array([RIGHT, WRONG, ANSWERED])
    for _ in range(times):
        unanswerable, one, other = rng.random(100) < 0.3, rng.random(100), rng.random(100)
        sides = []
        for luck in (one, np.where(rng.random(100) < 0.5, one, other)):
            abstained = luck < np.where(unanswerable, recall, mistaken)
            sides.append(
                kinds[np.where(unanswerable & abstained, 0, np.where(unanswerable | abstained, 1, 2))]
            )
        values = linearised(*sides)
        scale, weights = np.abs(values).max() or 1.0, np.full(100, 0.01)
        low, high = bounds(pair(values / scale, weights), 1.959964)
        covered += bool(low <= 0 <= high)
        found += sign_flip_p(values / scale, weights, resamples=999) < 0.05
    assert covered / times >= 0.94
    assert found / times <= 0.07
