"""The data types of the linter: rules, the input that they check, and the findings that they return."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from fathoms.config import Key
from fathoms.corpora import Places
from fathoms.extras.questions.texts import Texts
from fathoms.types import Question

Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class Finding:
    """One problem that the linter found.

    `code` is the name of the rule and `question` the id of the question. Line and column count from 1; they
    are `None` if the file format gives no position or the finding is about the whole file.
    """

    code: str
    severity: Severity
    message: str
    file: str
    line: int | None = None
    column: int | None = None
    question: str | None = None

    def __str__(self) -> str:
        """Format the finding like a compiler message: `questions.json:12:7: error phrase-absent: ...`."""
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        return f"{place}: {self.severity} {self.code}: {self.message}"


class Found(NamedTuple):
    """What a rule reports: a problem with a question (`number` from 0, and the `key` of the value in it),
    with a line of the file, or with a category."""

    message: str
    number: int | None = None
    key: Key = ()
    line: int | None = None
    category: str | None = None


@dataclass(frozen=True)
class Subject:
    """The input of every rule: the questions with their positions in the file, and the parsed documents.

    `skipped` holds the line and the description of each thing that the reader skipped. `paths` maps the names
    of all documents to their files, and `failures` maps those that could not be parsed to the reason.
    """

    path: Path
    questions: tuple[Question, ...]
    places: Places
    skipped: tuple[tuple[int, str], ...]
    paths: Mapping[str, Path]
    failures: Mapping[str, str]
    texts: Texts

    def finding(self, rule: Rule, found: Found) -> Finding:
        """Make a finding from what a rule reported, with its line and column."""
        question: str | None = None
        line, column = found.line, None
        if found.number is not None:
            line, key = self.places.lines[found.number], found.key
            if key[:1] == ("answers",) and any(line == other for other, _ in self.skipped):
                # The reader skipped answer variants, so the indices of the others do not match the file.
                key = key[:1]
            line, column = self.places.at(found.number, key)
            question = self.questions[found.number].id
        elif found.category is not None:
            line, column = self.places.categories.get(found.category, (None, None))
        return Finding(rule.code, rule.severity, found.message, str(self.path), line, column, question)


@dataclass(frozen=True)
class Rule:
    """One linter rule: its name, its severity, and the function that finds violations."""

    code: str
    severity: Severity
    find: Callable[[Subject], Iterator[Found]]
