"""Rendering and embedding the pages of a corpus for retrieval by page images, as far as the cache lacks them.

Pages are taken in blocks: their vectors are looked up in the cache, the missing ones are rendered and
embedded, and all go into one file that is mapped into memory. Memory therefore holds one block at a time, and
what was embedded before a run was killed need not be embedded again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fathoms.component import package_version
from fathoms.errors import ConfigError, DocumentError
from fathoms.ingest import MARGIN, PdfParser, cut_out_images, cut_outs, has_boxes, page_images
from fathoms.ingest.workers.rendering import RenderWork
from fathoms.models.calling.provider_calls import ExecutionSettings
from fathoms.models.embed.image_text import ImageTextEmbedder
from fathoms.models.embed.multi_vector import MultiVectorEmbedder
from fathoms.models.embed.pages import page_keys
from fathoms.models.embed.process import embed_pages, runs_on
from fathoms.models.embed.served.served_model import ServedPageModel
from fathoms.models.embed.served.spent import EmbeddingCalls
from fathoms.models.embed.work import PageEmbedWork
from fathoms.models.page_patches import Located, located_cached
from fathoms.models.page_vectors import keep_vectors, known_vectors, questions_cached, stored_on_arrival
from fathoms.pipeline.preparation import Preparation
from fathoms.retrieve.indexes import load_index, store_index
from fathoms.retrieve.lance_multi_vectors import LanceMultiVectors
from fathoms.retrieve.max_sim import best_pages, max_sim_of_each
from fathoms.retrieve.multi_vectors import MultiVectors
from fathoms.retrieve.page_search import RENDERER, PageHandling, PageSearch
from fathoms.retrieve.token_pooling import pool_tokens
from fathoms.retrieve.two_stages import mean_vectors
from fathoms.text.fingerprints import fingerprint, flat_fingerprint
from fathoms.types import CutOut, Document, DocumentFacts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
    Store = MultiVectors | LanceMultiVectors | Vectors | None

_BLOCK = 32
"""Pages that are read from the cache or embedded at once; 12 MB with 700 vectors of 128 numbers each."""
_SINGLE = "vectors.npy"
STAGE = "embed pages"
"""The name of this stage in times and progress bars."""
POOL = "pool vectors"
EXACT = "search exactly"
"""The names of what else goes over all pages in progress bars: token pooling, and the exact search with which
an approximate one is compared."""
QUESTIONS = "embed questions"
"""The name under which the requests for the vectors of questions are reported."""
Place = tuple[int, int]


class Unit(NamedTuple):
    """What is embedded as one picture: a page, given by the position of its document and its number, or a
    figure or table on it."""

    position: int
    page: int
    cut_out: CutOut | None = None

    @property
    def place(self) -> Place:
        """The position of the document in the corpus, and the number of the page."""
        return self.position, self.page


@dataclass
class PageIndexer:
    """Makes the vectors of all pages of a corpus, or of the figures and tables on them, or takes them from
    the cache.

    `documents` and `facts` are of the same documents. A document is decoded only if one of its pages must be
    rendered, or to know its figures and tables. `bounds` are those of the pictures that are shown to a model,
    as `page_images` takes them, `None` if it is shown none; pages are embedded without bounds. `calling` are
    the retries and rate limits of the requests to a server that embeds; the executor of `work` renders and
    embeds where it is a cluster and the model a local one. `block` pages are embedded and stored at a time.
    `failures` collects the documents that cannot be rendered, by their positions; with `on_error: fail` of
    the parser, the first of them is raised.
    """

    handling: PageHandling
    documents: Sequence[Document]
    facts: Sequence[DocumentFacts]
    parser: PdfParser
    work: Preparation
    bounds: Mapping[str, int] | None
    calling: ExecutionSettings = field(default_factory=ExecutionSettings)
    block: int = _BLOCK
    failures: dict[int, DocumentError] = field(default_factory=dict)

    def index(self) -> PageSearch:
        """Return the pages, ready to be searched. Raises ModelError and StoreError."""
        embed = self.handling.embed
        if isinstance(embed, ServedPageModel):
            embed.reset_outage()
        units, store, means = self._stored()
        return PageSearch(
            names=[document.id for document in self.facts],
            places=[unit.place for unit in units],
            store=store,
            embed=self._embedded,
            picture=self._picture,
            locate=partial(self._located, embed) if isinstance(embed, MultiVectorEmbedder) else None,
            cut_outs=None if self.handling.units == "pages" else [unit.cut_out for unit in units],
            cut=self._cut,
            means=means,
            exact=partial(self._exact, len(units)) if embed.many else None,
        )

    def _embedded(self, texts: Sequence[str]) -> list[Vectors]:
        """Embed questions that the cache does not hold."""
        how, started = EmbeddingCalls(self.calling), time.perf_counter()
        try:
            return questions_cached(self.handling.embed, texts, self.work.cache, how)
        finally:  # what was paid for counts, whatever failed then
            self.work.times.add_calls(QUESTIONS, time.perf_counter() - started, how)

    def _picture(self, document: Document, page: int) -> Path | None:
        """Return the picture of a page for the model that answers."""
        return None if self.bounds is None else self._pictures(document, **self.bounds).get(page)

    def _cut(self, document: Document, cut_out: CutOut) -> Path | None:
        """Return the picture of a figure or table for the model that answers."""
        return None if self.bounds is None else self._cut_outs(document, **self.bounds).get(cut_out.name)

    def _located(
        self, embedder: MultiVectorEmbedder, pages: Sequence[tuple[Document, int]], texts: Sequence[str]
    ) -> Located:
        """Return the patches of pages, by the sizes of their pictures, and the words of questions. Documents
        whose pictures the cache has lost are rendered; raises DocumentError."""
        from PIL import Image

        pictures = {document.id: self._pictures(document) for document, _ in pages}
        sizes = []
        for document, page in pages:
            with Image.open(pictures[document.id][page]) as picture:  # reads only the head of the file
                sizes.append(picture.size)
        return located_cached(embedder, sizes, texts, self.work.cache)

    def _pictures(self, document: Document, **bounds: int) -> Mapping[int, Path]:
        """Render a document, or take the pictures from the cache; raises DocumentError."""
        folder, shared = self.work.cache.folder / "images", self.work.cache.shared
        return page_images(document, self.handling.dpi, folder, self.parser, shared=shared, **bounds)

    def _cut_outs(self, document: Document, **bounds: int) -> Mapping[str, Path]:
        """Cut out the figures and tables of a document, or take the pictures from the cache; raises
        DocumentError."""
        folder, shared = self.work.cache.folder / "images", self.work.cache.shared
        return cut_out_images(document, self.handling.dpi, folder, self.parser, shared=shared, **bounds)

    def _exact(self, rows: int, texts: Sequence[str], k: int) -> list[list[int]] | None:
        """Return the rows of the `k` best pages for texts of questions, by all vectors of the pages as the
        model gave them; `None` if the pages are not the same `rows` any more.

        The vectors are read from the cache in blocks, so memory does not grow with them, and the result is
        stored there.
        """
        places = self._units()
        keys = self._keys(places)
        name = fingerprint("exact pages", keys, self.handling.embed.identity(), list(texts), k)
        known = self.work.cache.load("exact-pages", name, partial(_rows, most=rows, count=len(texts)))
        if known is not None:
            return known
        with_picture: list[int] = []
        pages = self._with_progress(EXACT, self._vectors(places, keys, with_picture), rows)
        scores = max_sim_of_each(self._embedded(texts), pages)
        if len(with_picture) != rows:
            return None
        best = [[at for at, _ in row] for row in best_pages(scores, k)]
        self.work.cache.put_text("exact-pages", name, json.dumps(best))
        return best

    def _stored(self) -> tuple[Sequence[Unit], Store, Vectors | None]:
        """Return the pages with their vectors and their means, from the index on the disk if it has them."""
        places = self._units()
        keys = self._keys(places)
        name = fingerprint("page index", keys, *self.handling.keeping.key)
        folder = self.work.cache.folder / "indexes" / name
        with self.work.times.stage(STAGE):
            listed = self.work.cache.load("page-index", name, partial(_listed, most=len(places)))
            if listed is not None and (known := self._known(folder, len(listed))) is not None:
                return [places[at] for at in listed], known, self._means(name, known)
            with_picture, store = self._build(places, keys, folder)
            means = self._means(name, store)
        if not self.failures:  # their documents are tried again
            self.work.cache.put_text("page-index", name, json.dumps(with_picture))
        return [places[at] for at in with_picture], store, means

    def _means(self, name: str, store: Store) -> Vectors | None:
        """Return the mean vector of each page, which are stored like an index; `None` where the
        configuration does not want them."""
        import numpy as np

        if not self.handling.keeping.means or not isinstance(store, MultiVectors):
            return None
        folder = self.work.cache.folder / "indexes" / fingerprint("page means", name)
        known = None if self.work.cache.refresh else load_index(folder, partial(_read_single, len(store)))
        if known is not None:
            return known
        means = mean_vectors(store)
        store_index(folder, lambda at: np.save(at / _SINGLE, means, allow_pickle=False), self.work.cache.full)
        return means

    def _known(self, folder: Path, rows: int) -> Store:
        """Open the index in a folder; `None` if it is missing or damaged."""
        if self.handling.embed.many:
            store = self.handling.keeping.store.load(folder)
            return store if store is not None and len(store) == rows else None
        return load_index(folder, partial(_read_single, rows))

    def _units(self) -> list[Unit]:
        """What is embedded, in the order of the pages; raises ConfigError if figures and tables are wanted
        and no document says where they are."""
        units = self.handling.units
        pages = [Unit(*place) for place in _places(self.facts)]
        if units == "pages":
            return pages
        by_document = [cut_outs(document) for document in self.documents]
        if pages and not any(by_document) and not any(map(has_boxes, self.documents)):
            raise ConfigError(
                f"visual: units: '{units}' needs to know where figures and tables are on a page, and ingest"
                f" kind '{self.parser.kind}' found the place of nothing in these documents: use ingest:"
                " {kind: docling}, or units: pages"
            )
        found = pages if units == "both" else []
        for position, several in enumerate(by_document):
            found += [Unit(position, each.page, each) for each in several]
        return sorted(found, key=lambda unit: unit.place)  # a page comes before what is on it

    def _keys(self, units: Sequence[Unit]) -> list[str]:
        """The key of each picture in the cache."""
        renderer = [package_version(name) for name in RENDERER]
        pages = ((self.facts[unit.position].sha256, unit.page) for unit in units)
        keys = page_keys(self.handling.embed, pages, self.handling.dpi, renderer)
        boxes = (None if unit.cut_out is None else unit.cut_out.bbox for unit in units)
        return [
            key if box is None else flat_fingerprint(key, *map(str, (*box, MARGIN)))
            for key, box in zip(keys, boxes, strict=True)
        ]

    def _build(self, places: Sequence[Unit], keys: Sequence[str], folder: Path) -> tuple[list[int], Store]:
        """Build the index in a folder; returns the numbers of the pages in it, which are those with a
        picture."""
        import numpy as np

        with_picture: list[int] = []
        rows = self._vectors(places, keys, with_picture)
        first = next(rows, None)
        if first is None:
            return [], None
        if self.handling.embed.many:
            keeping = self.handling.keeping
            pages: Iterator[Vectors] = chain([first], rows)
            if keeping.pooling != 1:
                pooled = (pool_tokens(page, keeping.pooling) for page in pages)
                pages = self._with_progress(POOL, pooled, len(places))
            return with_picture, keeping.store.write(folder, pages, keeping.precision)
        single = np.concatenate([first, *rows])
        store_index(
            folder, lambda at: np.save(at / _SINGLE, single, allow_pickle=False), self.work.cache.full
        )
        return with_picture, single

    def _with_progress(self, stage: str, pages: Iterator[Vectors], total: int) -> Iterator[Vectors]:
        """Yield the pages, and report the progress of this stage from block to block."""
        for number, page in enumerate(pages, start=1):
            yield page
            if number % self.block == 0 and number < total:
                self.work.progress(stage, number, total)
        self.work.progress(stage, total, total)  # pages without a picture are not among them

    def _vectors(
        self, places: Sequence[Unit], keys: Sequence[str], with_picture: list[int]
    ) -> Iterator[Vectors]:
        """Yield the vectors of each page that has a picture, and add its number to `with_picture`."""
        embedded = len(places) if isinstance(self.handling.embed, ServedPageModel) else 0
        for first in range(0, len(places), self.block):
            if first >= embedded and not self.work.cache.holds(
                "page-vectors", keys[first : first + self.block]
            ):
                embedded = min(first + self.work.executor.width() * self.block, len(places))
                if embedded > first + self.block:
                    self._embed_window(places, keys, range(first, embedded))
            block = dict(zip(keys[first : first + self.block], range(first, len(places)), strict=False))
            found = known_vectors(self.work.cache, "page-vectors", list(block))
            if missing := {key: places[at] for key, at in block.items() if key not in found}:
                found |= self._embed(missing)
                self.work.progress(STAGE, first + len(block), len(places))
            for at, key in enumerate(keys[first : first + self.block], start=first):
                if key in found and len(found[key]):
                    with_picture.append(at)
                    yield found[key]

    def _embed_window(self, places: Sequence[Unit], keys: Sequence[str], window: range) -> None:
        """Render and embed what the cache lacks of several blocks at once, on the workers of a cluster. What
        has no picture, or cannot be rendered, is left to `_embed`, which finds all else done."""
        missing: list[dict[str, Unit]] = []
        for first in window[:: self.block]:
            block = {keys[at]: places[at] for at in range(first, min(first + self.block, window.stop))}
            found = known_vectors(self.work.cache, "page-vectors", list(block))
            missing.append({key: unit for key, unit in block.items() if key not in found})
        positions = {unit.position for units in missing for unit in units.values()} - self.failures.keys()
        documents = [self.documents[at] for at in sorted(positions)]
        folder, shared = self.work.cache.folder / "images", self.work.cache.shared
        RenderWork(self.handling.dpi, self.parser, {}).all(self.work.executor, documents, folder, shared)
        pictures = [self._pictures_of(units) for units in missing]
        there = [{key: path for key, path in block.items() if path is not None} for block in pictures]
        batches = [batch for batch in there if batch]
        done = window.stop - sum(map(len, batches))

        def keep(at: int, vectors: Sequence[Vectors], seconds: float) -> None:
            nonlocal done
            keep_vectors(self.work.cache, "page-vectors", dict(zip(batches[at], vectors, strict=True)))
            self.work.times.add_items(STAGE, len(vectors))
            done += len(vectors)
            self.work.progress(STAGE, done, len(places))

        work = PageEmbedWork(self.handling.embed)
        self.work.executor.run(work, [list(batch.values()) for batch in batches], keep)

    def _pictures_of(self, units: Mapping[str, Unit]) -> dict[str, Path | None]:
        """Render pages, and return their pictures by their keys; `None` for what PDFium cannot render.
        Documents that cannot be rendered are recorded and left out."""
        pictures: dict[str, Path | None] = {}
        for key, (position, page, cut_out) in units.items():
            if position in self.failures:
                continue
            document = self.documents[position]
            try:
                if cut_out is None:
                    pictures[key] = self._pictures(document).get(page)
                else:
                    pictures[key] = self._cut_outs(document).get(cut_out.name)
            except DocumentError as error:
                self.failures[position] = error
        return pictures

    def _embed(self, missing: Mapping[str, Unit]) -> dict[str, Vectors]:
        """Render and embed pages, and store their vectors, by their keys. Documents that cannot be rendered
        are recorded and left out."""
        import numpy as np

        embed, pictures = self.handling.embed, self._pictures_of(missing)
        there = {key: picture for key, picture in pictures.items() if picture is not None}
        how = EmbeddingCalls(self.calling)
        vectors: dict[str, Vectors] = {}
        try:
            with stored_on_arrival(how, self.work.cache, "page-vectors", list(there)) as keep:
                if there:
                    vectors = keep(embed_pages(embed, list(there.values()), how))
                    if isinstance(embed, MultiVectorEmbedder | ImageTextEmbedder):
                        self.work.times.ran_on(STAGE, runs_on(embed))
        finally:  # what was paid for counts, whatever failed then
            self.work.times.add_items(STAGE, len(vectors) or how.inputs)
            self.work.times.called(STAGE, how)
        none = np.empty((0, 1), dtype=np.float32)  # a page that PDFium cannot render
        without = {key: none for key, picture in pictures.items() if picture is None}
        keep_vectors(self.work.cache, "page-vectors", without)
        return vectors | without

    def holds_all(self) -> bool:
        """Whether the cache holds the vectors of all pages, so that no page must be rendered or embedded."""
        return self.work.cache.holds("page-vectors", self._keys(self._units()))


def _places(facts: Sequence[DocumentFacts]) -> list[Place]:
    """All pages of a corpus, each by the position of its document and its number."""
    return [(at, page) for at, document in enumerate(facts) for page in range(1, document.pages + 1)]


def _listed(text: str, most: int) -> list[int]:
    """Decode the list of the numbers of pages; raises ValueError if it is none, or has pages that do not
    exist."""
    found = json.loads(text)
    if not isinstance(found, list) or not all(type(at) is int and 0 <= at < most for at in found):
        raise ValueError("not a list of pages")
    return found


def _rows(text: str, most: int, count: int) -> list[list[int]]:
    """Decode the rows of the best pages for `count` questions; raises ValueError if they are none."""
    found = json.loads(text)
    if not isinstance(found, list) or len(found) != count:
        raise ValueError("not the best pages of each question")
    if not all(type(at) is int and 0 <= at < most for row in found for at in row):
        raise ValueError("not rows of pages")
    return found


def _read_single(rows: int, folder: Path) -> Vectors | None:
    """Map the vectors of an index into memory; `None` if they are not float32 or not so many."""
    import numpy as np

    mapped: Vectors = np.load(folder / _SINGLE, mmap_mode="r", allow_pickle=False)
    fits = mapped.dtype == np.float32 and mapped.ndim == 2 and len(mapped) == rows
    return mapped if fits else None
