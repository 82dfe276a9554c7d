"""Chunking with Docling's HybridChunker, which follows the document structure within a token limit."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from fathoms.component import Loads
from fathoms.errors import ConfigError, MissingExtraError
from fathoms.ingest.chunkers.chunker import BaseChunker
from fathoms.models.weights.assets import ASSETS
from fathoms.models.weights.weights import WEIGHTS, Weights, digests, files, locate
from fathoms.safety.option_limits import MOST_TOKENS
from fathoms.types import TRANSCRIPTS, Chunk, Document

if TYPE_CHECKING:
    from docling_core.transforms.chunker.hybrid_chunker import HybridChunker

TOKENIZER = "tokenizer.json"
"""The file that an asset must contain to be used as a tokenizer."""


class DoclingHybridChunker(BaseChunker):
    """Makes chunks from Docling's layout elements with Docling's `HybridChunker`.

    Elements that are too long are split, and small neighbours under the same heading are merged. Tables are
    serialised as sentences of the form `row, column = value`, which is Docling's default for retrieval.
    Needs `ingest: {kind: docling}`.
    """

    reads: ClassVar[str | None] = "docling"
    pages_per_child: ClassVar[int] = 1000
    """From how many pages on a child process pays: a page takes 6 ms."""
    inert: ClassVar[bool] = True
    loads: ClassVar[Mapping[str, Loads]] = {"tokenizer": WEIGHTS}
    kind: Literal["docling-hybrid"] = "docling-hybrid"
    packages: ClassVar[tuple[str, ...]] = ("docling-core", "semchunk", "tiktoken", "tokenizers")

    max_tokens: int = Field(default=512, ge=16, le=MOST_TOKENS)
    """Maximum length of a chunk in tokens, including its headings."""
    merge_peers: bool = True
    """Merge neighbouring chunks under the same headings if they fit into one chunk."""
    headings: bool = True
    """Begin each chunk with its headings and captions, as Docling recommends for embedding."""
    picture_text: bool = False
    """Also chunk the text inside figures."""
    tokenizer: Weights | None = None
    """The tokenizer that counts tokens: an asset that contains a `tokenizer.json`, or the path of such a
    file. By default cl100k, as in `kind: sentence`."""

    def identity(self) -> dict[str, Any]:
        """Return what the results depend on; the tokenizer is identified by its hash, not by its name."""
        found = super().identity()
        del found["options"]["tokenizer"]
        if self.tokenizer is None:
            return found
        hashes = digests(self.tokenizer)
        return {**found, "tokenizer": hashes.get(TOKENIZER, hashes)}

    def check(self) -> None:
        """Raise MissingExtraError for a missing package.

        Raises MissingWeightsError or ConfigError for a tokenizer that is missing.
        """
        if find_spec("docling_core") is None or find_spec("semchunk") is None:
            raise MissingExtraError("docling-core", "docling", "chunk kind 'docling-hybrid'")
        if self.tokenizer is not None:
            self._tokenizer_file()
        elif find_spec("llama_index") is None or find_spec("llama_index.core") is None:
            raise MissingExtraError("llama-index-core", "llamaindex", "the tokenizer of 'docling-hybrid'")

    def chunk(self, document: Document) -> list[Chunk]:
        """Return the chunks of a document in reading order.

        Ids are `FILE#pPAGEcN`: PAGE is the first page of the chunk, and N counts from 1 among the chunks that
        begin on that page. Raises ConfigError if the document does not come from the Docling parser, and what
        `check` raises.
        """
        from fathoms.ingest.docling.export import boxes_of, unpack

        if document.native is None:
            why = "needs ingest: {kind: docling}"
            if Path(document.id).suffix.lower() in TRANSCRIPTS:
                why = f"cannot split a recording such as {document.id}: set another chunker"
            raise ConfigError(f"chunk: kind 'docling-hybrid' {why}")
        self.check()
        path = None if self.tokenizer is None else self._tokenizer_file()
        chunker = load_chunker(self.max_tokens, self.merge_peers, self.picture_text, path)
        numbers: Counter[int] = Counter()
        chunks = []
        with warnings.catch_warnings():
            # Docling warns if it drops headings that are longer than a chunk, which is what we want
            warnings.filterwarnings("ignore", message="Headers and captions for this chunk")
            whole = unpack(document.native).document
            pieces = list(chunker.chunk(whole))
        for piece in pieces:
            boxes = [box for item in piece.meta.doc_items for box in boxes_of(whole, item)]
            pages = tuple(sorted({box.page for box in boxes})) or (1,)
            numbers[pages[0]] += 1
            name = f"{document.id}#p{pages[0]}c{numbers[pages[0]]}"
            text = chunker.contextualize(piece) if self.headings else piece.text
            placed = tuple(dict.fromkeys(boxes))  # the parts of a long table name the same table twice
            chunks.append(Chunk(id=name, document=document.id, pages=pages, boxes=placed, text=text))
        return chunks

    def _tokenizer_file(self) -> str:
        """Return the path of the tokenizer.json. Raises MissingWeightsError if it is not on this machine, and
        ConfigError if the asset has none."""
        name = str(self.tokenizer)
        if name not in ASSETS:
            return str(locate(name))
        if TOKENIZER not in (found := files(name)):
            raise ConfigError(f"chunk.tokenizer: the asset '{name}' has no {TOKENIZER}")
        return str(found[TOKENIZER])


@lru_cache(maxsize=8)
def load_chunker(
    max_tokens: int, merge_peers: bool, picture_text: bool, tokenizer: str | None
) -> HybridChunker:
    """Return Docling's chunker, cached per options: its import takes seconds, because it imports torch."""
    from docling_core.transforms.chunker.hierarchical_chunker import (
        ChunkingDocSerializer,
        ChunkingSerializerProvider,
    )
    from docling_core.transforms.chunker.hybrid_chunker import HybridChunker
    from docling_core.transforms.chunker.tokenizer.base import BaseTokenizer
    from docling_core.transforms.serializer.base import BaseDocSerializer
    from docling_core.types.doc import DoclingDocument

    count = load_counter(tokenizer)

    class Tokenizer(BaseTokenizer):
        """Adapts our token counter to Docling's tokenizer interface."""

        def count_tokens(self, text: str) -> int:
            return count(text)

        def get_max_tokens(self) -> int:
            return max_tokens

        def get_tokenizer(self) -> Any:
            return count

    class Provider(ChunkingSerializerProvider):
        """Docling's own serializer for chunks, with or without the text inside figures."""

        def get_serializer(self, doc: DoclingDocument) -> BaseDocSerializer:
            serializer = ChunkingDocSerializer(doc=doc)
            params = serializer.params.model_copy(update={"traverse_pictures": picture_text})
            return serializer.model_copy(update={"params": params})

    return HybridChunker(tokenizer=Tokenizer(), merge_peers=merge_peers, serializer_provider=Provider())


def load_counter(tokenizer: str | None) -> Callable[[str], int]:
    """Return a function that counts the tokens of a text, without special tokens.

    `tokenizer` is the path of a tokenizer.json; `None` means cl100k.
    """
    if tokenizer is None:
        from llama_index.core.utils import get_tokenizer

        encode = get_tokenizer()
        return lambda text: len(encode(text))
    from tokenizers import Tokenizer

    loaded = Tokenizer.from_file(tokenizer)
    loaded.no_truncation()
    loaded.no_padding()
    return lambda text: len(loaded.encode(text, add_special_tokens=False).ids)
