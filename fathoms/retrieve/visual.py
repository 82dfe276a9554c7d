"""Retrieval by page images: the pages whose pictures are most like the question to a model that sees both."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from fathoms.config import package_version
from fathoms.errors import ConfigError, ModelError
from fathoms.models import PageEmbedder
from fathoms.retrieve.base import Index, Needs, TextQuery, hits
from fathoms.retrieve.max_sim import max_sim
from fathoms.retrieve.multi_vectors import MultiVectors
from fathoms.retrieve.numpy_store import NumpyStore
from fathoms.retrieve.page_search import RENDERER, PageHandling, PageSearch
from fathoms.safety.option_limits import MOST_CHUNKS
from fathoms.types import Chunk, Hit, Question

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

_QUESTIONS = 64
"""Questions that are compared with all pages at once; their scores take 2.5 MB for 10,000 pages."""
Found = list[tuple[int, float]]
"""Rows of an index with their scores, best first."""

Ranked = Sequence[tuple[tuple[int, int], float]]
"""Pages with their scores, best first: each the position of its document and its number."""


class Visual(TextQuery):
    """`kind: visual`: the pages whose pictures have the highest score for the question.

    The score is MaxSim for `embed: {kind: multi-vector}` (Faysse et al., ColPali, 2024), and the cosine
    similarity for `embed: {kind: image-text}`. Search is exact, and pages with equal scores keep their order.
    The text of a page plays no part in it, so pages that were scanned or hold only figures are found too.
    """

    neutral: ClassVar[frozenset[str]] = frozenset({"embed"})

    kind: Literal["visual"] = "visual"
    embed: PageEmbedder
    """The model that embeds pictures of pages and texts of questions."""
    top_k: int = Field(default=3, ge=1, le=MOST_CHUNKS)
    """Number of pages per question."""
    dpi: int = Field(default=150, ge=20, le=600)
    """Resolution of the pictures in dots per inch, both for the embedding model and for the model that
    answers."""
    show: Literal["images", "text"] = "images"
    """What the model that answers gets of each page: its picture and, where the prompt template has `{text}`,
    its text; or its text alone."""

    @property
    def needs(self) -> Needs:
        """Always `documents`: parsing counts the pages and reads their text."""
        return "documents"

    @property
    def pages(self) -> PageHandling:
        """How the pages are embedded and shown."""
        return PageHandling(self.embed, self.dpi, self.show == "images")

    def identity(self) -> dict[str, Any]:
        """Extend the identity by that of the embedding model and by the versions of the renderer."""
        renderer = {name: package_version(name) for name in RENDERER}
        return {**super().identity(), "embed": self.embed.identity(), "renderer": renderer}

    def check(self) -> None:
        """Check that the package and the folder of the model are there. The model is loaded when the first
        page or question is embedded that the cache does not hold, which is before the first question is
        asked."""
        self.embed.check_presence()

    def index_bytes(self, index: Index) -> int | None:
        """Return the bytes of the vectors of all pages."""
        return None if index.pages is None else index.pages.nbytes

    def search(self, index: Index, questions: Sequence[Question]) -> list[tuple[Hit, ...]]:
        """Return the `top_k` best pages of each question, or all pages if the index has fewer.

        Raises ModelError if the vectors of questions and pages differ in length.
        """
        return [self.hits_of(index, row) for row in self.ranked(index, questions)]

    def ranked(self, index: Index, questions: Sequence[Question]) -> list[Ranked]:
        """Return the `top_k` best pages of each question with their scores, without their texts and
        pictures."""
        pages = _pages_of(index)
        rows = best_pages(pages, self.queries(questions), self.top_k)
        return [[(pages.places[at], score) for at, score in row] for row in rows]

    def hits_of(self, index: Index, ranked: Ranked) -> tuple[Hit, ...]:
        """Make hits of pages, best first."""
        return hits([(self._chunk(index, *place), score) for place, score in ranked])

    def _chunk(self, index: Index, position: int, number: int) -> Chunk:
        """The chunk of a page, given by the position of its document and its number: with its text, and its
        picture if the model is shown it."""
        document = index.documents[position]
        text = next((page.text for page in document.pages if page.number == number), "")
        picture = _pages_of(index).picture(document, number)
        modality: Literal["image", "text"] = "image" if self.show == "images" else "text"
        return Chunk(
            id=f"{document.id}#p{number}",
            document=document.id,
            pages=(number,),
            modality=modality,
            text=text,
            image=picture,
        )


def best_pages(pages: PageSearch, texts: Sequence[str], top_k: int) -> list[Found]:
    """Return the `top_k` rows with the highest scores for each text, or all rows if there are fewer; rows
    with equal scores keep their order.

    The score is MaxSim for a store of many vectors a page, else the inner product. Raises ModelError if the
    vectors of questions and pages differ in length.
    """
    import numpy as np

    if pages.store is None or not texts:
        return [[] for _ in texts]
    queries = pages.embed(texts)
    k = min(top_k, len(pages.places))
    if not isinstance(pages.store, MultiVectors):
        single = np.concatenate(queries)
        if single.shape[1] != pages.store.shape[1]:
            raise ModelError(
                f"embed: questions have vectors of {single.shape[1]} numbers, the stored pages of"
                f" {pages.store.shape[1]}: the embedding model has changed; run again with --refresh"
            )
        return NumpyStore().search(Path(), pages.store, single, k)
    found: list[Found] = []
    for first in range(0, len(queries), _QUESTIONS):
        scores = max_sim(queries[first : first + _QUESTIONS], pages.store)
        found += [_best(row, k) for row in scores]
    return found


def _best(scores: Vectors, k: int) -> Found:
    """Return the `k` highest of these scores with their positions, best first; equal scores keep their
    order."""
    import numpy as np

    order = np.argsort(-scores, kind="stable")[:k]
    return [(int(at), float(scores[at])) for at in order]


def _pages_of(index: Index) -> PageSearch:
    """Return the embedded pages of an index; raises ConfigError if it has none."""
    if index.pages is None:
        raise ConfigError("retrieve: kind 'visual' cannot be used here: the pages were not embedded for it")
    return index.pages
