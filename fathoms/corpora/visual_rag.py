"""The rows of Visual-RAG (Wu et al. 2025): a question about a species with pictures of it, of which those
that show the answer are labelled 1.

Names of pictures are those of the training part of iNaturalist 2021, which the file has to lie beside.
"""

from __future__ import annotations

from typing import Any

from fathoms.corpora.released import Notes, note_missing, text_of

KEYS = frozenset({"images", "question", "sn"})
"""The keys by which a row is recognised."""


def questions(row: dict[str, Any], place: str, notes: Notes) -> list[dict[str, Any]]:
    """Return a row as a question in the keys of `rows`; none if it has no text or no pictures."""
    question, images = text_of(row, "question"), row.get("images")
    if isinstance(images, dict):  # in parquet, a row has those of other rows too, without a label
        images = {name: label for name, label in images.items() if label is not None}
    if question is None or not isinstance(images, dict) or not images:
        notes.add("rows left out, because 'question' is not a text, or there are no pictures", place)
        return []
    found = row.get("answer")
    answers = (
        [one for one in found if isinstance(one, str) and one.strip()] if isinstance(found, list) else []
    )
    if not answers:
        notes.add("questions without a gold answer", place)
    quotes = []
    for number, (name, label) in enumerate(images.items(), start=1):
        note_missing(name, place, notes)
        quote = {"id": f"image{number}", "modality": "image", "image": name, "gold": label in (1, "1")}
        quotes.append(quote)
    if not any(quote["gold"] for quote in quotes):
        notes.add("questions without gold quotes", place)
    species = text_of(row, "sn")
    return [
        {
            "question": question,
            "category": "Visual-RAG",
            "answers": answers,
            "short_answer": answers[0] if answers else None,
            "quotes": quotes,
            "metadata": {"species": species} if species else {},
        }
    ]
