"""Writes what a run retrieved as JSON lines, one question a line, as `reading/hits.py` reads them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fathoms.corpora.writing import write_new
from fathoms.types import Hit, Record


def write_hits(records: Sequence[Record], path: Path) -> None:
    """Write the hits of records to a new file. Records without known hits get null.

    Raises UsageError if the file exists, and StoreError if it cannot be written.
    """
    rows = (json.dumps(_row(record), ensure_ascii=False, allow_nan=False) for record in records)
    write_new(path, "".join(row + "\n" for row in rows))


def _row(record: Record) -> dict[str, Any]:
    """Return the line of one record."""
    row: dict[str, Any] = {"id": record.question.id}
    failed = record.error is not None and not record.hits
    row["hits"] = None if failed or record.hits is None else [_hit(hit) for hit in record.hits]
    if failed and record.error:
        row["error"] = record.error.message
    if record.rounds:
        row["rounds"] = [
            {"query": one.query, "hits": [_hit(hit) for hit in one.hits], "calls": one.calls}
            for one in record.rounds
        ]
    return row


def _hit(hit: Hit) -> dict[str, Any]:
    """Return one hit; what is not known of it is left out."""
    chunk = hit.chunk
    found: dict[str, Any] = {"document": chunk.document, "rank": hit.rank, "score": hit.score}
    if len(chunk.pages) == 1:
        found["page"] = chunk.pages[0]
    elif chunk.pages:
        found["pages"] = list(chunk.pages)
    if chunk.boxes:
        found["boxes"] = [{"page": box.page, "bbox": list(box.bbox)} for box in chunk.boxes]
    if chunk.text or chunk.whole:
        found["text"] = chunk.text
    if chunk.modality != "text":
        found["modality"] = chunk.modality
    found["chunk"] = chunk.id
    return found
