"""A small question set to edit, and what is needed to look at it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fathoms.extras.questions.editing import Editing, Material
from fathoms.extras.questions.editing.complaints import Checker
from fathoms.extras.questions.editing.session import DecisionRequest
from fathoms.extras.questions.making.drafts import Draft
from fathoms.extras.questions.texts import Texts
from fathoms.types import Document, Page

PAGES = ("The Varn tower is 41.5 m tall.", "Its door is painted green.")
HOSTILE = '</textarea><img src=x onerror="alert(1)"><script>alert(2)</script>\u202e'
DOCUMENT = Document(
    id="varn.pdf",
    path=Path("varn.pdf"),
    sha256="",
    pages=tuple(Page(number=number, text=text) for number, text in enumerate(PAGES, start=1)),
)


def row(name: str, **more: Any) -> dict[str, Any]:
    """A question about the tower, as a row of a file."""
    gold = {"answers": [["41.5"]], "files": ["varn.pdf"], "evidence": [{"document": "varn.pdf", "page": 1}]}
    return {"id": name, "question": f"How tall is the tower of {name}?", "category": "A", **gold, **more}


def write_set(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """A question file in JSON lines."""
    path.write_text("".join(f"{json.dumps(one)}\n" for one in rows))
    return path


def material(path: Path, drafts: Sequence[Draft] = ()) -> Material:
    """What is needed to look at a set on the tower."""
    documents = {"varn.pdf": DOCUMENT}
    checker = Checker(path, {"varn.pdf": Path("varn.pdf")}, {}, Texts(documents))
    return Material(checker, documents, drafts)


def editing(path: Path, person: str = "ann", drafts: Sequence[Draft] = (), **options: Any) -> Editing:
    """The editing of one person."""
    return Editing(material(path, drafts), person, **options)


def mend(
    session: Editing, number: int, *, anyway: bool = False, seen: dict[str, Any] | None = None, **fields: Any
) -> None:
    """Mend some fields of an entry, as the page does, which shows it as `seen` or as it is now."""
    seen = seen or {name: session.detail(number)[name] for name in ("fields", "own")}
    shown = {**seen["fields"], **fields}
    some_fields = {"number": number, "decision": "mend", "fields": shown, "anyway": anyway, "seen": seen}
    session.decide(DecisionRequest.model_validate(some_fields))


def decide(session: Editing, number: int, decision: str, **more: Any) -> None:
    """Decide about an entry without changing it."""
    session.decide(DecisionRequest.model_validate({"number": number, "decision": decision, **more}))
