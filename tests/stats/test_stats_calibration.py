"""The calibration error of probabilities, by hand."""

from __future__ import annotations

import pytest

from fathoms.stats.calibration import calibration

P = [0.05, 0.15, 0.15, 0.65, 0.65, 0.95, 0.95, 0.95, None]
TRUE = [False, False, True, True, False, True, True, True, True]


def test_the_error_by_hand() -> None:
    """Ten bins of equal width, four of which hold a probability: 1 of [0, 0.1) with mean .05 and share 0, 2
    of [0.1, 0.2) with .15 and .5, 2 of [0.6, 0.7) with .65 and .5, 3 of [0.9, 1] with .95 and 1. ECE =
    (1 x .05 + 2 x .35 + 2 x .15 + 3 x .05) / 8 = 1.2 / 8 = .15."""
    found = calibration(P, TRUE)
    assert found is not None
    assert found.ece == pytest.approx(0.15)
    assert (found.n, found.unknown) == (8, 1)
    assert [(one.low, one.n, round(one.mean, 9), one.share) for one in found.bins] == [
        (0.0, 1, 0.05, 0.0),
        (0.1, 2, 0.15, 0.5),
        (0.6, 2, 0.65, 0.5),
        (0.9, 3, 0.95, 1.0),
    ]
    assert [one.interval[0] <= one.share <= one.interval[1] for one in found.bins] == [True] * 4


def test_two_bins_by_hand() -> None:
    """[0, .5): mean .35 / 3, share 1/3; [.5, 1]: mean 4.15 / 5, share 4/5. ECE = (.65 + .15) / 8 = .1."""
    found = calibration(P, TRUE, bins=2)
    assert found is not None
    assert found.ece == pytest.approx(0.1)
    assert [one.n for one in found.bins] == [3, 5]


def test_edges_and_nothing_known() -> None:
    """An edge belongs to the bin that it begins, and 1 to the last one."""
    found = calibration([0.1 + 0.2, 0.7, 1.0, 0.0], [True] * 4)
    assert found is not None
    assert [round(one.low, 1) for one in found.bins] == [0.0, 0.3, 0.7, 0.9]
    assert calibration([None], [True]) is None
    assert calibration([], []) is None


def test_right_probabilities_have_an_error_by_chance() -> None:
    """One probability of .5 is off by .5 however it ends; of two, half the draws are off by .5 and half by
    nothing."""
    one, two = calibration([0.5], [True]), calibration([0.5, 0.5], [True, False])
    assert one is not None
    assert two is not None
    assert (one.ece, one.by_chance) == (0.5, 0.5)
    assert (two.ece, two.by_chance) == (0.0, pytest.approx(0.25, abs=0.03))
