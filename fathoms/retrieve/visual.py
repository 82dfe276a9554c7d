"""Retrieval by page images: the pages whose pictures are most like the question to a model that sees both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, model_validator

from fathoms.component import package_version
from fathoms.errors import ConfigError, ModelError
from fathoms.models import MultiVectorEmbedder, PageEmbedder
from fathoms.retrieve.approximation import recall, sample
from fathoms.retrieve.heatmap import heatmaps_of
from fathoms.retrieve.lance_multi_vectors import LanceMultiVectors
from fathoms.retrieve.multi_vectors import MultiVectors
from fathoms.retrieve.numpy_store import NumpyStore
from fathoms.retrieve.page_search import RENDERER, Keeping, PageHandling, PageSearch
from fathoms.retrieve.page_stores import Found, LanceStore, MappedStore, PageStore
from fathoms.retrieve.retriever import Index, Needs, TextQuery, hits
from fathoms.retrieve.two_stages import search_in_two_stages
from fathoms.retrieve.vector_formats import Format
from fathoms.safety.option_limits import MOST_CHUNKS
from fathoms.types import Chunk, Hit, PageBox, Question

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

_OPTIONS = ("precision", "pooling", "candidates", "store")
"""The options for pages with many vectors."""
_HEATMAPS = 10
"""The first pages of a question get a heatmap at most; a run that only searches keeps many more pages."""
_LAST_QUESTIONS = "texts and vectors of the last questions"
"""The key in `Index.built` under which a search keeps them for the heatmaps, because a run that only searches
embeds questions again each time."""
Ranked = Sequence[tuple[tuple[int, int], float]]
"""Pages with their scores, best first: each the position of its document and its number."""


class Visual(TextQuery):
    """`kind: visual`: the pages whose pictures have the highest score for the question.

    The score is MaxSim for `embed: {kind: multi-vector}` (Faysse et al., ColPali, 2024), and the cosine
    similarity for `embed: {kind: image-text}`. Search is exact, and pages with equal scores keep their order.
    The text of a page plays no part in it, so pages that were scanned or hold only figures are found too.

    For pages with many vectors, `precision`, `pooling`, `candidates` and an index of `store` make the search
    faster or its index smaller. It then misses some of the best pages; how many is measured once and stated
    by `ingest` and by the run.
    """

    neutral: ClassVar[frozenset[str]] = frozenset({"embed", "heatmap", "store"})

    usable_in: ClassVar[frozenset[str]] = frozenset({"hybrid", "describe", "distractors", "each-document"})

    kind: Literal["visual"] = "visual"
    embed: PageEmbedder
    """The model that embeds pictures of pages and texts of questions."""
    top_k: int = Field(default=3, ge=1, le=MOST_CHUNKS)
    """Number of pages, or of figures and tables, per question."""
    units: Literal["pages", "figures", "both"] = "pages"
    """What is embedded and found: whole pages, the figures and tables on them (cut out of the pictures of the
    pages by their boxes, which `ingest: {kind: docling}` finds), or both."""
    dpi: int = Field(default=150, ge=20, le=600)
    """Resolution of the pictures in dots per inch, both for the embedding model and for the model that
    answers."""
    show: Literal["images", "text"] = "images"
    """What the model that answers gets of each page: its picture and, where the prompt template has `{text}`,
    its text; or its text alone."""
    heatmap: bool = False
    """Whether the run keeps of the first ten pages of each question how well their patches match it, which a
    report with `--thumbnails` draws over the pictures. It needs `embed: {kind: multi-vector}`, and takes
    about 2 kB a page."""
    precision: Format = "float32"
    """How the numbers of a page's vectors are stored: as they are, in half of the bytes (`float16`), in a
    quarter (`int8`, with one factor a vector), or only their signs (`binary`, a thirty-second)."""
    pooling: float = Field(default=1, ge=1, le=1000)
    """Token pooling (Clavié et al. 2024): how many vectors of a page are merged into one on average, those
    that are most alike; 1 for none. Search takes less time by this factor, and so does the index."""
    candidates: int | None = Field(default=None, ge=1, le=MOST_CHUNKS)
    """Number of pages whose vectors are compared: those whose mean vector is most like that of the question;
    all pages if not given."""
    store: PageStore = MappedStore()
    """Where the vectors are kept: `mapped`, a file that is mapped into memory and compared whole, or
    `lancedb`, a table of LanceDB, which can have an index."""

    @model_validator(mode="after")
    def _check_combination(self) -> Visual:
        for problem in self._problems():
            raise ValueError(problem)
        return self

    def _problems(self) -> Iterator[str]:
        """Yield what is wrong with the options together."""
        is_table = isinstance(self.store, LanceStore)
        set_here = [name for name in _OPTIONS if name in self.settings]
        if set_here and not self.embed.many:
            yield (
                f"{set_here[0]}: kind '{self.embed.kind}' gives one vector a page, and this is for pages with"
                f" many: leave out '{set_here[0]}', or use embed: {{kind: multi-vector}}"
            )
        if self.heatmap and not isinstance(self.embed, MultiVectorEmbedder):
            yield (
                f"heatmap: it is not known which patches of a page the vectors of kind '{self.embed.kind}'"
                " stand for: leave out 'heatmap', or use embed: {kind: multi-vector}"
            )
        if self.heatmap and self.units != "pages":
            yield "heatmap: it is drawn over whole pages: leave out 'heatmap', or set units: pages"
        if self.heatmap and (is_table or self.pooling != 1):
            other = "store" if is_table else "pooling"
            yield (
                f"heatmap: with '{other}', the vectors of the patches of a page are not kept one by one:"
                " leave out one of the two"
            )
        if is_table and (self.precision != "float32" or self.candidates is not None):
            other = "candidates" if self.candidates is not None else "precision"
            yield f"{other}: it is for store: {{kind: mapped}}; a table of LanceDB has an 'index' of its own"
        if self.candidates is not None and self.candidates < self.top_k:
            yield (
                f"candidates: {self.candidates} are fewer than the {self.top_k} pages that are wanted"
                " ('top_k'): raise it"
            )

    @property
    def settings(self) -> dict[str, Any]:
        """The options that differ from a search of all vectors in float32, as the manifest states them."""
        found: dict[str, Any] = {}
        if self.precision != "float32":
            found["precision"] = self.precision
        if self.pooling != 1:
            found["pooling"] = self.pooling
        if self.candidates is not None:
            found["candidates"] = self.candidates
        if isinstance(self.store, LanceStore):
            found["store"] = self.store.model_dump(exclude_none=True)
        return found

    @property
    def needs(self) -> Needs:
        """Always `documents`: parsing counts the pages and reads their text."""
        return "documents"

    @property
    def pages(self) -> PageHandling:
        """How the pages are embedded and shown."""
        keeping = Keeping(self.precision, self.pooling, self.store, self.candidates is not None)
        return PageHandling(self.embed, self.dpi, self.show == "images", self.units, keeping)

    def identity(self) -> dict[str, Any]:
        """Extend the identity by that of the embedding model and by the versions of the renderer."""
        renderer = {name: package_version(name) for name in RENDERER}
        own = {"embed": self.embed.identity(), "renderer": renderer, "store": self.store.identity()}
        return {**super().identity(), **own}

    def check(self) -> None:
        """Check that the package and the folder of the model are there. The model is loaded when the first
        page or question is embedded that the cache does not hold, which is before the first question is
        asked."""
        self.embed.check_presence()
        self.store.check()

    def index_bytes(self, index: Index) -> int | None:
        """Return the bytes of the vectors of all pages."""
        return None if index.pages is None else index.pages.nbytes

    def search(self, index: Index, questions: Sequence[Question]) -> list[tuple[Hit, ...]]:
        """Return the `top_k` best pages of each question, or all pages if the index has fewer; with `units`,
        also figures and tables, which are chunks of their pages with a box.

        Raises ModelError if the vectors of questions and pages differ in length.
        """
        rows = self._best_rows(index, questions)
        if self.units != "pages":
            return [hits([(self._unit(index, at), score) for at, score in row]) for row in rows]
        ranked = self._places_of(index, rows)
        found = [self.hits_of(index, row) for row in ranked]
        return self.with_heatmaps(index, questions, ranked, found)

    def ranked(self, index: Index, questions: Sequence[Question]) -> list[Ranked]:
        """Return the `top_k` best pages of each question with their scores, without their texts and
        pictures. With `units`, figures and tables stand for their pages, which can then occur again."""
        return self._places_of(index, self._best_rows(index, questions))

    def _places_of(self, index: Index, rows: Sequence[Found]) -> list[Ranked]:
        """Return the pages of rows of the index."""
        return [[(_pages_of(index).places[at], score) for at, score in row] for row in rows]

    def _best_rows(self, index: Index, questions: Sequence[Question]) -> list[Found]:
        """Return the `top_k` best rows of the index for each question with their scores."""
        pages, texts = _pages_of(index), self.queries(questions)
        if pages.store is None or not texts:
            return [[] for _ in texts]
        queries = pages.embed(texts)
        index.built[_LAST_QUESTIONS] = texts, queries
        return self._best(pages, queries)

    def _best(self, pages: PageSearch, queries: Sequence[Vectors]) -> list[Found]:
        """Return the rows of the best pages of each question with their scores, best first."""
        store = pages.store
        if isinstance(store, MultiVectors):
            if pages.means is not None and self.candidates is not None:
                return search_in_two_stages(queries, store, pages.means, self.candidates, self.top_k)
            return MappedStore().search(store, queries, self.top_k)
        if isinstance(store, LanceMultiVectors):
            table = self.store if isinstance(self.store, LanceStore) else LanceStore()
            return table.search(store, queries, self.top_k)
        return [[] for _ in queries] if store is None else best_by_one_vector(store, queries, self.top_k)

    def assess(self, index: Index, questions: Sequence[Question]) -> None:
        """Note in the index what this search loses against that of all vectors in float32, if it may lose
        anything: the share of the `top_k` best pages that are found, over some of the questions."""
        settings, pages = self.settings, _pages_of(index)
        if isinstance(self.store, LanceStore) and not self.store.approximate and "pooling" not in settings:
            return
        if not settings or pages.store is None or pages.exact is None or not questions:
            return
        some = sample(questions)
        texts = self.queries(some)
        if (best := pages.exact(texts, self.top_k)) is None:
            return
        found = [[at for at, _ in row] for row in self._best(pages, pages.embed(texts))]
        index.notes["approximation"] = {
            "options": settings,
            "k": self.top_k,
            "recall": recall(found, best, self.top_k),
            "questions": len(some),
            "pages": len(pages.places),
        }

    def hits_of(self, index: Index, ranked: Ranked) -> tuple[Hit, ...]:
        """Make hits of pages, best first."""
        return hits([(self._chunk(index, *place), score) for place, score in ranked])

    def with_heatmaps(
        self,
        index: Index,
        questions: Sequence[Question],
        ranked: Sequence[Ranked],
        found: Sequence[tuple[Hit, ...]],
    ) -> list[tuple[Hit, ...]]:
        """Add a heatmap to the first hits of each question, which `hits_of` made of the ranked pages; without
        `heatmap`, return them as they are. Raises ConfigError and DocumentError as `heatmaps_of` does."""
        if not self.heatmap:
            return list(found)
        first = [[place for place, _ in row[:_HEATMAPS]] for row in ranked]
        pages, texts = _pages_of(index), self.queries(questions)
        last_texts, queries = index.built.pop(_LAST_QUESTIONS, (None, []))
        if last_texts != texts:
            queries = pages.embed(texts)
        heatmaps = heatmaps_of(pages, index.documents, texts, queries, first)
        return [
            tuple(hit.model_copy(update={"heatmap": one}) for hit, one in zip_longest(row, maps))
            for row, maps in zip(found, heatmaps, strict=True)
        ]

    def _unit(self, index: Index, row: int) -> Chunk:
        """The chunk of a row of the index: of a page, or of a figure or table, with its box and its picture
        if the model is shown it."""
        pages = _pages_of(index)
        position, number = pages.places[row]
        cut_out = None if pages.cut_outs is None else pages.cut_outs[row]
        if cut_out is None or pages.cut is None:
            return self._chunk(index, position, number)
        document = index.documents[position]
        return Chunk(
            id=f"{document.id}#{cut_out.name}",
            document=document.id,
            pages=(number,),
            boxes=(PageBox(page=number, bbox=cut_out.bbox),),
            modality="image" if self.show == "images" else "text",
            text=cut_out.text,
            image=pages.cut(document, cut_out),
        )

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


def best_by_one_vector(vectors: Vectors, queries: Sequence[Vectors], top_k: int) -> list[Found]:
    """Return the `top_k` rows with the highest inner product for each question, whose matrix has one vector,
    or all rows if there are fewer; rows with equal scores keep their order.

    Raises ModelError if the vectors of questions and pages differ in length.
    """
    import numpy as np

    single = np.concatenate(queries)
    if single.shape[1] != vectors.shape[1]:
        raise ModelError(
            f"embed: questions have vectors of {single.shape[1]} numbers, the stored pages of"
            f" {vectors.shape[1]}: the embedding model has changed; run again with --refresh"
        )
    return NumpyStore().search(Path(), vectors, single, min(top_k, len(vectors)))


def _pages_of(index: Index) -> PageSearch:
    """Return the embedded pages of an index; raises ConfigError if it has none."""
    if index.pages is None:
        raise ConfigError("retrieve: kind 'visual' cannot be used here: the pages were not embedded for it")
    return index.pages
