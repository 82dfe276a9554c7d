"""Which patches of a page picture match a question, by the vectors that late interaction compares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fathoms.errors import ConfigError
from fathoms.models.embed.patches import Patches, Words
from fathoms.retrieve.multi_vectors import MultiVectors
from fathoms.retrieve.page_search import PageSearch
from fathoms.types import MOST_PATCHES, Document, Heatmap

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]


def heatmap(words: Floats, patches: Floats, columns: int, rows: int) -> Heatmap:
    """Return how well each patch of a page matches a question.

    `words` are the vectors of the question's words (n, width), and `patches` those of the page (rows x
    columns, width), row by row. The value of a patch is its largest inner product with a word, which is what
    MaxSim compares patches by, scaled linearly over the page from 0 to 100 (to 0 everywhere if all are
    equal). It is the map of `maxsim_heatmap(..., aggregate="amax")` of sentence-transformers; the ColPali
    paper (Faysse et al. 2024) draws one map for each word.
    """
    import numpy as np

    best = (words @ patches.T).max(axis=0)
    least, most = float(best.min()), float(best.max())
    scaled = np.rint(100 * (best - least) / ((most - least) or 1.0)).astype(int)
    return Heatmap(columns=columns, rows=rows, values=tuple(scaled.tolist()))


def heatmaps_of(
    pages: PageSearch,
    documents: Sequence[Document],
    texts: Sequence[str],
    queries: Sequence[Floats],
    found: Sequence[Sequence[tuple[int, int]]],
) -> list[list[Heatmap | None]]:
    """Return a heatmap of each page that was found for each text of a question, whose vectors are `queries`.

    A page is the position of its document and its number. The heatmap is made of the vectors as they are
    stored. It is `None` for a page with more than 4096 patches, for a page without vectors, and for a text
    without words. Raises ConfigError if the patches of this model form no grid, and DocumentError if a page
    must be rendered again and cannot be.
    """
    # a page that PDFium cannot render has no vectors, but another retriever can find it by its text
    embedded = set(pages.places)
    wanted = list(dict.fromkeys(place for row in found for place in row if place in embedded))
    if not wanted or pages.locate is None or not isinstance(pages.store, MultiVectors):
        return [[None] * len(row) for row in found]
    located = pages.locate([(documents[position], page) for position, page in wanted], texts)
    if not any(located.patches):
        raise ConfigError(
            "retrieve.heatmap: this model looks at a page in parts, so its vectors form no grid over the"
            " page: leave out 'heatmap'"
        )
    patches = dict(zip(wanted, located.patches, strict=True))
    rows = {place: at for at, place in enumerate(pages.places) if place in patches}
    return [
        [
            _of_page(pages.store, rows[place], patches[place], query, words) if place in rows else None
            for place in row
        ]
        for row, query, words in zip(found, queries, located.words, strict=True)
    ]


def _of_page(
    store: MultiVectors, row: int, patches: Patches | None, query: Floats, words: Words
) -> Heatmap | None:
    """Return the heatmap of one page and one question; `None` where there is none."""
    word_vectors = query[words.first : words.end]
    if patches is None or not len(word_vectors):
        return None
    count = patches.columns * patches.rows
    page = store.page(row)[patches.first : patches.first + count]
    if len(page) != count or count > MOST_PATCHES:
        return None
    return heatmap(word_vectors, page, patches.columns, patches.rows)
