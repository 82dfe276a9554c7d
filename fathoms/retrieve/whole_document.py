"""Whole documents instead of chunks, for models with a long context: the paper's Docling pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Literal

from pydantic import Field

from fathoms.retrieve.retriever import Index, Needs, Retriever, hits
from fathoms.types import Chunk, Document, Hit, Question


class WholeDocument(Retriever):
    """Returns the text of each document of a question as one chunk, cut after `max_chars` characters.

    `Chunk.dropped` is the number of characters that were cut off. Documents without text and files that were
    not ingested give no hit.
    """

    kind: Literal["whole-document"] = "whole-document"
    by: Literal["question-files", "all"] = "question-files"
    """`question-files` uses the files that the question names, in its order, or all documents if it names
    none. `all` uses all documents for every question."""
    max_chars: int | None = Field(default=15000, ge=1, le=2**31)
    """Maximum number of characters of each document; null keeps the whole text."""

    @property
    def needs(self) -> Needs:
        """Always `documents`: parsed documents that need not be split into chunks."""
        return "documents"

    def search(self, index: Index, questions: Sequence[Question]) -> list[tuple[Hit, ...]]:
        """Return the documents of each question, each with score 1."""
        documents = index.by_id
        wanted = [
            question.files if self.by == "question-files" and question.files else tuple(documents)
            for question in questions
        ]
        by_name = {
            name: self._chunk(documents[name])
            for name in dict.fromkeys(chain.from_iterable(wanted))
            if name in documents
        }
        rows = [[by_name[name] for name in dict.fromkeys(names) if name in by_name] for names in wanted]
        return [hits([(chunk, 1.0) for chunk in chunks if chunk.text.strip()]) for chunks in rows]

    def _chunk(self, document: Document) -> Chunk:
        """The text of a document as a chunk."""
        text = document.text
        shown = text[: self.max_chars]
        return Chunk(
            id=f"{document.id}#all",
            document=document.id,
            pages=_pages(document, len(shown)),
            text=shown,
            dropped=len(text) - len(shown),
        )


def _pages(document: Document, length: int) -> tuple[int, ...]:
    """Return the pages with at least one character among the first `length` characters of the document."""
    pages, start = [], 0
    for page in document.pages:
        if page.text and start < length:
            pages.append(page.number)
        start += len(page.text) + len("\n\n")
    return tuple(pages)
