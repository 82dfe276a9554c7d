"""The lines of the table of a run's questions, as reports write them.

To read all question files takes longer than anything else in a report. So the scoring of a large run collects
the lines while it writes the files.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from statistics import fmean
from typing import Any, Protocol
from zlib import compress, decompress

from fathoms.safety.spreadsheet import csv_line
from fathoms.types import Question, Record
from fathoms.types.run.part import Number
from fathoms.types.run.rows import BriefQuestion, BriefRepeat, BriefScores, ScoredQuestion, ScoredRepeat

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


class QuestionTables:
    """Collects the lines of the table of questions under one profile, question by question. `metrics` are
    those whose values are at the end of each line."""

    def __init__(self, profile: str, metrics: Iterable[str]) -> None:
        self.profile = profile
        self.metrics = tuple(metrics)
        self._lines: list[str] = []
        self._packed: list[bytes] = []  # earlier lines, which would take six times the memory

    def add(self, view: BriefQuestion | ScoredQuestion) -> None:
        """Add a question that was read from its file."""
        scores = [repeat.under(self.profile) for repeat in view.repeats]
        values = [
            [repeat.metrics.get(name, _NO_VALUE).get("value") for name in self.metrics]
            for repeat in view.repeats
        ]
        self._add(view.question, view.repeats, scores, values)

    def add_scored(
        self,
        records: Sequence[Record],
        rows: Sequence[Mapping[str, OneScore]],
        metrics: Sequence[Mapping[str, Mapping[str, Any]]],
    ) -> None:
        """Add a question that has just been scored and written. This gives what reading it would, which takes
        several times as long."""
        scores = [row.get(self.profile) or _NO_SCORES for row in rows]
        values = [[_finite(one.get(name, _NO_VALUE)["value"]) for name in self.metrics] for one in metrics]
        self._add(records[0].question, records, scores, values)

    def _add(
        self,
        question: Question,
        repeats: Sequence[Record | BriefRepeat | ScoredRepeat],
        scores: Sequence[OneScore],
        values: Sequence[Iterable[Number | None]],
    ) -> None:
        """Add the rows of one question, a row for each repeat."""
        self._lines += map(_line, [question] * len(repeats), repeats, scores, values)
        if len(self._lines) >= _TOGETHER:
            self._pack()

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

    def state(self) -> list[str]:
        """Return everything that was collected as JSON values, for `extend`."""
        self._pack()
        return [b64encode(lines).decode("ascii") for lines in self._packed]

    def extend(self, state: Iterable[str]) -> None:
        """Add what another process has collected of the questions that follow."""
        self._pack()
        self._packed += map(b64decode, state)

    def _pack(self) -> None:
        """Compress the lines that are not compressed yet."""
        if self._lines:
            self._packed.append(compress("".join(self._lines).encode(), 1))
            self._lines = []


_NO_SCORES = BriefScores()
_NO_VALUE = {"value": None}


def _line(
    question: Question,
    record: Record | BriefRepeat | ScoredRepeat,
    scores: OneScore,
    values: Iterable[Number | None],
) -> str:
    """Return the line of a question asked once."""
    answer, error = record.answer, record.error
    cells = (
        _stored(question.id),
        _stored(question.category),
        record.repeat,
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


def mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of the values that are not `None`, `None` if there are none."""
    known = [value for value in values if value is not None]
    return fmean(known) if len(known) > 1 else float(known[0]) if known else None
