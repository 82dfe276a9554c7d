"""Writes an edited set, in place or to another file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from fathoms.corpora import read_questions, refuse_existing
from fathoms.corpora.questions import format_of
from fathoms.corpora.writing import DUMPERS, dumped
from fathoms.errors import DataError, StoreError, UsageError
from fathoms.extras.questions.editing.standing import Standing
from fathoms.extras.questions.making.manifest import note_edits
from fathoms.paths import write_atomic
from fathoms.safety.inputs import read_file


class Target:
    """Where an edited set is written: in the place of the set (`source`), whose last version is then kept
    beside it, or to a new file (`to`), which this object may write again."""

    def __init__(self, source: Path, to: Path | None) -> None:
        self.path = to or source
        self._source = source
        self._to = to
        self._is_ours = False
        if to is not None:
            refuse_existing(to)

    @property
    def in_place(self) -> bool:
        """Whether the set itself is written."""
        return self._to is None

    def unwritten(self, found: Iterable[Standing]) -> int:
        """Return how many entries are not in the file as people decided."""
        if self._to is None:
            return sum(one.result != one.entry.now for one in found)
        ours = read_questions(self._to).questions if self._is_ours else ()
        there = {question.id: question for question in ours}
        return sum(one.result != there.get(one.entry.question.id) for one in found)

    def require_writable(self) -> None:
        """Raise UsageError where writing would lose something of the set, or overwrite another file."""
        if self._to is not None:
            format_of(self._to)
            if not self._is_ours:
                refuse_existing(self._to)
        elif lost := self._lost():
            raise UsageError(
                f"{self._source} cannot be edited in place, because {lost}: add --to and a new file"
            )

    def _lost(self) -> str | None:
        """Return why the set cannot be written as it is; `None` if it can."""
        if self._source.suffix.lower() not in DUMPERS:
            return f"it would have to be one of {', '.join(DUMPERS)}"
        if not self._source.exists():
            return None
        file = read_questions(self._source)
        if file.released:
            return "it has the format of a released data set"
        return f"it would lose its {', '.join(file.ignored)}" if file.ignored else None

    def write(self, text: str) -> str | None:
        """Write the text of the set, and return the name of the file that keeps its last version, `None`
        where there is none; raises StoreError."""
        backup = None
        try:
            if self.in_place and self._source.exists():
                backup = f"{self._source.name}.bak"
                write_atomic(self._source.with_name(backup), read_file(self._source))
            write_atomic(self.path, text.encode())
        except OSError as error:
            raise StoreError(f"{self.path}: cannot be written: {error.strerror or error}") from error
        self._is_ours = not self.in_place
        return backup


class Written(NamedTuple):
    """The number of questions in the file of a set, and the name of the file that has the last version, if
    this one was written in its place."""

    questions: int
    backup: str | None


def write_set(target: Target, found: Sequence[Standing]) -> Written:
    """Write the questions as people decided, unless the file has them so already. Raises UsageError or
    DataError where that is not possible, and StoreError where the file cannot be written."""
    target.require_writable()
    questions = [one.result for one in found if one.result is not None]
    if not questions:
        raise DataError(f"{target.path} was not written, because no question is left")
    if not target.unwritten(found):
        return Written(len(questions), None)  # writing it again would lose the last version
    changes = [said for one in found if (said := _change(one)) is not None]
    backup = target.write(dumped(target.path, questions))
    if target.in_place:
        note_edits(target.path, changes)
    return Written(len(questions), backup)


def _change(standing: Standing) -> str | None:
    """Say what the file of the set has otherwise for an entry; `None` if it has nothing otherwise."""
    now, result, name = standing.entry.now, standing.result, standing.entry.question.id
    if result == now:
        return None
    if result is None:
        return f"dropped {name}: people decided so"
    return f"took in {name}" if now is None else f"mended {name}"
