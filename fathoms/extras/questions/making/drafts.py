"""Drafts: questions with all verdicts about them, stored beside the question set.

The folder `NAME.build` beside a question set `NAME.json` holds `drafts.jsonl`, with one draft a line,
accepted and dropped ones, and the replies of all models.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from fathoms.errors import DataError
from fathoms.paths import short_name, write_atomic
from fathoms.types import Question, StoredValue

FILE = "drafts.jsonl"


class Check(StoredValue):
    """One verdict about a draft. `check` names the check, such as `checklist` or `closed-book`, and `item`
    the part of it, such as `self-contained`; `reason` says why, in the words of the model or of the rule."""

    check: str
    item: str = ""
    passed: bool
    reason: str = ""

    @property
    def name(self) -> str:
        """The check with its item, such as `checklist: self-contained`."""
        return f"{self.check}: {self.item}" if self.item else self.check


class Draft(StoredValue):
    """A question with the verdicts about it, in the order of the checks."""

    question: Question
    checks: tuple[Check, ...] = ()

    @property
    def failed(self) -> Check | None:
        """The first check that the draft did not pass, for which it was dropped; `None` if it passed all."""
        return next((check for check in self.checks if not check.passed), None)

    def after(self, *checks: Check, question: Question | None = None) -> Draft:
        """Return the draft with further verdicts, and with another question where a check changed it."""
        return Draft(question=question or self.question, checks=(*self.checks, *checks))


def folder_of(path: Path) -> Path:
    """Return the folder of the drafts of a question set, which need not exist: `set.build` for `set.json`,
    and `set.csv.build` for `set.csv`."""
    return path.with_name(f"{short_name(path)}.build")


def read_drafts(path: Path) -> list[Draft]:
    """Read all drafts of a question set, accepted and dropped ones; none if it was not made by `fathoms
    build`. Raises DataError for a line that is no draft."""
    file = folder_of(path) / FILE
    if not file.is_file():
        return []
    found = []
    for number, line in enumerate(file.read_text(encoding="utf-8").removesuffix("\n").split("\n"), 1):
        try:
            found.append(Draft.model_validate_json(line))
        except ValidationError as error:
            raise DataError(f"{file}:{number}: not a draft: {error.errors()[0]['msg']}") from None
    return found


def write_drafts(path: Path, drafts: Iterable[Draft]) -> None:
    """Write all drafts of a question set, in place of those that were there."""
    folder = folder_of(path)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(folder / FILE, "".join(f"{draft.model_dump_json()}\n" for draft in drafts).encode())
