"""Which patches of a page match a question, worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError

from fathoms.retrieve.heatmap import heatmap
from fathoms.types import Heatmap


def test_the_best_word_decides_for_each_patch() -> None:
    words = np.array([[1, 0], [0, 1]], dtype=np.float32)
    # the best of two words: .5, .9, .1 and .3; .1 is the least and .9 the most
    patches = np.array([[0.5, 0.2], [0.1, 0.9], [0.1, -1.0], [0.3, 0.3]], dtype=np.float32)
    made = heatmap(words, patches, columns=2, rows=2)
    assert (made.columns, made.rows, made.values) == (2, 2, (50, 100, 0, 25))


def test_an_even_page_has_no_best_patch() -> None:
    assert heatmap(np.ones((1, 2)), np.ones((3, 2)), columns=3, rows=1).values == (0, 0, 0)


def test_a_heatmap_has_a_value_for_each_patch() -> None:
    with pytest.raises(ValidationError, match="2 x 2 patches has 3 values"):
        Heatmap(columns=2, rows=2, values=(1, 2, 3))
