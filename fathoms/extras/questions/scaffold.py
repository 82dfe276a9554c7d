"""Writes a question file to fill in, with two rows per PDF; `check` reports unfilled rows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from fathoms.corpora.csv_table import dump_rows
from fathoms.errors import DataError
from fathoms.text.ids import question_ids, slug
from fathoms.types import Document

PLACEHOLDER = "FILL IN:"
"""The marker at the start of every text that must be replaced."""
CATEGORY = "Text-Only"
COLUMNS = ("id", "category", "question", "answers", "files", "evidence", "answerable", "comment")
_LONGEST_TITLE = 80


def scaffold(documents: Iterable[Document], ending: str) -> str:
    """Return the text of a question file for some documents, as `.json`, `.jsonl`, `.ndjson` or `.csv`.

    Each PDF gets one row for a question that it answers and one for a question that it does not answer. The
    `comment` column gives its page count and its first line. Raises DataError if there is no document.
    """
    rows = [row for document in documents for row in _rows(document)]
    ids = question_ids([slug(row["files"][0].removesuffix(".pdf")) for row in rows])
    rows = [{"id": own_id, **row} for own_id, row in zip(ids, rows, strict=True)]
    if not rows:
        raise DataError("none of the PDFs can be read, so there is nothing to ask about")
    if ending == ".csv":
        return dump_rows(rows, COLUMNS)
    if ending == ".json":
        bare = [{key: value for key, value in row.items() if key != "category"} for row in rows]
        return json.dumps({CATEGORY: bare}, ensure_ascii=False, indent=2) + "\n"
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _rows(document: Document) -> list[dict[str, Any]]:
    """Return the two rows of a document."""
    count = document.page_count or len(document.pages)
    lines = (line.strip() for page in document.pages for line in page.text.splitlines())
    first = next((line for line in lines if line), "")
    beginning = f"'{first[:_LONGEST_TITLE]}'" if first else "with no text as parsed (a scan?)"
    about = f"{document.id}: {count} page{'' if count == 1 else 's'}; begins: {beginning}"
    return [
        {
            "category": CATEGORY,
            "question": f"{PLACEHOLDER} a question that this document answers",
            "answers": [[f"{PLACEHOLDER} the words that a right answer must hold"]],
            "files": [document.id],
            "evidence": [{"document": document.id, "page": 1}],
            "comment": f"{about}; evidence: the page of the answer, 1 to {count}",
        },
        {
            "category": CATEGORY,
            "question": f"{PLACEHOLDER} a question that no document answers",
            "answers": [],
            "files": [document.id],
            "answerable": False,
            "comment": f"{about}; the right reaction is to say that it is not there",
        },
    ]
