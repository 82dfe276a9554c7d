"""The rows of MMLongBench-Doc (Ma et al. 2024): one question about one long PDF each.

Pages count from 1. `evidence_pages` and `evidence_sources` are lists written as texts. A row with the answer
"Not answerable" or the format "None" cannot be answered from its document.
"""

from __future__ import annotations

from typing import Any

from fathoms.corpora.released import (
    NEITHER,
    NO_PAGE,
    Notes,
    document_name,
    listed,
    metadata_of,
    only,
    pages_of,
    short_gold,
    text_of,
)

KEYS = frozenset({"question", "doc_id", "evidence_pages"})
"""The keys by which a row is recognised."""


def questions(row: dict[str, Any], place: str, notes: Notes) -> list[dict[str, Any]]:
    """Return a row as a question in the keys of `rows`; none if it has no text or no document."""
    question, document = text_of(row, "question"), text_of(row, "doc_id")
    if question is None or document is None:
        notes.add("rows left out, because 'question' or 'doc_id' is not a text", place)
        return []
    document = document_name(document)
    answer = text_of(row, "answer")
    without = answer is not None and answer.strip().lower() == "not answerable"
    answerable = not without and row.get("answer_format") != "None"
    kind = only(listed(row.get("evidence_sources")) or [])
    pages = pages_of(row.get("evidence_pages"), 1, place, notes)
    if answerable and not pages:
        notes.add(NO_PAGE if answer else NEITHER, place)
        if not answer:
            return []
    if not answerable and pages:
        notes.add("questions with gold pages that the file calls not answerable", place)
    return [
        {
            "question": question,
            "category": text_of(row, "doc_type") or "Uncategorised",
            "files": [document],
            "evidence": [{"document": document, "page": page, "modality": kind} for page in pages],
            "answerable": answerable,
            "metadata": metadata_of(row, "doc_type", "evidence_sources", "answer_format"),
            **(short_gold(answer) if answer and answerable else {}),
        }
    ]
