"""Which patches of a page picture match a question, by the vectors that late interaction compares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathoms.types import Heatmap

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
