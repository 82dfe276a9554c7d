"""Token pooling and recall of approximations equal hand-worked cases."""

from __future__ import annotations

import numpy as np
import pytest

from fathoms.errors import UsageError
from fathoms.retrieve.approximation import recall
from fathoms.retrieve.token_pooling import pool_tokens


def test_what_is_alike_is_merged() -> None:
    vectors = np.array([[1, 0], [0, 1], [0.8, 0.6], [0, 1]], dtype=np.float32)
    found = pool_tokens(vectors, 2)
    # (1, 0) and (0.8, 0.6) have the mean (0.9, 0.3), of length 0.9 ** 0.5 before it is normalised
    expected = [[0, 1], [0.9 / 0.9**0.5, 0.3 / 0.9**0.5]]
    np.testing.assert_allclose(found[np.argsort(found[:, 0])], expected, atol=1e-6)


def test_a_factor_below_one_is_refused() -> None:
    for factor in (0.5, 0, -2, float("nan")):
        with pytest.raises(UsageError, match="must be 1 or more"):
            pool_tokens(np.eye(3, dtype=np.float32), factor)


def test_recall_of_an_approximation() -> None:
    exact = [[1, 2, 3], [4, 5, 6]]
    assert recall([[2, 1, 9], [4, 8, 7]], exact, 3) == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert recall([[2, 1, 9], [4, 8, 7]], exact, 1) == 0.5
    assert recall([[1, 2, 9], [7, 8, 4]], exact, 2) == 0.5  # what is found after rank k does not count
    assert recall([[1], []], [[1], [2]], 10) == 0.5
    for found, known, k in (([], [], 1), ([[1]], [[1], [2]], 1), ([[1]], [[]], 1), ([[1]], [[1]], 0)):
        with pytest.raises(UsageError, match="cannot be computed"):
            recall(found, known, k)
