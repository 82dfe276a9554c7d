"""Differences of independent groups, against published examples."""

from __future__ import annotations

import pytest

from fathoms.stats.unpaired import difference_of_means


def wilson(successes: int, n: int) -> dict[str, float]:
    """A share with Wilson's 95 % interval, by its formula."""
    z, p = 1.959964, successes / n
    centre, half = p + z * z / (2 * n), z * ((p * (1 - p) + z * z / (4 * n)) / n) ** 0.5
    return {"value": p, "low": (centre - half) / (1 + z * z / n), "high": (centre + half) / (1 + z * z / n)}


@pytest.mark.parametrize(
    ("first", "second", "interval"),
    [
        ((56, 70), (48, 80), (0.0524, 0.3339)),  # Newcombe 1998, table II, method 10, examples a, b and e
        ((9, 10), (3, 10), (0.1705, 0.8090)),
        ((5, 56), (0, 29), (-0.0381, 0.1926)),
    ],
)
def test_of_two_proportions_it_is_newcombes(
    first: tuple[int, int], second: tuple[int, int], interval: tuple[float, float]
) -> None:
    found = difference_of_means(wilson(*second), wilson(*first))
    assert found is not None
    assert (found["low"], found["high"]) == pytest.approx(interval, abs=5e-5)
    assert found["value"] == pytest.approx(first[0] / first[1] - second[0] / second[1])


def test_a_mean_without_an_interval_has_no_difference() -> None:
    assert difference_of_means(wilson(1, 2), {"value": 1.0, "low": None, "high": None}) is None
