"""The rows of Double-Bench (Shen et al. 2025): single-hop and multi-hop questions in six languages.

Pages count from 0 in the files, and documents are folders of page images (`docs/English/0786`). The keys of
a step end in the number of its hop, from 0 (`question0`, `question1`).
"""

from __future__ import annotations

import re
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
    text_of,
)

KEYS = frozenset({"question", "reference_page", "doc_path"})
"""The keys by which a row is recognised."""
_NUMBERED = re.compile(r"(question|answer)(\d{1,3})")


def questions(row: dict[str, Any], place: str, notes: Notes) -> list[dict[str, Any]]:
    """Return a row as a question in the keys of `rows`; none if it has no text or no document."""
    question, path = text_of(row, "question"), text_of(row, "doc_path")
    if question is None or path is None:
        notes.add("rows left out, because 'question' or 'doc_path' is not a text", place)
        return []
    document = document_name(path)
    steps = row.get("steps")
    if steps is not None and (not isinstance(steps, list) or not all(isinstance(one, dict) for one in steps)):
        notes.add("rows left out, because 'steps' is not a list of objects", place)
        return []
    kinds = listed(row["source_type"]) if isinstance(row.get("source_type"), list) else None
    kind = only(kinds) if kinds is not None else text_of(row, "source_type") or text_of(row, "modality")
    gold = pages_of(row.get("reference_page"), 0, place, notes)
    hops = _in_order(steps, place, notes) if steps else []
    evidence: list[dict[str, Any]] = []
    for number, step in enumerate(hops, start=1):
        pages = pages_of(step.get("reference_page"), 0, place, notes)
        if not pages:
            notes.add("hops without a gold page, kept as steps without evidence", place)
        evidence += [{"document": document, "page": page, "step": number, "modality": kind} for page in pages]
    of_hops = {item["page"] for item in evidence}
    rest = [page for page in gold if page not in of_hops]
    if hops and rest:
        notes.add("questions with gold pages that belong to none of the hops, kept without a step", place)
    evidence += [{"document": document, "page": page, "modality": kind} for page in rest]
    answer = text_of(row, "answer")
    if not evidence:
        notes.add(NO_PAGE if answer else NEITHER, place)
        if not answer:
            return []
    uid = row.get("uid")
    return [
        {
            "question": question,
            "category": f"{len(hops)}-hop" if hops else "single-hop",
            "id": uid if isinstance(uid, str) and uid.strip() else None,
            "reference": answer,
            "evidence": evidence,
            "hops": len(hops) or 1,
            "steps": [_step(step) for step in hops],
            "metadata": metadata_of(
                row, "language", "doc_type", "query_type", "source_type", "modality", "doc_path"
            ),
        }
    ]


def _in_order(steps: list[dict[str, Any]], place: str, notes: Notes) -> list[dict[str, Any]]:
    """Return the steps in the order of the numbers in their keys, or as they are for other numbers."""
    numbers = [
        next((int(found[2]) for key in step if (found := _NUMBERED.fullmatch(key))), -1) for step in steps
    ]
    if sorted(numbers) != list(range(len(steps))):
        notes.add("questions whose steps are not numbered 0, 1, ..., taken in their order", place)
        return steps
    return [steps[numbers.index(number)] for number in range(len(steps))]


def _step(step: dict[str, Any]) -> dict[str, str]:
    """Return the sub-question and answer of a step."""
    named = {found[1]: value for key, value in step.items() if (found := _NUMBERED.fullmatch(key))}
    return {key: value for key, value in named.items() if isinstance(value, str)}
