"""What the figures of a run need to know of its questions and records: little, so that the questions of large
runs fit into memory."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from fathoms.types import Failure

if TYPE_CHECKING:
    from numpy import int64
    from numpy.typing import NDArray

    Codes = NDArray[int64]


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
class BareQuestion:
    """A question without its texts."""

    id: str
    category: str
    answerable: bool
    gold_documents: frozenset[str]


@dataclass(frozen=True, slots=True)
class BareRecord:
    """A record without its texts."""

    question: BareQuestion
    error: Failure | None = None


class DocumentSets:
    """The different sets of gold documents of questions, each with a number from 0."""

    def __init__(self) -> None:
        self._numbers: dict[frozenset[str], int] = {}
        self._sets: list[frozenset[str]] = []
        self._groups: dict[bytes, Codes | None] = {}

    def __getitem__(self, number: int) -> frozenset[str]:
        return self._sets[number]

    def number(self, documents: frozenset[str]) -> int:
        """Return the number of a set, which is added if it is new."""
        number = self._numbers.get(documents)
        if number is None:
            number = self._numbers[documents] = len(self._sets)
            self._sets.append(documents)
        return number

    def shared(self, documents: frozenset[str]) -> frozenset[str]:
        """Return the set that is kept of equal ones, which is added if it is new."""
        return self._sets[self.number(documents)]

    def groups(self, numbers: Codes) -> Codes | None:
        """Return the number of the document group of each question, given the numbers of their sets; `None`
        if a set is empty.

        Groups are numbered in order of first appearance. Questions that share a document, directly or through
        other questions, are in one group. Most metrics of a run apply to the same questions, so the groups of
        the different sets are kept.
        """
        import numpy as np

        from fathoms.stats.clusters import connected

        different, first, of = np.unique(numbers, return_index=True, return_inverse=True)
        order = np.argsort(first)
        key = different[order].tobytes()
        if key not in self._groups:
            sets = [self._sets[number] for number in different[order]]
            self._groups[key] = np.array(connected(sets)) if all(sets) else None
        found = self._groups[key]
        return None if found is None else found[np.argsort(order)[of]]


class NumberedQuestions:
    """The questions of a run in the order in which they are first seen, each with a number from 0.

    `category_numbers` has the place of each question's category in `categories`, and `set_numbers` the number
    of its gold documents in `sets`. `weights` say of each category for how many questions one of its
    questions stands; they are empty unless the run is a sample that has more of some categories than others.
    """

    def __init__(self, weights: Mapping[str, float] | None = None) -> None:
        self.weights = weights or {}
        self.categories: dict[str, int] = {}
        self.category_numbers = array("i")
        self.sets = DocumentSets()
        self.set_numbers = array("i")
        self._numbers: dict[str, int] = {}
        self._questions: list[BareQuestion] = []

    def __iter__(self) -> Iterator[BareQuestion]:
        return iter(self._questions)

    def __len__(self) -> int:
        return len(self._questions)

    def __getitem__(self, number: int) -> BareQuestion:
        return self._questions[number]

    def number(self, question: QuestionFacts) -> int:
        """Return the number of a question, which is added if it is new."""
        number = self._numbers.get(question.id)
        if number is None:
            number = self._numbers[question.id] = len(self._questions)
            category, documents = question.category, self.sets.number(question.gold_documents)
            self.category_numbers.append(self.categories.setdefault(category, len(self.categories)))
            self.set_numbers.append(documents)
            shared = self.sets[documents]  # many questions share their set of documents
            if not isinstance(question, BareQuestion) or question.gold_documents is not shared:
                question = BareQuestion(question.id, category, question.answerable, shared)
            self._questions.append(question)
        return number
