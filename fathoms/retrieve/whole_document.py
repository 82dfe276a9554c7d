"""Whole documents instead of chunks: what a long context makes possible, and the paper's Docling pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from fathoms.retrieve.base import Corpus, Needs, Retriever, hits
from fathoms.types import Chunk, Document, Hit, Question


class WholeDocument(Retriever):
    """Every document of a question from its first character on, as one chunk each.

    What is cut off is counted in `Chunk.dropped`. A document with no text gives no hit, nor does a file of
    a question that ingestion left out.
    """

    kind: Literal["whole-document"] = "whole-document"
    by: Literal["question-files", "all"] = "question-files"
    """The files that the question names, in its order (all documents for a question that names none), or
    all documents for every question."""
    max_chars: int | None = Field(default=15000, ge=1, le=2**31)
    """Characters kept of each document; all, if null."""

    @property
    def needs(self) -> Needs:
        """Documents as parsed, not chunked."""
        return "documents"

    def search(self, corpus: Corpus, questions: Sequence[Question]) -> list[tuple[Hit, ...]]:
        """The documents of every question, each with score 1."""
        made = {document.id: self._chunk(document) for document in corpus.documents}
        found = []
        for question in questions:
            names = question.files if self.by == "question-files" and question.files else tuple(made)
            chunks = [made[name] for name in dict.fromkeys(names) if name in made]
            found.append(hits([(chunk, 1.0) for chunk in chunks if chunk.text.strip()]))
        return found

    def _chunk(self, document: Document) -> Chunk:
        """The beginning of a document, with the pages that it touches."""
        text = document.text
        kept = text[: self.max_chars]
        return Chunk(
            id=f"{document.id}#all",
            document=document.id,
            pages=_pages(document, len(kept)),
            text=kept,
            dropped=len(text) - len(kept),
        )


def _pages(document: Document, length: int) -> tuple[int, ...]:
    """The pages with at least one character in the first `length` of the document's text."""
    pages, start = [], 0
    for page in document.pages:
        if page.text and start < length:
            pages.append(page.number)
        start += len(page.text) + len("\n\n")
    return tuple(pages)
