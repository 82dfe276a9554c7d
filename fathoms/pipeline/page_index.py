"""Rendering and embedding the pages of a corpus for retrieval by page images, as far as the cache lacks them.

Pages are taken in blocks: their vectors are looked up in the cache, the missing ones are rendered and
embedded, and all go into one file that is mapped into memory. Memory therefore holds one block at a time, and
what was embedded before a run was killed need not be embedded again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from fathoms.config import fingerprint, package_version
from fathoms.errors import DocumentError
from fathoms.ingest import PdfParser, page_images
from fathoms.models.calling.provider_calls import ExecutionSettings
from fathoms.models.embed.multi_vector import MultiVectorEmbedder
from fathoms.models.embed.pages import page_keys
from fathoms.models.embed.process import embed_pages
from fathoms.models.embed.served.spent import EmbeddingCalls
from fathoms.models.page_patches import Located, located_cached
from fathoms.models.page_vectors import keep_vectors, known_vectors, questions_cached
from fathoms.pipeline.ingest_times import IngestTimes
from fathoms.retrieve.indexes import load_index, store_index
from fathoms.retrieve.multi_vectors import MultiVectors
from fathoms.retrieve.page_search import RENDERER, PageHandling, PageSearch
from fathoms.runs.cache import Cache
from fathoms.types import Document, DocumentFacts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

_BLOCK = 32
"""Pages that are read from the cache or embedded at once; 12 MB with 700 vectors of 128 numbers each."""
_SINGLE = "vectors.npy"
STAGE = "embed pages"
"""The name of this stage in times and progress bars."""
QUESTIONS = "embed questions"
"""The name under which the requests for the vectors of questions are reported."""
Place = tuple[int, int]


@dataclass
class PageIndexer:
    """Makes the vectors of all pages of a corpus, or takes them from the cache.

    `documents` and `facts` are of the same documents, and a document is decoded only if one of its pages must
    be rendered. `bounds` are those of the pictures that are shown to a model, as `page_images` takes
    them, `None` if it is shown none; pages are embedded without bounds. `calling` are the retries and rate
    limits of the requests to a server that embeds. `failures` collects the documents
    that cannot be rendered, by their positions; with `on_error: fail` of the parser, the first of them is
    raised.
    """

    handling: PageHandling
    documents: Sequence[Document]
    facts: Sequence[DocumentFacts]
    parser: PdfParser
    cache: Cache
    progress: Callable[[str, int, int], None]
    times: IngestTimes
    bounds: Mapping[str, int] | None
    calling: ExecutionSettings = field(default_factory=ExecutionSettings)
    failures: dict[int, DocumentError] = field(default_factory=dict)

    def index(self) -> PageSearch:
        """Return the pages, ready to be searched. Raises DocumentError, ModelError and StoreError."""
        names = [document.id for document in self.facts]
        embed = self.handling.embed
        locate = partial(self._located, embed) if isinstance(embed, MultiVectorEmbedder) else None
        return PageSearch(names, *self._stored(), self._embedded, self._picture, locate)

    def _embedded(self, texts: Sequence[str]) -> list[Vectors]:
        """Embed questions that the cache does not hold."""
        how, started = EmbeddingCalls(self.calling), time.perf_counter()
        made = questions_cached(self.handling.embed, texts, self.cache, how)
        if how.replies:
            self.times.took(QUESTIONS, time.perf_counter() - started, how.inputs)
            self.times.called(QUESTIONS, how)
        return made

    def _picture(self, document: Document, page: int) -> Path | None:
        """Return the picture of a page for the model that answers."""
        return None if self.bounds is None else self._pictures(document, **self.bounds).get(page)

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
        return located_cached(embedder, sizes, texts, self.cache)

    def _pictures(self, document: Document, **bounds: int) -> Mapping[int, Path]:
        """Render a document, or take the pictures from the cache; raises DocumentError."""
        return page_images(document, self.handling.dpi, self.cache.folder / "images", self.parser, **bounds)

    def _stored(self) -> tuple[Sequence[Place], MultiVectors | Vectors | None]:
        """Return the pages with their vectors, from the index on the disk if it has them."""
        places = _places(self.facts)
        keys = self._keys(places)
        name = fingerprint("page index", keys)
        folder = self.cache.folder / "indexes" / name
        with self.times.stage(STAGE):
            listed = self.cache.load("page-index", name, partial(_listed, most=len(places)))
            if listed is not None and (known := self._known(folder, len(listed))) is not None:
                return [places[at] for at in listed], known
            kept, store = self._made(places, keys, folder)
        if not self.failures:  # their documents are tried again
            self.cache.put_text("page-index", name, json.dumps(kept))
        return [places[at] for at in kept], store

    def _known(self, folder: Path, rows: int) -> MultiVectors | Vectors | None:
        """Open the index in a folder; `None` if it is missing or damaged."""
        if self.handling.embed.many:
            store = load_index(folder, MultiVectors)
            return store if store is not None and len(store) == rows else None
        return load_index(folder, partial(_read_single, rows))

    def _keys(self, places: Sequence[Place]) -> list[str]:
        """The key of each page in the cache."""
        renderer = [package_version(name) for name in RENDERER]
        pages = ((self.facts[position].sha256, page) for position, page in places)
        return page_keys(self.handling.embed, pages, self.handling.dpi, renderer)

    def _made(
        self, places: Sequence[Place], keys: Sequence[str], folder: Path
    ) -> tuple[list[int], MultiVectors | Vectors | None]:
        """Make the index in a folder; returns the numbers of the pages in it, which are those with a
        picture."""
        import numpy as np

        kept: list[int] = []
        rows = self._vectors(places, keys, kept)
        first = next(rows, None)
        if first is None:
            return [], None
        if self.handling.embed.many:
            return kept, MultiVectors.write(folder, chain([first], rows))
        single = np.concatenate([first, *rows])
        store_index(folder, lambda at: np.save(at / _SINGLE, single, allow_pickle=False), self.cache.full)
        return kept, single

    def _vectors(self, places: Sequence[Place], keys: Sequence[str], kept: list[int]) -> Iterator[Vectors]:
        """Yield the vectors of each page that has a picture, and add its number to `kept`."""
        for first in range(0, len(places), _BLOCK):
            block = dict(zip(keys[first : first + _BLOCK], range(first, len(places)), strict=False))
            found = known_vectors(self.cache, "page-vectors", list(block))
            if missing := {key: places[at] for key, at in block.items() if key not in found}:
                found |= self._embed(missing)
                self.progress(STAGE, first + len(block), len(places))
            for at, key in enumerate(keys[first : first + _BLOCK], start=first):
                if key in found and len(found[key]):
                    kept.append(at)
                    yield found[key]

    def _embed(self, missing: Mapping[str, Place]) -> dict[str, Vectors]:
        """Render and embed pages, and store their vectors, by their keys. Documents that cannot be rendered
        are noted and left out."""
        import numpy as np

        pictures: dict[str, Path | None] = {}
        for key, (position, page) in missing.items():
            if position in self.failures:
                continue
            try:
                pictures[key] = self._pictures(self.documents[position]).get(page)
            except DocumentError as error:
                if self.parser.on_error == "fail":
                    raise
                self.failures[position] = error
        there = {key: picture for key, picture in pictures.items() if picture is not None}
        how = EmbeddingCalls(self.calling)
        vectors = embed_pages(self.handling.embed, list(there.values()), how) if there else []
        self.times.made(STAGE, len(there))
        self.times.called(STAGE, how)
        made = dict(zip(there, vectors, strict=True))
        none = np.empty((0, 1), dtype=np.float32)  # a page that PDFium cannot render
        made |= {key: none for key, picture in pictures.items() if picture is None}
        keep_vectors(self.cache, "page-vectors", made)
        return made

    def holds_all(self) -> bool:
        """Whether the cache holds the vectors of all pages, so that no page must be rendered or embedded."""
        return self.cache.holds("page-vectors", self._keys(_places(self.facts)))


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


def _read_single(rows: int, folder: Path) -> Vectors | None:
    """Map the vectors of an index into memory; `None` if they are not float32 or not so many."""
    import numpy as np

    mapped: Vectors = np.load(folder / _SINGLE, mmap_mode="r", allow_pickle=False)
    fits = mapped.dtype == np.float32 and mapped.ndim == 2 and len(mapped) == rows
    return mapped if fits else None
