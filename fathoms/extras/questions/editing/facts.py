"""What one person sees of a table of facts and mends in it; each change is saved to its file at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import RLock
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from fathoms.corpora import read_questions
from fathoms.errors import FathomsError, StoreError, UsageError
from fathoms.extras.questions.computed.choosing import changes_of, compared
from fathoms.extras.questions.computed.table import Fact, Facts, read_facts, unreadable, written_facts
from fathoms.extras.questions.editing.fields import Short
from fathoms.extras.questions.editing.session import PagePictures, stamp
from fathoms.extras.questions.making.single import box_of
from fathoms.extras.questions.making.verbatim import passage
from fathoms.paths import write_atomic
from fathoms.safety.inputs import read_file
from fathoms.types import Document

_AROUND = 160
"""How many characters of a page are shown before and after a value."""
_MOST_UNDONE = 200


class Row(BaseModel):
    """A row as the page shows it."""

    model_config = ConfigDict(extra="forbid")

    document: Short
    page: int = Field(strict=True, ge=1, lt=10**8)
    field: Short
    value: str = Field(min_length=1, max_length=100_000)
    unit: Short
    check: str = Field(max_length=100_000)


class FactChange(BaseModel):
    """What the page asks for: a change of the row `number`, which it showed as `seen`. A mended row has
    `page`, `value` and `unit`; it counts as checked, as one does that is marked so."""

    model_config = ConfigDict(extra="forbid")

    number: int = Field(strict=True, ge=0)
    act: Literal["mend", "check", "delete"]
    seen: Row
    page: int | None = Field(default=None, strict=True, ge=1, lt=10**8)
    value: str | None = Field(default=None, max_length=100_000)
    unit: Short | None = None


class FactsEditing:
    """The changes of one person to a table of facts. `documents` are parsed, and `questions` is the file of
    questions that were computed from the table, if there is one."""

    def __init__(
        self,
        path: Path,
        person: str,
        paths: Mapping[str, Path],
        documents: Mapping[str, Document],
        questions: Path | None = None,
    ) -> None:
        self.path = path
        self._person = person
        self._documents = documents
        self._questions = questions
        self._pictures = PagePictures(paths)
        self._names = sorted(paths)
        self._lock = RLock()
        self._past: list[tuple[Fact, ...]] = []
        self._has_backup = False
        self._read()

    def counts(self) -> dict[str, int]:
        """Return how many facts there are, are still to be looked at, and were checked by people."""
        with self._lock:
            self._refresh()
            rows, wrong = self._facts.rows, unreadable(self._facts.rows)
            return {
                "facts": len(rows),
                "open": sum(bool(fact.check) or number in wrong for number, fact in enumerate(rows)),
                "checked": sum(bool(fact.checked_by) for fact in rows),
            }

    def state(self) -> dict[str, Any]:
        """Return what the page shows of the whole table: rows that a person has to look at come first."""
        with self._lock:
            self._refresh()
            wrong = unreadable(self._facts.rows)
            rows = [
                {**_as_row(fact), "number": number, "wrong": wrong.get(number, ""), "by": fact.checked_by}
                for number, fact in enumerate(self._facts.rows)
            ]
            rows.sort(key=lambda row: not (row["check"] or row["wrong"]))
            return {
                "title": self.path.name,
                "person": self._person,
                "rows": rows,
                "open": sum(bool(row["check"] or row["wrong"]) for row in rows),
                "can_undo": bool(self._past),
                "questions": self._questions.name if self._questions else None,
                "documents": [{"name": name, "pages": self._pages(name)} for name in self._names],
            }

    def detail(self, number: int) -> dict[str, Any]:
        """Return what the page shows of one row: also the words around its value on the page, and the box in
        which they stand, where these are known. Raises IndexError."""
        with self._lock:
            self._refresh()
            fact = self._at(number)
            page = next((one for one in self._pages_of(fact.document) if one.number == fact.page), None)
            words = (fact.written, fact.value)
            found = page and next(filter(None, (passage(one, page.text, _AROUND) for one in words)), None)
            return {
                **_as_row(fact),
                "number": number,
                "wrong": unreadable(self._facts.rows).get(number, ""),
                "by": fact.checked_by,
                "at": fact.checked_at,
                "more": list(fact.more),
                "source": found,
                "is_parsed": page is not None,
                "box": box_of(found[1], page) if page and found else None,
            }

    def page(self, document: int, number: int) -> dict[str, Any]:
        """Return the picture of a page and its text as parsed; raises IndexError for an unknown document."""
        name = self._names[document]
        text = next((page.text for page in self._pages_of(name) if page.number == number), "")
        return {**self._pictures.page(name, number), "text": text}

    def change(self, request: FactChange) -> int:
        """Change or delete a row, and return its number. Raises IndexError for an unknown row, UsageError
        where it looks different now or cannot be changed so, and StoreError where it cannot be saved."""
        with self._lock:
            self._refresh()
            fact = self._at(request.number)
            if _as_row(fact) != request.seen.model_dump():
                raise UsageError("this row was changed elsewhere since it was shown: look at it once more")
            rows = list(self._facts.rows)
            if request.act == "delete":
                del rows[request.number]
                if not rows:
                    raise UsageError("the last row of a table cannot be deleted")
            else:
                rows[request.number] = self._checked(fact, request)
            before = self._facts.rows
            self._save(rows)
            self._past = [*self._past[1 - _MOST_UNDONE :], before]
            return request.number

    def undo(self) -> int:
        """Take the last change back, and return the number of its row. Raises UsageError where there is none,
        and StoreError."""
        with self._lock:
            self._refresh()
            if not self._past:
                raise UsageError("there is no change to undo, or another program has changed the file since")
            now, before = self._facts.rows, self._past[-1]
            self._save(before)
            del self._past[-1]
            pairs = enumerate(zip(now, before, strict=False))
            return next((at for at, (one, other) in pairs if _plain(one) != _plain(other)), len(before) - 1)

    def questions(self) -> dict[str, Any]:
        """Return which questions that were computed from the table have other answers now, or why that is not
        known."""
        if self._questions is None:
            return {"file": None}
        with self._lock:
            self._refresh()
            try:
                found = compared(self._facts, read_questions(self._questions).questions)
            except FathomsError as error:
                return {"file": self._questions.name, "error": str(error)}
        return {"file": self._questions.name, "computed": len(found), "changed": changes_of(found)}

    def _checked(self, fact: Fact, request: FactChange) -> Fact:
        """Return a row as a person mended it, or found it right."""
        if request.act == "mend":
            value = " ".join((request.value or "").split())
            if not value or request.page is None:
                raise UsageError("a row needs a page and a value: delete it if the document gives none")
            pages = self._pages(fact.document)
            if pages is not None and request.page > pages:
                raise UsageError(f"{fact.document} has {pages} pages, so it has no page {request.page}")
            fact = replace(fact, page=request.page, value=value, unit=" ".join((request.unit or "").split()))
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return replace(fact, check="", checked_by=self._person, checked_at=now)

    def _save(self, rows: Sequence[Fact]) -> None:
        """Write the table; the file as it was before the first change stays beside it as NAME.bak."""
        try:
            if not self._has_backup:
                write_atomic(self.path.with_name(f"{self.path.name}.bak"), read_file(self.path))
                self._has_backup = True
            write_atomic(self.path, written_facts(rows, self._facts.separator).encode())
        except OSError as error:
            raise StoreError(f"{self.path}: cannot be written: {error.strerror or error}") from error
        self._read()

    def _refresh(self) -> None:
        """Read the table again, if another program has changed it: what was changed before cannot be undone
        then."""
        if stamp(self.path) != self._seen:
            self._read()
            self._past.clear()
            self._has_backup = False

    def _read(self) -> None:
        """Read the table of facts from its file."""
        self._seen = stamp(self.path)
        self._facts: Facts = read_facts(self.path)

    def _at(self, number: int) -> Fact:
        """Return a row by its number; raises IndexError."""
        if not 0 <= number < len(self._facts.rows):
            raise IndexError(number)
        return self._facts.rows[number]

    def _pages_of(self, name: str) -> Sequence[Any]:
        """Return the pages of a document as parsed."""
        found = self._documents.get(name)
        return () if found is None else found.pages

    def _pages(self, name: str) -> int | None:
        """Return the number of pages of a document, `None` if it was not parsed."""
        found = self._documents.get(name)
        return None if found is None else found.page_count or len(found.pages)


def _as_row(fact: Fact) -> dict[str, Any]:
    """Return a row as the page shows it."""
    return {name: getattr(fact, name) for name in Row.model_fields}


def _plain(fact: Fact) -> Fact:
    """Return a row without the place at which it stands in the file."""
    return replace(fact, place="")
