"""What reports show of all questions of a run: the lines of its table, the worst questions, the messages of
failures, and the marked questions.

To read all question files takes longer than anything else in a report. So whoever reads them collects all of
this at once, and the scoring of a large run collects it while it writes them.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import isfinite
from statistics import fmean
from typing import Any, NamedTuple, Protocol
from zlib import compress, decompress

from fathoms.runs.marks import MARKS
from fathoms.runs.views import BriefQuestion, BriefRepeat, BriefScores, brief_question_of
from fathoms.safety.spreadsheet import csv_line
from fathoms.types import Question, Record
from fathoms.types.run.part import Number

COLUMNS = (
    "question",
    "category",
    "repeat",
    "answerable",
    "correctness",
    "hallucination",
    "abstained",
    "error",
    "prompt_tokens",
    "completion_tokens",
    "cost",
    "latency",
    "text",
)
"""The first cells of a line; the values of metrics follow."""
MOST = 10
"""The number of worst questions that are kept."""
EXCERPT = 2000
"""The characters of a message that are kept."""
_TOGETHER = 1_000
"""How many lines are compressed together."""
_END = "\r\n"


class OneScore(Protocol):
    """The scores of one answer under one profile, as `BriefScores`."""

    @property
    def correctness(self) -> Number | None: ...

    @property
    def hallucination(self) -> Number | None: ...

    @property
    def abstained(self) -> bool | None: ...


class Missed(NamedTuple):
    """A question that was not fully right or was hallucinated, with the means over its repeats."""

    correctness: float | None
    hallucination: float | None
    question: BriefQuestion

    @property
    def badness(self) -> tuple[float, float]:
        """The place among the worst questions, see `_badness`."""
        return _badness(self.correctness, self.hallucination)


class QuestionTables:
    """Collects what reports show of questions under one profile, question by question.

    `worst` are the worst questions, the worst first; of equal ones, the earlier first. `messages` are the
    first messages of every kind of failure, and `marked` the metadata of the questions that have one of
    `MARKS`, by their ids. `metrics` are those whose values are at the end of each line.
    """

    def __init__(self, profile: str, metrics: Iterable[str]) -> None:
        self.profile = profile
        self.metrics = tuple(metrics)
        self.worst: list[Missed] = []
        self.messages: dict[str, str] = {}
        self.marked: dict[str, Mapping[str, Any]] = {}
        self._lines: list[str] = []
        self._packed: list[bytes] = []  # earlier lines, which would take six times the memory

    def add(self, view: BriefQuestion) -> None:
        """Add a question that was read from its file."""
        scores = [repeat.under(self.profile) for repeat in view.repeats]
        values = [map(repeat.value, self.metrics) for repeat in view.repeats]
        self._add(view.question, view.repeats, scores, values, lambda: view)

    def add_scored(
        self,
        records: Sequence[Record],
        rows: Sequence[Mapping[str, OneScore]],
        metrics: Sequence[Mapping[str, Mapping[str, Any]]],
        line: bytes,
    ) -> None:
        """Add a question that has just been scored and written as this line. This gives what reading the line
        would, which takes several times as long."""
        scores = [row.get(self.profile) or _NO_SCORES for row in rows]
        values = [[_finite(one.get(name, _NO_VALUE)["value"]) for name in self.metrics] for one in metrics]
        self._add(records[0].question, records, scores, values, lambda: brief_question_of(line))

    def _add(
        self,
        question: Question,
        repeats: Sequence[Record | BriefRepeat],
        scores: Sequence[OneScore],
        values: Sequence[Iterable[Number | None]],
        view: Callable[[], BriefQuestion],
    ) -> None:
        """Add a question; `view` reads it, which is done for few."""
        self._lines += map(_line, [question] * len(repeats), repeats, scores, values)
        if len(self._lines) >= _TOGETHER:
            self._pack()
        if any(repeat.error and repeat.error.kind not in self.messages for repeat in repeats):
            for repeat in view().repeats:
                if repeat.error is not None:
                    self.messages.setdefault(repeat.error.kind, repeat.error.message[:EXCERPT])
        if not MARKS.isdisjoint(question.metadata):
            marked = view().question
            self.marked[marked.id] = marked.metadata
        correctness = mean([score.correctness for score in scores])
        hallucination = mean([score.hallucination for score in scores])
        if hallucination or not (correctness is None or correctness >= 1):
            self._miss(correctness, hallucination, view)

    def _miss(
        self, correctness: float | None, hallucination: float | None, view: Callable[[], BriefQuestion]
    ) -> None:
        """Add a question to the worst ones, if it is one of them."""
        if len(self.worst) < MOST or _badness(correctness, hallucination) < self.worst[-1].badness:
            insort(self.worst, Missed(correctness, hallucination, view()), key=lambda one: one.badness)
            del self.worst[MOST:]

    def lines(self, metrics: Sequence[str]) -> Iterator[str]:
        """Yield a line of CSV for every question and repeat: the cells of `COLUMNS`, then the values of
        `metrics`, which are empty where no question has any."""
        count = len(self.metrics)
        places = [0, *(self.metrics.index(name) + 1 if name in self.metrics else -1 for name in metrics)]
        self._pack()
        for lines in self._packed:
            for line in decompress(lines).decode().split(_END)[:-1]:
                cells = [*line.rsplit(",", count), ""]  # values are numbers, so they have no commas
                yield ",".join([cells[place] for place in places]) + _END

    def state(self) -> dict[str, Any]:
        """Return everything that was collected as JSON values, for `extend`."""
        self._pack()
        return {
            "lines": [b64encode(lines).decode("ascii") for lines in self._packed],
            "messages": self.messages,
            "marked": self.marked,
            "worst": [(*missed[:2], missed.question.model_dump(mode="json")) for missed in self.worst],
        }

    def extend(self, state: Mapping[str, Any]) -> None:
        """Add what another process has collected of the questions that follow."""
        self._pack()
        self._packed += map(b64decode, state["lines"])
        for kind, message in state["messages"].items():
            self.messages.setdefault(kind, message)
        self.marked |= state["marked"]
        for correctness, hallucination, question in state["worst"]:
            self._miss(correctness, hallucination, partial(BriefQuestion.model_validate, question))

    def _pack(self) -> None:
        """Compress the lines that are not compressed yet."""
        if self._lines:
            self._packed.append(compress("".join(self._lines).encode(), 1))
            self._lines = []


_NO_SCORES = BriefScores()
_NO_VALUE = {"value": None}


def _line(
    question: Question, asked: Record | BriefRepeat, scores: OneScore, values: Iterable[Number | None]
) -> str:
    """Return the line of a question asked once."""
    answer, error = asked.answer, asked.error
    cells = (
        _stored(question.id),
        _stored(question.category),
        asked.repeat,
        question.answerable,
        scores.correctness,
        scores.hallucination,
        scores.abstained,
        error and _stored(error.kind),
        answer and answer.usage.prompt_tokens,
        answer and answer.usage.completion_tokens,
        answer and _finite(answer.cost),
        answer and _finite(answer.latency),
        _stored(question.text),
    )
    return csv_line(cells, values)


def _stored(text: str) -> str:
    """Return a text as it is stored, with `?` for half a surrogate pair."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _finite(value: Number | None) -> Number | None:
    """Return a number as it is stored, `None` for infinities and NaN."""
    return value if value is not None and isfinite(value) else None


def _badness(correctness: float | None, hallucination: float | None) -> tuple[float, float]:
    """Return the sort key that puts the worst first: lowest correctness, then highest hallucination. Others
    stay in the order of the question file.

    An answer to an unanswerable question has no correctness and is sorted as if it had scored 0.
    """
    return (correctness or 0.0, -(hallucination or 0.0))


def mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of the values that are not `None`, `None` if there are none."""
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
