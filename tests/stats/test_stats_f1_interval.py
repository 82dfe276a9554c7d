"""The F1 of pooled counts and its interval: by hand, at the edges, and by simulation."""

from __future__ import annotations

import numpy as np
import pytest

from fathoms.stats.f1_interval import f1_interval, f1_of_counts
from fathoms.stats.intervals import Array


def counts(*rows: tuple[float, float, float, float]) -> Array:
    return np.array(rows, dtype=float)


def test_by_hand() -> None:
    # precision 3/4 and recall 2/5; the mean of the F1 of both questions would be (2/3 + 0) / 2
    assert f1_of_counts(counts((2, 2, 2, 4), (1, 2, 0, 1))) == pytest.approx(2 * 0.75 * 0.4 / 1.15)
    assert f1_of_counts(counts((0, 2, 0, 4))) == 0
    assert f1_of_counts(counts((0, 0, 1, 2))) is None


def test_the_edges() -> None:
    none, every = f1_interval(counts(*[(0, 2, 0, 4)] * 12)), f1_interval(counts(*[(2, 2, 4, 4)] * 12))
    assert (none.low, every.high) == (0, 1)
    assert none.high == pytest.approx(1 - every.low)
    assert 0.1 < none.high < 0.35
    # questions with nothing to count change nothing
    some = counts((2, 2, 2, 4), (1, 2, 0, 1), (0, 3, 2, 2))
    assert f1_interval(np.vstack([some, np.zeros((5, 4))])) == f1_interval(some)


@pytest.mark.slow
@pytest.mark.parametrize(("questions", "widest"), [(10, 0.45), (60, 0.15)])
def test_it_holds_the_truth_where_the_quality_of_questions_differs(questions: int, widest: float) -> None:
    random = np.random.default_rng(7)

    def sampled(n: int) -> Array:
        skill = random.normal(size=n)
        precision, recall = (1 / (1 + np.exp(-(skill + shift))) for shift in (1.0, -0.5))
        items, wanted = random.integers(0, 9, n), random.integers(3, 12, n)
        return np.stack(
            [random.binomial(items, precision), items, random.binomial(wanted, recall), wanted], axis=1
        ).astype(float)

    truth = f1_of_counts(sampled(200_000))
    assert truth is not None
    found = [f1_interval(sampled(questions)) for _ in range(300)]
    assert sum(one.low <= truth <= one.high for one in found) / len(found) > 0.94
    assert float(np.mean([one.high - one.low for one in found])) < widest
