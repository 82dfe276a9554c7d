"""The values of questions as arrays, from which the figures of a run are computed."""

from __future__ import annotations

import math
from array import array
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from fathoms.metrics.question_facts import BareQuestion, DocumentSets, NumberedQuestions

if TYPE_CHECKING:
    from numpy import float64, int64
    from numpy.typing import ArrayLike, NDArray

    Values = NDArray[float64]
    Codes = NDArray[int64]

T = TypeVar("T")


@dataclass(frozen=True)
class Column:
    """The values of some questions, NaN where a metric does not apply.

    `category` has the place of each question's category in `names`, and `documents` the number of its gold
    documents in `sets`.
    """

    values: Values
    category: Codes
    documents: Codes
    names: Sequence[str]
    sets: DocumentSets

    def __len__(self) -> int:
        return len(self.values)

    def take(self, places: NDArray[Any]) -> Column:
        """Return the column of the questions at some places, or of those that a mask selects."""
        return replace(
            self,
            values=self.values[places],
            category=self.category[places],
            documents=self.documents[places],
        )

    def known(self) -> Column:
        """Return the column of the questions that have a value."""
        return self.take(self.values == self.values)

    def places(self) -> dict[str, Codes]:
        """Return the places of the questions of each category, in order of first appearance."""
        import numpy as np

        order = np.argsort(self.category, kind="stable")
        found = np.split(order, np.flatnonzero(np.diff(self.category[order])) + 1)
        groups = sorted((group for group in found if group.size), key=lambda group: int(group[0]))
        return {self.names[self.category[group[0]]]: group for group in groups}

    def by_category(self) -> dict[str, Column]:
        """Return the column of each category, in order of first appearance."""
        return {name: self.take(places) for name, places in self.places().items()}

    def as_one(self) -> Column:
        """Return the column with all questions in one category."""
        return replace(self, category=self.category * 0, names=("",))

    def mean(self) -> float | None:
        """Return the mean (with `math.fsum`) of the values that are known; `None` if none is."""
        known = self.values[self.values == self.values]
        return math.fsum(known.tolist()) / len(known) if len(known) else None

    def count(self) -> int:
        """Return the number of values that are known."""
        return int((self.values == self.values).sum())


class Repeated(Generic[T]):
    """Objects that repeat often, so that the value of each is looked up once.

    The scores of the records of a large run are such objects (`score_records.BareScores`).
    """

    def __init__(self, objects: Sequence[T]) -> None:
        import numpy as np

        self.different = list({id(one): one for one in objects}.values())
        places = {id(one): place for place, one in enumerate(self.different)}
        self._places = np.array([places[id(one)] for one in objects], dtype=int)

    def values(self, value: Callable[[T], float | None]) -> Values:
        """Return a value of every object, NaN for `None`."""
        import numpy as np

        found: Values = np.array(list(map(value, self.different)), dtype=float)[self._places]
        return found


def averaged(
    questions: NumberedQuestions, numbers: ArrayLike, values: Sequence[float | None] | Values
) -> Column:
    """Return the mean of the values of each question, in the order of the questions' numbers.

    `numbers` are those of the questions of some records, and `values` their values, `None` or NaN where a
    metric does not apply; these are left out of the mean.
    """
    import numpy as np

    number, value = np.asarray(numbers, dtype=int), np.asarray(values, dtype=float)
    present = np.flatnonzero(np.bincount(number))
    known = value == value
    times = np.bincount(number[known], minlength=len(questions))[present]
    sums = np.bincount(number[known], value[known], minlength=len(questions))[present]
    means = np.where(times > 0, sums / np.maximum(times, 1), np.nan)
    category, documents = np.array(questions.category_numbers), np.array(questions.set_numbers)
    return Column(means, category[present], documents[present], list(questions.categories), questions.sets)


def packed(column: array[Any]) -> str:
    """Return the bytes of an array as text, which takes a tenth of the time of a list of JSON numbers; for
    `unpacked` on the same machine."""
    return b64encode(column.tobytes()).decode("ascii")


def unpacked(text: str, like: array[Any]) -> array[Any]:
    """Return the array that was packed, of the type of `like`."""
    found = array(like.typecode)
    found.frombytes(b64decode(text))
    return found


def renumbered(text: str, like: array[Any], numbers: Sequence[int]) -> array[Any]:
    """Return an array of places in `numbers` that was packed as the array of these numbers."""
    return array(like.typecode, map(numbers.__getitem__, unpacked(text, like)))


def column_of(questions: Iterable[tuple[str, frozenset[str], Sequence[float | None]]]) -> Column:
    """Return the mean value of some questions, each with its category, its gold documents, and one value per
    repeat."""
    numbered = NumberedQuestions()
    numbers: list[int] = []
    values: list[float | None] = []
    for place, (category, documents, repeats) in enumerate(questions):
        number = numbered.number(BareQuestion(str(place), category, True, documents))
        numbers += [number] * len(repeats)
        values += repeats
    return averaged(numbered, numbers, values)
