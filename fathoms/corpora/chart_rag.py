"""The rows of Chart-MRAG Bench (Yang et al. 2025), which MRAG-Suite calls Chart-RAG: a question with the
chart and the text that answer it, and the key points of the answer.

The description of the data set names the columns, but not the type of `gt_keypoints`: a list of texts becomes
the claims of the gold answer, anything else is left out and counted. There are no distractors.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fathoms.corpora.released import Notes, listed, text_of
from fathoms.corpora.table_pictures import unpacked

KEYS = frozenset({"query", "gt_answer", "gt_chart", "gt_text"})
"""The columns by which a table is recognised."""


def questions(row: dict[str, Any], place: str, notes: Notes) -> list[dict[str, Any]]:
    """Return a row as a question in the keys of `rows`; none if it has no text, or neither chart nor text."""
    question, text = text_of(row, "query"), text_of(row, "gt_text")
    chart = unpacked(row.get("gt_chart"), Path(place.rpartition(":")[0]).parent)
    if chart is None and row.get("gt_chart") is not None:
        notes.add("charts left out, because they are no pictures of a known format", place)
    quotes = [{"id": "text1", "text": text, "gold": True}] if text else []
    quotes += [{"id": "image1", "modality": "image", "image": chart, "gold": True}] if chart else []
    if question is None or not quotes:
        notes.add("rows left out, because 'query' is not a text, or there is neither chart nor text", place)
        return []
    points = listed(row.get("gt_keypoints")) or []
    claims = [one for one in points if isinstance(one, str) and one.strip()]
    if row.get("gt_keypoints") and (len(claims) < len(points) or not claims):
        notes.add("key points left out, because they are not lists of texts", place)
    return [
        {
            "question": question,
            "category": "chart and text" if len(quotes) == 2 else "chart" if chart else "text",
            "id": str(row["id"]) if isinstance(row.get("id"), int | str) else None,
            "reference": text_of(row, "gt_answer"),
            "reference_claims": claims,
            "quotes": quotes,
        }
    ]
