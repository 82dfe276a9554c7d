"""The rows of MMDocRAG (Dong et al. 2025): a question with 15 or 20 candidate quotes, texts and pictures.

Pages are taken to count from 0, as in MMDocIR of the same authors. Pictures lie in the folder of the file,
under the path that a row gives. The `text` of a picture is what OCR read in it.
"""

from __future__ import annotations

from typing import Any

from fathoms.corpora.released import Notes, document_name, listed, metadata_of, note_missing, text_of

KEYS = frozenset({"question", "text_quotes", "img_quotes"})
"""The keys by which a row is recognised."""
_NOT_USED = "quotes left out, because they have no 'quote_id', or neither text nor picture"


def questions(row: dict[str, Any], place: str, notes: Notes) -> list[dict[str, Any]]:
    """Return a row as a question in the keys of `rows`; none if it has no text or no quotes."""
    question, name = text_of(row, "question"), text_of(row, "doc_name")
    quotes = [
        quote
        for key, modality in (("text_quotes", "text"), ("img_quotes", "image"))
        for quote in _quotes(row.get(key), modality, place, notes)
    ]
    if question is None or not quotes:
        notes.add("rows left out, because 'question' is not a text, or there are no quotes", place)
        return []
    document = None if name is None else document_name(name)
    gold = set(map(str, listed(row.get("gold_quotes")) or []))
    if gold - {quote["id"] for quote in quotes}:
        notes.add("questions with gold quotes that are no candidates", place)
    if not gold:
        notes.add("questions without gold quotes", place)
    short = listed(row.get("answer_short"))
    return [
        {
            "id": str(row["q_id"]) if isinstance(row.get("q_id"), int | str) else None,
            "question": question,
            "category": text_of(row, "domain") or "Uncategorised",
            "files": [document] if document else [],
            "reference": text_of(row, "answer_interleaved"),
            "short_answer": ", ".join(map(str, short)) if short else text_of(row, "answer_short"),
            "quotes": [{**quote, "document": document, "gold": quote["id"] in gold} for quote in quotes],
            "metadata": metadata_of(row, "domain", "question_type", "evidence_modality_type"),
        }
    ]


def _quotes(found: Any, modality: str, place: str, notes: Notes) -> list[dict[str, Any]]:
    """Return the usable quotes of one modality."""
    quotes = []
    for one in found if isinstance(found, list) else []:
        quote = _quote(one, modality) if isinstance(one, dict) else None
        if quote is None:
            notes.add(_NOT_USED, place)
            continue
        if image := quote.get("image"):
            note_missing(image, place, notes)
        quotes.append(quote)
    return quotes


def _quote(one: dict[str, Any], modality: str) -> dict[str, Any] | None:
    """Return a quote in the keys of `rows`, `None` for one that cannot be used."""
    id, page = text_of(one, "quote_id"), one.get("page_id")
    quote = {
        "id": id,
        "modality": modality,
        "text": text_of(one, "text") or "",
        "page": page + 1 if isinstance(page, int) and not isinstance(page, bool) and page >= 0 else None,
    }
    if modality == "image":
        quote |= {"description": text_of(one, "img_description") or "", "image": text_of(one, "img_path")}
    is_empty = not any(quote.get(key) for key in ("text", "description", "image"))
    return (
        None if id is None or is_empty else {key: value for key, value in quote.items() if value is not None}
    )
