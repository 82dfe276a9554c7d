"""What retrieval by page images needs of a corpus, and the pages as vectors of their pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fathoms.models import PageEmbedder
from fathoms.models.page_patches import Located
from fathoms.retrieve.lance_multi_vectors import LanceMultiVectors
from fathoms.retrieve.multi_vectors import MultiVectors
from fathoms.retrieve.page_stores import MappedStore, PageStore
from fathoms.retrieve.vector_formats import Format
from fathoms.types import CutOut, Document

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

RENDERER = ("pypdfium2", "pillow")
"""The distributions that make pictures of pages."""


@dataclass(frozen=True)
class Keeping:
    """How the vectors of pages are stored, and whether the mean vector of each page is stored too. The fields
    are documented in `fathoms.retrieve.visual.Visual`."""

    precision: Format = "float32"
    pooling: float = 1.0
    store: PageStore = field(default_factory=MappedStore)
    means: bool = False

    @property
    def key(self) -> tuple[str | float, ...]:
        """What the stored vectors depend on; empty where they are stored as the model gave them."""
        pooled = (self.pooling,) if self.pooling != 1 else ()
        variant = (self.store.variant,) if self.store.variant else ()
        found = (*variant, *pooled)
        return (self.precision, *found) if found or self.precision != "float32" else ()


@dataclass(frozen=True)
class PageHandling:
    """How the pages of a corpus are embedded, and whether those that are found are shown to the model that
    answers. The fields are documented in `fathoms.retrieve.visual.Visual`."""

    embed: PageEmbedder
    dpi: int
    shown: bool
    units: Literal["pages", "figures", "both"] = "pages"
    keeping: Keeping = Keeping()


@dataclass(frozen=True)
class PageSearch:
    """Pages that are ready to be searched by their pictures.

    `names` are the ids of all documents, in the order of `Index.documents`. `places` are the pages in the
    order of the rows: the position of the document in that order, and the page number. `store` holds the
    vectors of each page, or is a float32 array with one unit vector a row, or `None` where there is no page.
    `means` is the mean vector of each page (pages, width), if it was asked for.
    `embed` maps texts of questions to matrices (vectors, width) in the same space. `picture` returns the
    picture of a page that is shown to the model, `None` where it is shown none; it raises DocumentError.
    `locate` says of pages which vectors stand for which patches, and of texts of questions which ones stand
    for words; `None` where pages have one vector. `cut_outs` are, in the order of the rows, the figures and
    tables that rows stand for, and `None` for whole pages; it is `None` where all rows are pages. `cut`
    returns the picture of one as `picture` does that of a page. `exact` returns the rows of the `k` best
    pages for texts of questions by all vectors in float32, whatever the store keeps; `None` where they are
    not known.
    """

    names: Sequence[str]
    places: Sequence[tuple[int, int]]
    store: MultiVectors | LanceMultiVectors | Vectors | None
    embed: Callable[[Sequence[str]], list[Vectors]]
    picture: Callable[[Document, int], Path | None]
    locate: Callable[[Sequence[tuple[Document, int]], Sequence[str]], Located] | None = None
    cut_outs: Sequence[CutOut | None] | None = None
    cut: Callable[[Document, CutOut], Path | None] | None = None
    means: Vectors | None = None
    exact: Callable[[Sequence[str], int], list[list[int]] | None] | None = None

    @property
    def without_cut_outs(self) -> list[str]:
        """The ids of the searched documents without a figure or table that is searched."""
        if self.cut_outs is None:
            return []
        places = zip(self.places, self.cut_outs, strict=True)
        have = {position for (position, _), cut_out in places if cut_out is not None}
        return [name for at, name in enumerate(self.names) if at not in have]

    @property
    def nbytes(self) -> int:
        """The bytes of all vectors, and of the means."""
        parts = (self.store, self.means)
        return sum(int(part.nbytes) for part in parts if part is not None)
