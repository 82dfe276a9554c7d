"""The annotations of MMDocIR (Dong et al. 2025): a line for each document, with questions, pages and boxes.

Pages count from 0. A box is `[x0, y0, x1, y1]` in the units of its `page_size`, from the top left of the
page. `page_size` is the size of the PDF's page in points, and so is the page that is made of its picture here
(`picture_documents`): boxes are points already, and are taken as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
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

KEYS = frozenset({"doc_name", "questions", "domain"})
"""The keys by which a row is recognised."""


def questions(row: dict[str, Any], place: str, notes: Notes) -> list[dict[str, Any]]:
    """Return the questions of a document in the keys of `rows`."""
    document, items = text_of(row, "doc_name"), row.get("questions")
    if document is None or not isinstance(items, list):
        notes.add("documents left out, because 'doc_name' or 'questions' has the wrong type", place)
        return []
    found = []
    for one in items:
        if not isinstance(one, dict) or text_of(one, "Q") is None:
            notes.add("questions left out, because 'Q' is not a text", place)
            continue
        found += _question(one, document_name(document), row, place, notes)
    return found


def _question(
    one: dict[str, Any], document: str, row: dict[str, Any], place: str, notes: Notes
) -> list[dict[str, Any]]:
    """Return one question, with a piece of evidence for each box and for each gold page without a box."""
    pages = pages_of(one.get("page_id"), 0, place, notes)
    kind = only(listed(one.get("type")) or [])
    boxes = list(_boxes(one.get("layout_mapping"), pages, place, notes))
    answer = text_of(one, "A")
    if not pages:
        notes.add(NO_PAGE if answer else NEITHER, place)
        if not answer:
            return []
    evidence = [{"document": document, "page": page, "bbox": box, "modality": kind} for page, box in boxes]
    with_box = {page for page, _ in boxes}
    evidence += [
        {"document": document, "page": page, "modality": kind} for page in pages if page not in with_box
    ]
    return [
        {
            "question": one["Q"],
            "category": text_of(row, "domain") or "Uncategorised",
            "files": [document],
            "evidence": evidence,
            "metadata": metadata_of({**one, "domain": row.get("domain")}, "domain", "type"),
            **(short_gold(answer) if answer else {}),
        }
    ]


def _boxes(
    layouts: Any, pages: list[int], place: str, notes: Notes
) -> Iterator[tuple[int, tuple[float, float, float, float]]]:
    """Yield the page, from 1, and the box in points of each layout that can be used."""
    for layout in layouts if isinstance(layouts, list) else []:
        number = layout.get("page") if isinstance(layout, dict) else None
        box = _numbers(layout.get("bbox"), 4) if isinstance(layout, dict) else None
        if not isinstance(number, int) or box is None or box[0] >= box[2] or box[1] >= box[3]:
            notes.add("boxes left out, because they are not four numbers around an area", place)
        elif number + 1 not in pages:
            notes.add("boxes left out, because their page is not a gold page", place)
        else:
            yield number + 1, (box[0], box[1], box[2], box[3])


def page_sizes(row: dict[str, Any]) -> tuple[str, dict[int, tuple[float, float]]]:
    """Return the file name of a document, and the sizes of those of its pages (from 1) that have boxes."""
    sizes = {}
    for one in row.get("questions") or []:
        for layout in (one.get("layout_mapping") or []) if isinstance(one, dict) else []:
            size = _numbers(layout.get("page_size"), 2) if isinstance(layout, dict) else None
            if size and min(size) > 0 and isinstance(layout.get("page"), int):
                sizes[layout["page"] + 1] = (size[0], size[1])
    return document_name(str(row.get("doc_name"))), sizes


def _numbers(value: Any, count: int) -> list[float] | None:
    """Return a list of so many numbers, or `None`."""
    if not isinstance(value, list) or len(value) != count:
        return None
    return [float(one) for one in value] if all(type(one) in (int, float) for one in value) else None
