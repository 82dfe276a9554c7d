"""LlamaIndex's SentenceSplitter, page by page: the chunker of the FATHOMS-RAG paper."""

from __future__ import annotations

import re
from functools import lru_cache, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from fathoms.config import Component, suggest
from fathoms.errors import MissingExtraError
from fathoms.types import Chunk, Document

if TYPE_CHECKING:
    from llama_index.core.node_parser import SentenceSplitter

Unit = Literal["tokens", "characters"]

_PLACE = re.compile(r"\{(\w+)\}")
_PLACES = ("document", "page", "pages", "chunk")


class SentenceChunker(Component):
    """Chunks of whole sentences, at most `size` long, by LlamaIndex's `SentenceSplitter`.

    As in the paper each page is split by itself, so that no chunk crosses pages, and by `split_text`:
    the size counts the text alone. (LlamaIndex deducts the metadata it will embed when it splits its own
    `Document` nodes; here it is the `header` of a chunk, which counts for nothing.) The paper says 1024
    characters; its code, like LlamaIndex, counts tokens of cl100k, the tokenizer of GPT-3.5.
    """

    reads: ClassVar[str | None] = None
    kind: Literal["sentence"] = "sentence"
    packages: ClassVar[tuple[str, ...]] = ("llama-index-core", "nltk", "tiktoken")

    size: int = Field(default=1024, ge=16, le=2**31)
    """The most that a chunk holds, in units."""
    overlap: int = Field(default=200, ge=0, le=2**31)
    """The most that a chunk repeats of the one before it, in units; less than `size`."""
    unit: Unit = "tokens"
    """What size and overlap count: tokens of LlamaIndex's default tokenizer, or characters."""
    header: str = ""
    """What is indexed before the text of each chunk, and shown where the prompt asks for `{header}`:
    `{document}`, `{page}`, `{pages}` (how many there are) and `{chunk}` (on its page, from 0)."""

    @field_validator("header")
    @classmethod
    def _check_places(cls, header: str) -> str:
        unknown = [place for place in _PLACE.findall(header) if place not in _PLACES]
        if unknown:
            raise ValueError(f"there is no place '{{{unknown[0]}}}'{suggest(unknown[0], _PLACES)}")
        return header

    @model_validator(mode="after")
    def _overlap_is_smaller(self) -> SentenceChunker:
        if self.overlap >= self.size:
            raise ValueError(f"overlap ({self.overlap}) must be smaller than size ({self.size})")
        return self

    def check(self) -> None:
        """Raise MissingExtraError where LlamaIndex is not installed."""
        _require()

    def chunk(self, document: Document) -> list[Chunk]:
        """The chunks of a document, in reading order; ids are `FILE#pPAGEcN`, N from 1 on each page.

        Pages without text give none. Raises MissingExtraError where LlamaIndex is not installed.
        """
        splitter = load_splitter(self.size, self.overlap, self.unit)
        name, total = document.id, len(document.pages)
        return [
            Chunk(
                id=f"{name}#p{page.number}c{n + 1}",
                document=name,
                pages=(page.number,),
                text=text,
                header=_fill(self.header, document=name, page=page.number, pages=total, chunk=n),
            )
            for page in document.pages
            if page.text.strip()
            for n, text in enumerate(splitter.split_text(page.text))
        ]


def _fill(template: str, **values: object) -> str:
    """The template with its places filled in; other braces are text."""
    return _PLACE.sub(lambda place: str(values[place[1]]), template)


@lru_cache(maxsize=8)
def load_splitter(size: int, overlap: int, unit: Unit) -> SentenceSplitter:
    """The splitter; its tokenizer takes a second to load.

    The sentence tokenizer is the one that LlamaIndex uses by default, an untrained Punkt. It is made here
    because LlamaIndex first loads a list of stop words that it does not need for it, and NLTK refuses that
    file where the installer made hard links, as uv does.
    """
    _require()
    from llama_index.core.node_parser import SentenceSplitter
    from llama_index.core.node_parser.text.utils import split_by_sentence_tokenizer_internal
    from nltk.tokenize import PunktSentenceTokenizer  # type: ignore[import-untyped]

    sentences = PunktSentenceTokenizer()
    return SentenceSplitter(
        chunk_size=size,
        chunk_overlap=overlap,
        tokenizer=list if unit == "characters" else None,
        chunking_tokenizer_fn=partial(split_by_sentence_tokenizer_internal, tokenizer=sentences),
    )


def _require() -> None:
    """LlamaIndex, or the command that installs it."""
    if find_spec("llama_index") is None or find_spec("llama_index.core") is None:
        raise MissingExtraError("llama-index-core", "llamaindex", "chunk kind 'sentence'")
