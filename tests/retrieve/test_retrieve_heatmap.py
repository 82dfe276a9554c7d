"""Which patches of a page match a question, worked by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from fathoms.errors import ConfigError
from fathoms.models.embed.patches import Patches, Words
from fathoms.models.page_patches import Located
from fathoms.retrieve.heatmap import heatmap, heatmaps_of
from fathoms.retrieve.multi_vectors import MultiVectors
from fathoms.retrieve.page_search import PageSearch
from fathoms.types import Document, Heatmap


def test_the_best_word_decides_for_each_patch() -> None:
    words = np.array([[1, 0], [0, 1]], dtype=np.float32)
    # the best of two words: .5, .9, .1 and .3; .1 is the least and .9 the most
    patches = np.array([[0.5, 0.2], [0.1, 0.9], [0.1, -1.0], [0.3, 0.3]], dtype=np.float32)
    heat = heatmap(words, patches, columns=2, rows=2)
    assert (heat.columns, heat.rows, heat.values) == (2, 2, (50, 100, 0, 25))


def test_an_even_page_has_no_best_patch() -> None:
    assert heatmap(np.ones((1, 2)), np.ones((3, 2)), columns=3, rows=1).values == (0, 0, 0)


def test_a_heatmap_has_a_value_for_each_patch() -> None:
    with pytest.raises(ValidationError, match="2 x 2 patches has 3 values"):
        Heatmap(columns=2, rows=2, values=(1, 2, 3))


def test_only_patches_and_words_are_compared(tmp_path: Path) -> None:
    """Page 1 has two patches after one vector of a prompt; page 2 has vectors that form no grid."""
    vectors = np.array([[9, 9], [1, 0], [0, 1]], dtype=np.float32)
    query = np.array([[0, 9], [1, 0]], dtype=np.float32)  # the first one is no word
    located = Located([Patches(2, 1, 1), None], [Words(1, 2)])
    pages = PageSearch(
        names=["a.pdf"],
        places=[(0, 1), (0, 2)],
        store=MultiVectors.write(tmp_path / "store", [vectors, vectors]),
        embed=lambda texts: [query],
        picture=lambda *_: None,
        locate=lambda of, texts: Located([located.patches[page - 1] for _, page in of], located.words),
    )
    document = Document(id="a.pdf", path=Path("a.pdf"), sha256="0", pages=())
    [[none, result]] = heatmaps_of(pages, [document], ["how"], [query], [[(0, 2), (0, 1)]])
    assert none is None
    assert result == Heatmap(columns=2, rows=1, values=(100, 0))
    with pytest.raises(ConfigError, match="its vectors form no grid over the page"):
        heatmaps_of(pages, [document], ["how"], [query], [[(0, 2)]])
    [[result, none]] = heatmaps_of(pages, [document], ["how"], [query], [[(0, 1), (0, 3)]])
    assert (result is None, none) == (False, None), "page 3 could not be rendered, and was found by its text"
    assert heatmaps_of(pages, [document], ["how"], [query], [[(0, 3)]]) == [[None]]
