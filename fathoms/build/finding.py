"""What a rule finds, and what it looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from fathoms.build.texts import Texts
from fathoms.config import Key
from fathoms.corpora import Places
from fathoms.types import Question

Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class Finding:
    """One complaint: `code` names the rule, `question` the id; line and column count from 1, and are `None`
    where the format does not tell them or the complaint is of the whole file."""

    code: str
    severity: Severity
    message: str
    file: str
    line: int | None = None
    column: int | None = None
    question: str | None = None

    def __str__(self) -> str:
        """`questions.json:12:7: error phrase-absent: ...`"""
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        return f"{place}: {self.severity} {self.code}: {self.message}"


class Found(NamedTuple):
    """A complaint: of a value of the question with a `number` (from 0), of a line, or of a category."""

    message: str
    number: int | None = None
    key: Key = ()
    line: int | None = None
    category: str | None = None


@dataclass(frozen=True)
class Subject:
    """What is checked: the questions of a file with their places, and their documents as parsed.

    `skipped` is what the reader passed over, after its line; `paths` are all documents by name, `failures`
    why some of them could not be read.
    """

    path: Path
    questions: tuple[Question, ...]
    places: Places
    skipped: tuple[tuple[int, str], ...]
    paths: Mapping[str, Path]
    failures: Mapping[str, str]
    texts: Texts

    def finding(self, rule: Rule, found: Found) -> Finding:
        """A complaint with its place."""
        question: str | None = None
        line, column = found.line, None
        if found.number is not None:
            line, column = self.places.at(found.number, self._written(found.number, found.key))
            question = self.questions[found.number].id
        elif found.category is not None:
            line, column = self.places.categories.get(found.category, (None, None))
        return Finding(rule.code, rule.severity, found.message, str(self.path), line, column, question)

    def _written(self, number: int, key: Key) -> Key:
        """A key as the file has it: where variants were passed over, those that are left are counted anew."""
        line = self.places.lines[number]
        moved = key[:1] == ("answers",) and any(line == other for other, _ in self.skipped)
        return key[:1] if moved else key


@dataclass(frozen=True)
class Rule:
    """One rule: its name, how grave it is, and the function that finds what breaks it."""

    code: str
    severity: Severity
    find: Callable[[Subject], Iterator[Found]]
