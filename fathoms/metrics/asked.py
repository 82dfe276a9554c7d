"""What the figures of a run need to know of its questions and records: little, so that the questions of large
runs fit into memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from fathoms.types import Failure


class QuestionFacts(Protocol):
    """What figures read of a question; `types.Question` has it too."""

    @property
    def id(self) -> str: ...
    @property
    def category(self) -> str: ...
    @property
    def answerable(self) -> bool: ...
    @property
    def gold_documents(self) -> frozenset[str]: ...


class RecordFacts(Protocol):
    """What figures read of a record; `types.Record` has it too."""

    @property
    def question(self) -> QuestionFacts: ...
    @property
    def error(self) -> Failure | None: ...


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question without its texts."""

    id: str
    category: str
    answerable: bool
    gold_documents: frozenset[str]


@dataclass(frozen=True, slots=True)
class AskedRecord:
    """A record without its texts."""

    question: AskedQuestion
    error: Failure | None = None


class Asked:
    """The questions of a run in the order in which they are first seen, each with a number from 0."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._questions: list[AskedQuestion] = []
        self._documents: dict[frozenset[str], frozenset[str]] = {}

    def __iter__(self) -> Iterator[AskedQuestion]:
        return iter(self._questions)

    def __len__(self) -> int:
        return len(self._questions)

    def __getitem__(self, number: int) -> AskedQuestion:
        return self._questions[number]

    def number(self, question: QuestionFacts) -> int:
        """Return the number of a question, which is added if it is new."""
        number = self._numbers.get(question.id)
        if number is None:
            number = self._numbers[question.id] = len(self._questions)
            documents = question.gold_documents
            documents = self._documents.setdefault(documents, documents)  # many questions share theirs
            self._questions.append(
                AskedQuestion(question.id, question.category, question.answerable, documents)
            )
        return number
