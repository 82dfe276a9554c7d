"""Docling's HybridChunker: chunks along the document's own structure, within a number of tokens."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from fathoms.config import Component
from fathoms.errors import ConfigError, MissingExtraError
from fathoms.models.weights.assets import ASSETS
from fathoms.models.weights.weights import Weights, digests, files, locate
from fathoms.safety.limits import MOST_TOKENS
from fathoms.types import Chunk, Document

if TYPE_CHECKING:
    from docling_core.transforms.chunker.hybrid_chunker import HybridChunker

TOKENIZER = "tokenizer.json"


class DoclingHybridChunker(Component):
    """Chunks of Docling's elements: one that is too long is split, small ones under one heading are merged.

    Needs `ingest: {kind: docling}`. A table becomes sentences of the form `row, column = value`, which is
    Docling's own way to make it findable.
    """

    reads: ClassVar[str | None] = "docling"
    kind: Literal["docling-hybrid"] = "docling-hybrid"
    packages: ClassVar[tuple[str, ...]] = ("docling-core", "semchunk", "tiktoken", "tokenizers")

    max_tokens: int = Field(default=512, ge=16, le=MOST_TOKENS)
    """The most that a chunk holds with its headings, in tokens."""
    merge_peers: bool = True
    """Merge neighbours under the same headings where they fit into one chunk."""
    headings: bool = True
    """Begin each chunk with the headings and captions above it, as Docling advises for embedding."""
    picture_text: bool = False
    """Chunk the text inside figures too."""
    tokenizer: Weights | None = None
    """An asset with a tokenizer.json, or the path of one; if not given, cl100k as in `kind: sentence`."""

    def identity(self) -> dict[str, Any]:
        """The tokenizer counts by its hash, not by its name or place."""
        found = super().identity()
        del found["options"]["tokenizer"]
        if self.tokenizer is None:
            return found
        hashes = digests(self.tokenizer)
        return {**found, "tokenizer": hashes.get(TOKENIZER, hashes)}

    def check(self) -> None:
        """Raise MissingExtraError, MissingWeightsError or ConfigError for what is not here."""
        if find_spec("docling_core") is None or find_spec("semchunk") is None:
            raise MissingExtraError("docling-core", "docling", "chunk kind 'docling-hybrid'")
        if self.tokenizer is not None:
            self._tokenizer_file()
        elif find_spec("llama_index") is None or find_spec("llama_index.core") is None:
            raise MissingExtraError("llama-index-core", "llamaindex", "the tokenizer of 'docling-hybrid'")

    def chunk(self, document: Document) -> list[Chunk]:
        """The chunks of a document in reading order; ids are `FILE#pPAGEcN`, N from 1 on each first page."""
        from fathoms.ingest.docling.export import unpack

        if document.native is None:
            raise ConfigError("chunk: kind 'docling-hybrid' needs ingest: {kind: docling}")
        self.check()
        path = None if self.tokenizer is None else self._tokenizer_file()
        chunker = load_chunker(self.max_tokens, self.merge_peers, self.picture_text, path)
        numbers: Counter[int] = Counter()
        chunks = []
        for piece in _pieces(chunker, unpack(document.native).document):
            pages = _pages(piece.meta)
            numbers[pages[0]] += 1
            name = f"{document.id}#p{pages[0]}c{numbers[pages[0]]}"
            text = chunker.contextualize(piece) if self.headings else piece.text
            chunks.append(Chunk(id=name, document=document.id, pages=pages, text=text))
        return chunks

    def _tokenizer_file(self) -> str:
        """The tokenizer.json; raises MissingWeightsError, or ConfigError where there is none."""
        name = str(self.tokenizer)
        if name not in ASSETS:
            return str(locate(name))
        if TOKENIZER not in (found := files(name)):
            raise ConfigError(f"chunk.tokenizer: the asset '{name}' has no {TOKENIZER}")
        return str(found[TOKENIZER])


def _pieces(chunker: HybridChunker, document: Any) -> list[Any]:
    """Docling's chunks; that headings longer than a chunk are left out is as it should be."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Headers and captions for this chunk")
        return list(chunker.chunk(document))


def _pages(meta: Any) -> tuple[int, ...]:
    """The pages that the elements of a chunk stand on; there is at least one."""
    return tuple(sorted({place.page_no for item in meta.doc_items for place in item.prov})) or (1,)


@lru_cache(maxsize=8)
def load_chunker(
    max_tokens: int, merge_peers: bool, picture_text: bool, tokenizer: str | None
) -> HybridChunker:
    """Docling's chunker; importing it takes seconds, because it imports torch."""
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
        """What counts the tokens."""

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
    """What counts the tokens of a text, special tokens left out: a tokenizer.json, or cl100k."""
    if tokenizer is None:
        from llama_index.core.utils import get_tokenizer

        encode = get_tokenizer()
        return lambda text: len(encode(text))
    from tokenizers import Tokenizer

    loaded = Tokenizer.from_file(tokenizer)
    loaded.no_truncation()
    loaded.no_padding()
    return lambda text: len(loaded.encode(text, add_special_tokens=False).ids)
