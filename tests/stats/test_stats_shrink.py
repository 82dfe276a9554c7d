"""Empirical Bayes estimates, against the batting averages of Efron & Morris and an example by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fathoms.stats.shrink import _between, shrunk

# hits of 18 players in their first 45 times at bat of 1970, from Clemente down to Alvis
HITS = np.array([18, 17, 16, 15, 14, 14, 13, 12, 11, 11, 10, 10, 10, 10, 10, 9, 8, 7])


def test_the_batting_averages_of_1970_are_shrunk_as_published() -> None:
    means = HITS / 45
    estimates = shrunk(means, np.full(18, means.mean() * (1 - means.mean()) / 45))
    # Efron & Morris 1977 (Scientific American): the mean is .265, the factor .212, Clemente .294, Munson .247
    assert means.mean() == pytest.approx(0.265, abs=5e-4)
    assert (estimates[0] - means.mean()) / (means[0] - means.mean()) == pytest.approx(0.212, abs=5e-4)
    assert estimates[[0, 16]] == pytest.approx([0.294, 0.247], abs=1.5e-3)


def test_unequal_variances_pull_the_less_known_mean_more() -> None:
    # by hand: with between = 1 the weights are 1/2, 1/2, 1/4, 1/4, the center 0, and the squares sum up to 3
    means, variances = np.array([-1.0, 1.0, -2.0, 2.0]), np.array([1.0, 1.0, 3.0, 3.0])
    assert _between(means, variances) == pytest.approx(1)
    assert shrunk(means, variances) == pytest.approx([-5 / 6, 5 / 6, -1.5, 1.5])


def test_means_that_differ_by_chance_alone_are_pulled_by_the_most_there_is() -> None:
    # (k - 3) / (k - 1) is 1/2 with five means
    means = np.array([0.5, 0.51, 0.49, 0.5, 0.5])
    assert shrunk(means, np.full(5, 0.04)) == pytest.approx((means + 0.5) / 2)


def test_nothing_is_known_better_without_chance_or_with_three_means() -> None:
    means = np.array([1.0, 1.0, 1.0, 1.0])
    assert shrunk(means, np.zeros(4)) == pytest.approx(means)
    with pytest.raises(ValueError, match="at least 4"):
        shrunk(means[:3], np.zeros(3))
