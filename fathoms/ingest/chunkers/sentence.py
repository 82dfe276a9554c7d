"""Chunking page by page with LlamaIndex's SentenceSplitter, as in the FATHOMS-RAG paper."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from fathoms.errors import MissingExtraError, suggest
from fathoms.ingest.chunkers.boxes import text_boxes
from fathoms.ingest.chunkers.chunker import BaseChunker
from fathoms.models.punkt import pieces
from fathoms.types import Chunk, Document

if TYPE_CHECKING:
    from llama_index.core.node_parser import SentenceSplitter

Unit = Literal["tokens", "characters"]

_PLACE = re.compile(r"\{(\w+)\}")
_PLACES = ("document", "page", "pages", "chunk")


class SentenceChunker(BaseChunker):
    """Splits pages into chunks of at most `size`, at sentence ends where possible, with LlamaIndex.

    As in the paper, each page is split on its own, so no chunk crosses a page break. The size counts only the
    text, not the `header`: the paper's code calls `split_text`, whereas LlamaIndex deducts the length of the
    metadata when it splits its own `Document` nodes. The paper gives the size as 1024 characters, but its
    code, like LlamaIndex, counts tokens of cl100k, the tokenizer of GPT-3.5.
    """

    pages_per_child: ClassVar[int] = 2000
    """From how many pages on a child process pays: it takes 2.4 s of processor time to import LlamaIndex and
    to load the tokenizer, and a page of a paper 1.1 ms."""
    inert: ClassVar[bool] = True
    kind: Literal["sentence"] = "sentence"
    packages: ClassVar[tuple[str, ...]] = ("llama-index-core", "tiktoken")

    size: int = Field(default=1024, ge=16, le=2**31)
    """Maximum length of a chunk, in `unit`."""
    overlap: int = Field(default=200, ge=0, le=2**31)
    """Maximum length of the text that a chunk repeats from the previous one, in `unit`; less than `size`."""
    unit: Unit = "tokens"
    """What `size` and `overlap` count: tokens of LlamaIndex's default tokenizer (cl100k), or characters."""
    header: str = ""
    """Text that is indexed before the text of each chunk, and that the prompt can show with `{header}`. Its
    placeholders are `{document}`, `{page}`, `{pages}` (number of pages of the document) and `{chunk}` (number
    of the chunk on its page, from 0)."""

    @field_validator("header")
    @classmethod
    def _check_places(cls, header: str) -> str:
        unknown = [place for place in _PLACE.findall(header) if place not in _PLACES]
        if unknown:
            raise ValueError(f"there is no placeholder '{{{unknown[0]}}}'{suggest(unknown[0], _PLACES)}")
        return header

    @model_validator(mode="after")
    def _overlap_is_smaller(self) -> SentenceChunker:
        if self.overlap >= self.size:
            raise ValueError(f"overlap ({self.overlap}) must be smaller than size ({self.size})")
        return self

    def check(self) -> None:
        """Raise MissingExtraError if LlamaIndex is not installed."""
        _require()

    def chunk(self, document: Document) -> list[Chunk]:
        """Return the chunks of a document in reading order; ids are `FILE#pPAGEcN`, N from 1 on each page.

        Pages without text give no chunk. Raises MissingExtraError if LlamaIndex is not installed.
        """
        splitter = load_splitter(self.size, self.overlap, self.unit)
        name, total = document.id, len(document.pages)
        chunks = []
        for page in document.pages:
            texts = splitter.split_text(page.text) if page.text.strip() else []
            for n, (text, boxes) in enumerate(zip(texts, text_boxes(page, texts), strict=True)):
                header = _fill(self.header, document=name, page=page.number, pages=total, chunk=n)
                place = f"{name}#p{page.number}c{n + 1}"
                found = {"id": place, "document": name, "pages": (page.number,), "boxes": boxes}
                chunks.append(Chunk(**found, text=text, header=header))
        return chunks


def _fill(template: str, **values: object) -> str:
    """Fill in the placeholders of a header template; braces around other text are kept."""
    return _PLACE.sub(lambda place: str(values[place[1]]), template)


@lru_cache(maxsize=8)
def load_splitter(size: int, overlap: int, unit: Unit) -> SentenceSplitter:
    """Return LlamaIndex's splitter, cached per options: its tokenizer takes a second to load."""
    _require()
    from llama_index.core.node_parser import SentenceSplitter

    # Our Punkt finds the sentences that LlamaIndex's default does, the untrained Punkt of NLTK. NLTK takes a
    # second to import, and refuses to read LlamaIndex's copy of its data if the installer made hard links, as
    # uv does.
    return SentenceSplitter(
        chunk_size=size,
        chunk_overlap=overlap,
        tokenizer=list if unit == "characters" else None,
        chunking_tokenizer_fn=pieces,
    )


def _require() -> None:
    """Raise MissingExtraError, which names the install command, if LlamaIndex is not installed."""
    if find_spec("llama_index") is None or find_spec("llama_index.core") is None:
        raise MissingExtraError("llama-index-core", "llamaindex", "chunk kind 'sentence'")
