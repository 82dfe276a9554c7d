"""The result type of the importers, and helpers for their warnings."""

from __future__ import annotations

import difflib
import json
import re
import tempfile
import weakref
from array import array
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import overload

from fathoms.errors import StoreError, amount
from fathoms.judges.imported import ImportedVerdicts
from fathoms.types import Question, Record

SHOWN = 10
"""Most items that a warning or an error lists."""
_IN_MEMORY = 2**24  # bytes


@dataclass(frozen=True)
class Imported:
    """Imported answers, as the records that a run of our own would have.

    `questions` are all questions of the data set, answered or not, and `warnings` are sentences for the user.
    `pipeline` is the name of the pipeline, equal for runs that differ only in the model; `model` and
    `pipeline` are `None` if the file does not name them. `left_out` counts the unusable rows of the file.
    `judged` are the claims and verdicts of a file that was judged elsewhere, and `metrics` the names of those
    that are computed of them. `grades` are people's grades of the answers, 1 to 5, by reviewer and id of the
    question. `population` says of how many questions each category is a random sample, and is empty if the
    questions are no sample.
    """

    name: str
    model: str | None
    records: Sequence[Record]
    questions: tuple[Question, ...]
    warnings: tuple[str, ...] = ()
    pipeline: str | None = None
    left_out: int = 0
    judged: ImportedVerdicts | None = None
    metrics: tuple[str, ...] = ()
    grades: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    population: Mapping[str, int] = field(default_factory=dict)


class StoredRecords(Sequence[Record]):
    """Records in a temporary file, because those of a large import do not fit into memory. Small ones stay in
    memory. A record is made again each time it is read."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - as long as the records
        weakref.finalize(self, self._file.close)
        self._starts = array("Q", [0])
        self._questions: list[Question] = []

    def append(self, record: Record) -> None:
        """Add a record that a run can store; raises StoreError if there is no room for it."""
        data = json.dumps(
            record.model_dump(mode="json", exclude={"question"}, exclude_defaults=True)
        ).encode()
        try:
            self._file.seek(self._starts[-1])
            self._file.write(data)
        except OSError as error:
            raise StoreError(
                f"the answers that were read have no room in {tempfile.gettempdir()}"
                f" ({error.strerror or error}): make room there, or set TMPDIR to another folder"
            ) from error
        self._starts.append(self._starts[-1] + len(data))
        self._questions.append(record.question)

    def __len__(self) -> int:
        return len(self._questions)

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Record]: ...
    def __getitem__(self, index: int | slice) -> Record | Sequence[Record]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        number = range(len(self))[index]
        start, end = self._starts[number], self._starts[number + 1]
        self._file.seek(start)
        data = json.loads(self._file.read(end - start))
        return Record.model_validate({**data, "question": self._questions[number]})


def missing_warning(
    place: Path | str, questions: Sequence[Question], answered: Container[str], *, only_searched: bool
) -> list[str]:
    """Return a warning about the questions of a file that are not among `answered`, their ids, or an empty
    list if there are none."""
    missing = [question.id for question in questions if question.id not in answered]
    if not missing:
        return []
    more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
    what = "were not searched for" if only_searched else "have no answer"
    number = f"{len(missing)} of {amount(len(questions), 'question')}"
    return [f"{place}: {number} {what}: {', '.join(missing[:SHOWN])}{more}"]


def released_means(records: Iterable[Record]) -> dict[str, tuple[float, int]]:
    """Return the mean and the number of the scores that came with the records, by name."""
    found: dict[str, list[float]] = {}
    for record in records:
        for name, value in record.released.items():
            if value is not None:
                found.setdefault(name, []).append(value)
    return {name: (fmean(values), len(values)) for name, values in found.items()}


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Return ` (did you mean 'x'?)` with the closest name, or an empty text if no name is close."""
    near = difflib.get_close_matches(word, names, n=1)
    return f" (did you mean '{near[0]}'?)" if near else ""


def fold_letters(text: str) -> str:
    """Return only the letters and digits of a text, in lower case."""
    return re.sub(r"[\W_]+", "", text).lower()


def fold_space(text: str) -> str:
    """Collapse each run of white space to one space, so that differently wrapped question texts are equal."""
    return " ".join(text.split())
