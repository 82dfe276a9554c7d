"""The rows of MRAG-Bench (Hu et al. 2024), in parquet: multiple choice about a picture, with pictures that
help (`gt_images`) and pictures that a retriever found (`retrieved_images`).

The candidates are both, without repeats, as in section 5.1 of the paper, behind the picture that the question
is about. In the scenario `Incomplete`, the authors' loader takes the first of each kind alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fathoms.corpora.released import Notes, metadata_of, text_of
from fathoms.corpora.table_pictures import unpacked
from fathoms.runs.metadata import ASKED_ABOUT

KEYS = frozenset({"question", "answer_choice", "A", "B", "image", "gt_images", "retrieved_images"})
"""The columns by which a table is recognised."""
INPUT = "The picture that the question is about."


def questions(row: dict[str, Any], place: str, notes: Notes) -> list[dict[str, Any]]:
    """Return a row as a question in the keys of `rows`; none if it has no text or no pictures."""
    question, quotes = text_of(row, "question"), _quotes(row, place, notes)
    options = {name: text for name in "ABCD" if (text := text_of(row, name)) is not None}
    if question is None or not quotes:
        notes.add("rows left out, because 'question' is not a text, or there are no pictures", place)
        return []
    return [
        {
            "question": question,
            "category": text_of(row, "scenario") or "Uncategorised",
            "id": str(row["id"]) if isinstance(row.get("id"), int | str) else None,
            "options": options,
            "right": row.get("answer_choice"),
            "quotes": quotes,
            "metadata": metadata_of(row, "aspect", "image_type", "source") | _about(quotes),
        }
    ]


def _about(quotes: list[dict[str, Any]]) -> dict[str, str]:
    """Return which of the quotes is the picture that the question is about, if it is there."""
    about = next((quote["id"] for quote in quotes if quote["description"] == INPUT), None)
    return {ASKED_ABOUT: about} if about else {}


def _quotes(row: dict[str, Any], place: str, notes: Notes) -> list[dict[str, Any]]:
    """Return the picture of the question and its candidates, each picture once."""
    folder = Path(place.rpartition(":")[0]).parent
    quotes: dict[str, dict[str, Any]] = {}
    most = 1 if row.get("scenario") == "Incomplete" else None
    pictures = [(row.get("image"), True, INPUT)]
    for column, gold in (("gt_images", True), ("retrieved_images", False)):
        found = row.get(column) or []
        if isinstance(found, list):
            pictures += [(one, gold, "") for one in found[:most]]
        else:
            notes.add(f"values of '{column}' left out, because they are not lists", place)
    for value, gold, description in pictures:
        name = unpacked(value, folder)
        if name is None:
            notes.add("pictures left out, because they are no pictures of a known format", place)
        else:
            quote = {"modality": "image", "image": name, "description": description, "gold": gold}
            quotes.setdefault(name, {"id": f"image{len(quotes) + 1}", **quote})
    return list(quotes.values())
