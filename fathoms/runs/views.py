"""The question files of a run (`questions/<id>.json`)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fathoms.errors import StoreError
from fathoms.paths import old_unique_name, safe_name
from fathoms.runs.folder import read_checked
from fathoms.types import Record


def view_of(record: Record, scores: dict[str, Any]) -> dict[str, Any]:
    """One record as its question file shows it: the answer and its scores first, then how it was produced."""
    whole = record.model_dump(mode="json", exclude={"question", "released"})
    hits = record.hits and [
        {"rank": hit.rank, "score": hit.score, "document": hit.chunk.document}
        | {"pages": list(hit.chunk.pages), "modality": hit.chunk.modality}
        | ({"header": hit.chunk.header} if hit.chunk.header else {})
        | {"text": hit.chunk.text}
        for hit in record.hits
    ]
    if record.prompt and any(record.prompt.context in message.text for message in record.prompt.messages):
        del whole["prompt"]["context"]  # it is a part of the message
    first = {key: whole.pop(key) for key in ("repeat", "answer", "error")}
    return {**first, "scores": scores, **whole, "hits": hits}


def view_names(question: str) -> tuple[str, str]:
    """The name of a question's file under `questions/`, and its name in runs of earlier versions."""
    return f"{safe_name(question, unique=True)}.json", f"{old_unique_name(question)}.json"


def read_views(root: Path) -> Iterator[dict[str, Any]]:
    """Yield every question file of a run, sorted by name.

    Raises StoreError for a damaged file, and for one that has the name of another question, because a
    question would then be counted twice.
    """
    for path in sorted((root / "questions").glob("*.json")):
        view = read_checked(root, f"questions/{path.name}", "question")
        name, old = view_names(view["question"]["id"])
        if path.name == old != name and os.path.lexists(path.with_name(name)):
            continue  # there is a newer file with the current name
        if path.name not in (name, old):
            raise StoreError(f"{path} holds a question whose file is {name}: 'fathoms score' sets it aside")
        yield view


def require_all(run_dir: Path, summary: Mapping[str, Any], found: int) -> None:
    """Raise StoreError unless a run's question files hold as many answers as its summary counts."""
    counts = summary.get("counts") or {}
    counted = counts.get("answered", 0) + counts.get("errors", 0)
    if "answered" in counts and counted != found:
        raise StoreError(
            f"{run_dir}: its summary counts {counted} answers, and its question files hold {found}:"
            f" run 'fathoms score {run_dir}'"
        )
