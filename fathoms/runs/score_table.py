"""The scores of a run in columns (`scores.npz`), for whoever needs the scores of all questions and no texts.

To read all question files takes longer than anything else in a comparison, and most of what stands in them
is text. Scoring walks every answer, so it writes this table, too: one row for each answer. The question files
stay the truth: without a table that belongs to them, the same is made from them (`reading.score_table`).

The file is what `numpy.load` reads, and needs no library but that of Python and numpy: a zip of arrays, of
which each has its checksum. Nothing in it is unpickled, and no size is taken from it unchecked. `head.json`
says to which summary and to which question files it belongs.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
import zlib
from array import array
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO
from itertools import chain, pairwise
from math import isfinite, nan
from pathlib import Path
from sys import intern
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pydantic_core import PydanticSerializationError, from_json, to_json

from fathoms.errors import StoreError
from fathoms.runs.folder import LARGEST_FILE, read_file, write_file
from fathoms.runs.identity import identity, what_is_asked
from fathoms.runs.marks import MARKS
from fathoms.runs.views import view_names
from fathoms.types import Failure, Question, Reply
from fathoms.types.run.part import Json, Number
from fathoms.types.run.rows import ScoredQuestion

if TYPE_CHECKING:
    from numpy.typing import NDArray

FILE = "scores.npz"
VERSION = 1
_HASHES = {"gold": 16, "text": 16, "answers": 16, "evidence": 16, "asked": 32}
"""The hashes of a question and their bytes: those of `Identity`, and `what_is_asked`."""
_OF_ANSWERS = ("question", "repeat", "error", "answered", "cached", "cost", "seconds")
"""What there is of every answer: the number of its question, and of its kind of failure in `errors`."""
_STAGES = ("documents", "retrieved", "prompt")
_IN_PROFILE = ("correctness", "hallucination", "abstention", *(f"recall-in-{stage}" for stage in _STAGES))
_MOST_MEMBERS = 10_000
_EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The time of all members: the same scores give the same bytes."""
_UNUSABLE = (
    *(ValueError, LookupError, TypeError, AttributeError, RuntimeError, OSError, EOFError, MemoryError),
    *(StoreError, zipfile.BadZipFile, zlib.error),
)


class _Answer(Protocol):
    """A question asked once, as it was recorded or as its question file shows it."""

    @property
    def repeat(self) -> int: ...
    @property
    def answer(self) -> Reply | None: ...
    @property
    def error(self) -> Failure | None: ...


def in_profile(profile: str, name: str) -> str:
    """Return the name of a column that depends on the profile: a metric of `_IN_PROFILE`, `scored` or
    `labelled`, which are 1 where an answer has scores and a label."""
    return f"profile/{profile}/{name}"


@dataclass(frozen=True)
class ScoreTable:
    """The scores of all answers of a run, question by question, in the order of its question files.

    `questions` are the id, the category, the answerability and the gold documents of each question, and
    `hashes` what tells it from others. `columns` have a number for each answer, NaN where there is none.
    `marks` are the metadata of the questions that have one of `MARKS`, and `errors` the kinds of failures.
    """

    questions: Sequence[tuple[str, str, bool, Sequence[str]]]
    hashes: Mapping[str, NDArray[Any]]
    columns: Mapping[str, NDArray[Any]]
    marks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    errors: Sequence[str] = ()
    _lists: dict[str, list[float]] = field(default_factory=dict)

    @cached_property
    def starts(self) -> list[int]:
        """The row of the first answer to each question, and after them the number of rows."""
        import numpy as np

        found: list[int] = np.searchsorted(
            self.columns["answer/question"], np.arange(len(self.questions) + 1)
        ).tolist()
        return found

    def __len__(self) -> int:
        return len(self.columns["answer/question"])

    @property
    def failed(self) -> int:
        """The number of failed calls."""
        import numpy as np

        return int((~np.isnan(self.columns["answer/error"])).sum())

    def first_failures(self) -> dict[str, tuple[str, int]]:
        """Return the question and the repeat of the first failure of each kind, in their order."""
        import numpy as np

        kinds, rows = np.unique(self.columns["answer/error"], return_index=True)
        found = sorted((int(row), int(kind)) for kind, row in zip(kinds, rows, strict=True) if kind == kind)
        number, repeat = self.columns["answer/question"], self.columns["answer/repeat"]
        return {
            self.errors[kind]: (self.questions[int(number[row])][0], int(repeat[row])) for row, kind in found
        }

    def means(self, metric: str, profile: str) -> NDArray[Any]:
        """Return the mean of a metric for each question over its repeats, to about 15 digits; NaN where it
        has no value."""
        import numpy as np

        column = self.columns.get(self.name_of(metric, profile), np.full(len(self), np.nan))
        known = ~np.isnan(column)
        places = self.columns["answer/question"][known].astype(np.int64)
        counts = np.bincount(places, minlength=len(self.questions))
        with np.errstate(invalid="ignore"):
            return np.bincount(places, column[known], len(self.questions)) / counts

    def total(self, name: str, among: str | None = None) -> int:
        """Return how many answers have a 1 in a column, of those that have one in the column `among`."""
        import numpy as np

        column = self.columns.get(name, np.zeros(len(self)))
        chosen = True if among is None else self.columns[among] == 1
        return int(((column == 1) & chosen).sum())

    def name_of(self, metric: str, profile: str) -> str:
        """Return the name of the column of a metric; those of FATHOMS-RAG depend on the profile."""
        return in_profile(profile, metric) if metric in _IN_PROFILE else f"metric/{metric}"

    def all_values(self, metric: str, profile: str) -> list[tuple[float, ...]]:
        """Return the values of a metric for every question, as `values` does for one."""
        rows = self._list(self.name_of(metric, profile))
        if rows is None:
            return [()] * len(self.questions)
        if self.starts == list(range(len(self.questions) + 1)):  # asked once each, as most runs are
            found: list[tuple[float, ...]] = [(value,) if value == value else () for value in rows]
        else:
            parts = (rows[start:end] for start, end in pairwise(self.starts))
            found = [tuple([value for value in part if value == value]) for part in parts]
        if metric != "abstention":
            return found
        return [known if one[2] else () for known, one in zip(found, self.questions, strict=True)]

    def values(self, number: int, metric: str, profile: str) -> tuple[float, ...]:
        """Return the values of a metric for the question with a number, without repeats that have none;
        abstention applies to answerable questions alone."""
        rows = self._list(self.name_of(metric, profile))
        if rows is None or (metric == "abstention" and not self.questions[number][2]):
            return ()
        known = rows[self.starts[number] : self.starts[number + 1]]
        return tuple([value for value in known if value == value])

    def ratios(self, number: int, metric: str) -> tuple[tuple[float, float], ...]:
        """Return the numerators and denominators of a metric that adds up counts, one for each repeat that
        has them."""
        tops, bottoms = self._list(f"top/{metric}"), self._list(f"bottom/{metric}")
        if tops is None or bottoms is None:
            return ()
        part = slice(self.starts[number], self.starts[number + 1])
        return tuple([pair for pair in zip(tops[part], bottoms[part], strict=True) if pair[0] == pair[0]])

    def has(self, metric: str, profile: str) -> bool:
        """Return whether any answer has a value of a metric, or counts that are added up."""
        import numpy as np

        column = self.columns.get(self.name_of(metric, profile))
        return self.adds_counts(metric) or (column is not None and not np.isnan(column).all())

    def adds_counts(self, metric: str) -> bool:
        """Return whether any answer has counts of a metric that adds them up."""
        return f"top/{metric}" in self.columns

    def identity(self, number: int) -> dict[str, Any]:
        """Return the fields of the `Identity` of the question with a number, without `written`."""
        _, category, _, documents = self.questions[number]
        known = {name: digits[32 * number : 32 * (number + 1)] for name, digits in self._digits.items()}
        return {"category": category, "documents": documents, **known}

    def same_questions(self, numbers: NDArray[Any], other: ScoreTable, others: NDArray[Any]) -> bool:
        """Return whether the questions with some numbers are those of another table with other numbers, in
        this order, with the same texts, gold answers, categories and evidence."""
        import numpy as np

        if [self.questions[n][:2] for n in numbers] != [other.questions[n][:2] for n in others]:
            return False
        parts = ((part[numbers], other.hashes[name][others]) for name, part in self.hashes.items())
        return all(np.array_equal(ours, theirs) for ours, theirs in parts)

    def golds(self) -> list[str]:
        """Return the fingerprint of the gold of every question, as `identity` has it."""
        digits = self._digits["gold"]
        return [digits[start : start + 32] for start in range(0, len(digits), 32)]

    @cached_property
    def _digits(self) -> dict[str, str]:
        """The hashes of `Identity` of all questions, one after another."""
        return {name: part.tobytes().hex() for name, part in self.hashes.items() if name != "asked"}

    def digest(self, number: int) -> bytes:
        """Return the digest of what two runs must share to be compared on the question with a number."""
        return bytes(self.hashes["asked"][number])

    def first_without(self, profile: str) -> str | None:
        """Return the first question with an answer that has no scores under a profile, `None` if all have."""
        scored = self._list(in_profile(profile, "scored")) or []
        lacking = next((row for row, flag in enumerate(scored) if flag != 1), None if scored else 0)
        if lacking is None or not len(self):
            return None
        return self.questions[int(self.columns["answer/question"][lacking])][0]

    def _list(self, name: str) -> list[float] | None:
        """A column as a list, which is faster to read number by number; `None` where there is none."""
        if name not in self._lists and name in self.columns:
            self._lists[name] = self.columns[name].tolist()
        return self._lists.get(name)


class TableMaker:
    """Collects the table of a run, question by question, while it is scored or read."""

    def __init__(self) -> None:
        self._questions: list[bytes] = []
        self._marks: dict[str, Mapping[str, Any]] = {}
        self._errors: dict[str, int] = {}
        self._hashes = {name: bytearray() for name in _HASHES}
        self._columns = {f"answer/{name}": array("d") for name in _OF_ANSWERS}

    def add_view(self, view: ScoredQuestion) -> None:
        """Add a question that was read from its file."""
        scores = [repeat.scores for repeat in view.repeats]
        self.add(view.question, view.repeats, scores, [repeat.metrics for repeat in view.repeats])

    def add(
        self,
        question: Question,
        answers: Sequence[_Answer],
        scores: Sequence[Mapping[str, Any]],
        metrics: Sequence[Mapping[str, Mapping[str, Any]]],
    ) -> None:
        """Add a question with its answers, their scores by profile and their values by metric."""
        question = _as_stored(question)
        told = identity(question, written=None)
        place = len(self._questions)
        self._questions.append(to_json((question.id, question.category, question.answerable, told.documents)))
        for name in ("gold", "text", "answers", "evidence"):
            self._hashes[name] += bytes.fromhex(getattr(told, name))
        self._hashes["asked"] += what_is_asked(question)
        if not MARKS.isdisjoint(question.metadata):
            self._marks[question.id] = question.metadata
        for answer, row, values in zip(answers, scores, metrics, strict=True):
            self._add(place, answer, row, values)

    def _add(
        self, place: int, asked: _Answer, scores: Mapping[str, Any], metrics: Mapping[str, Mapping[str, Any]]
    ) -> None:
        """Add the row of an answer."""
        answer = asked.answer
        row: dict[str, Number | None] = {
            "answer/question": place,
            "answer/repeat": asked.repeat,
            "answer/error": self._number_of(asked.error),
            "answer/answered": answer is not None,
            "answer/cached": answer is not None and answer.cached,
            "answer/cost": answer.cost if answer else None,
            "answer/seconds": answer.latency if answer else None,
        }
        for profile, found in scores.items():
            row[f"profile/{profile}/scored"] = 1
            row[f"profile/{profile}/labelled"] = found.abstention is not None
            row[f"profile/{profile}/correctness"] = found.correctness
            row[f"profile/{profile}/hallucination"] = found.hallucination
            row[f"profile/{profile}/abstention"] = found.abstained
            if found.funnel is not None:
                for stage in _STAGES:
                    row[f"profile/{profile}/recall-in-{stage}"] = getattr(found.funnel, stage)
        for name, score in metrics.items():
            row[f"metric/{name}"] = score["value"]
            if ratio := score.get("ratio"):
                row[f"top/{name}"], row[f"bottom/{name}"] = ratio
        before = self._rows
        for name, value in row.items():
            if (column := self._columns.get(name)) is None:
                column = self._columns[name] = array("d", [nan]) * before
            column.append(nan if value is None or not isfinite(value) else value)
        self._fill()

    def _number_of(self, error: Failure | None) -> int | None:
        """The number of a kind of failure."""
        if error is None:
            return None
        return self._errors.setdefault(error.kind.encode("utf-8", "replace").decode(), len(self._errors))

    @property
    def _rows(self) -> int:
        """The number of whole rows."""
        return len(self._columns["answer/question"])

    def _fill(self) -> None:
        """Make all columns as long as there are rows."""
        rows = self._rows
        for column in self._columns.values():
            if (lacking := rows - len(column)) > 0:
                column.extend([nan] * lacking)

    def state(self) -> dict[str, Any]:
        """Return everything that was collected as JSON values, for `extend`."""
        parts: dict[str, bytearray | array[float]] = {**self._hashes, **self._columns}
        return {
            "questions": [one.decode() for one in self._questions],
            "marks": self._marks,
            "errors": list(self._errors),
            "parts": {name: b64encode(zlib.compress(part, 1)).decode() for name, part in parts.items()},
        }

    def extend(self, state: Mapping[str, Any]) -> None:
        """Add what another process has collected of the questions that follow."""
        first, before = len(self._questions), self._rows
        self._questions += [one.encode() for one in state["questions"]]
        self._marks |= state["marks"]
        kinds = [self._errors.setdefault(kind, len(self._errors)) for kind in state["errors"]]
        for name, packed in state["parts"].items():
            part = zlib.decompress(b64decode(packed))
            if name in self._hashes:
                self._hashes[name] += part
                continue
            column = self._columns.setdefault(name, array("d"))
            column.extend([nan] * (before - len(column)))
            more = array("d")
            more.frombytes(part)
            if name == "answer/question":
                more = array("d", [first + number for number in more])
            elif name == "answer/error":
                more = array("d", [kinds[int(kind)] if kind == kind else nan for kind in more])
            column.extend(more)
        self._fill()

    def table(self, asked: Sequence[str] | None = None) -> ScoreTable:
        """Return the table. With the ids of the questions that were `asked`, it gets the order of a run that
        has a file for each question; otherwise it stays in the order in which questions were added."""
        import numpy as np

        questions = _questions(list(map(from_json, self._questions)))
        hashes = {
            name: np.frombuffer(bytes(part), np.uint8).reshape(-1, _HASHES[name])
            for name, part in self._hashes.items()
        }
        columns = {name: np.array(column) for name, column in sorted(self._columns.items())}
        if asked is not None:
            places = {id: place for place, id in enumerate(asked)}
            ids = [one[0] for one in questions]
            keys = [(places.get(id, len(places)), view_names(id)[0]) for id in ids]
            order = sorted(range(len(ids)), key=keys.__getitem__)
            new = np.empty(len(ids))
            new[order] = np.arange(len(ids))
            columns["answer/question"] = new[columns["answer/question"].astype(np.int64)]
            rows = np.argsort(columns["answer/question"], kind="stable")
            questions = [questions[number] for number in order]
            hashes = {name: part[order] for name, part in hashes.items()}
            columns = {name: column[rows] for name, column in columns.items()}
        return ScoreTable(questions, hashes, columns, self._marks, tuple(self._errors))


def _questions(values: Sequence[Any]) -> list[tuple[str, str, bool, Sequence[str]]]:
    """The questions of a table; raises ValueError or TypeError for any other value."""
    if not values:
        return []
    columns = list(zip(*values, strict=True))
    documents = columns[-1]
    kinds = [*map(set, (map(type, column) for column in columns)), set(map(type, chain(*documents)))]
    if kinds[:-1] != [{str}, {str}, {bool}, {list}] or not kinds[-1] <= {str}:
        raise ValueError("they are not questions")
    # runs that are compared have the same questions, whose ids are then in memory once
    ids, categories = (map(intern, column) for column in columns[:2])
    return list(zip(ids, categories, columns[2], (tuple(map(intern, one)) for one in documents), strict=True))


def _as_stored(question: Question) -> Question:
    """A question as its file has it, with `?` for half a surrogate pair."""
    try:
        question.model_dump_json()
    except PydanticSerializationError:
        text = json.dumps(question.model_dump(mode="python"), ensure_ascii=False, default=str)
        return Question.model_validate_json(text.encode("utf-8", "replace"))
    return question


def write_table(root: Path, table: ScoreTable) -> None:
    """Write the table of a run beside its summary, which stands there already. Raises StoreError."""
    import numpy as np

    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:

        def add(name: str, data: bytes) -> None:
            file.writestr(zipfile.ZipInfo(name, _EARLIEST), data, zipfile.ZIP_DEFLATED, 1)

        head = {"version": VERSION, **_belongs_to(root), "rows": len(table), "marks": table.marks}
        head["errors"] = table.errors
        add("head.json", to_json(head))
        add("questions.json", to_json(table.questions))
        for name, part in [*table.hashes.items(), *table.columns.items()]:
            data = BytesIO()
            kind = "<f8" if "/" in name else "|u1"
            np.lib.format.write_array(data, np.ascontiguousarray(part, kind), (1, 0), allow_pickle=False)
            add(f"{name}.npy", data.getvalue())
    write_file(root, FILE, packed.getvalue())


def copy_table(root: Path, target: str) -> None:
    """Copy the table of a run under another name (without `.npz`), beside a copy of its summary."""
    if (root / FILE).is_file():
        write_file(root, f"{target}.npz", read_file(root, FILE))


def read_copied_table(root: Path, name: str) -> ScoreTable | None:
    """Read a table that `copy_table` has copied, `None` where it cannot be used or is not that of the summary
    beside it."""
    return _read(root, _table, f"{name}.npz", lambda: {"summary": _sha256(root, f"{name}.json")})


def _sha256(root: Path, name: str) -> str:
    return hashlib.sha256(read_file(root, name)).hexdigest()


def _belongs_to(root: Path) -> dict[str, Any]:
    """Return what a table says of the files that it belongs to: the hash of the summary, and the number and
    the bytes of the question files. Raises OSError and StoreError."""
    sizes = []
    with os.scandir(root / "questions") as found:
        sizes = [one.stat().st_size for one in found if one.name.endswith((".json", ".jsonl"))]
    return {"summary": _sha256(root, "summary.json"), "files": len(sizes), "bytes": sum(sizes)}


def read_marks(root: Path) -> Mapping[str, Mapping[str, Any]] | None:
    """Return the metadata of the marked questions of a run, by their ids, without reading its scores; `None`
    where it has no table that belongs to its other files."""
    return _read(root, _marks)


def read_table(root: Path) -> ScoreTable | None:
    """Read the table of a run, `None` where it has none that belongs to its other files and can be used."""
    return _read(root, _table)


_Found = TypeVar("_Found")


def _read(
    root: Path,
    read: Callable[[zipfile.ZipFile, Json], _Found],
    name: str = FILE,
    belongs_to: Callable[[], dict[str, Any]] | None = None,
) -> _Found | None:
    """Read something from the table of a run; `None` where it cannot be used, whatever the reason: the
    question files say the same."""
    if not (root / name).is_file():
        return None
    try:
        with zipfile.ZipFile(BytesIO(read_file(root, name))) as file:
            members = file.infolist()
            if len(members) > _MOST_MEMBERS or sum(one.file_size for one in members) > LARGEST_FILE:
                return None
            head = from_json(_member(file, "head.json"))
            belongs = {"version": VERSION, **(belongs_to() if belongs_to else _belongs_to(root))}
            return read(file, head) if belongs.items() <= head.items() else None
    except _UNUSABLE:
        return None


def _member(file: zipfile.ZipFile, name: str) -> bytes:
    """Unpack a member of the zip, which takes no more memory than the size that the zip states for it. Its
    checksum is compared where its stated size is reached."""
    info = file.getinfo(name)
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError("others unpack without a limit, and raise errors of their own")
    with file.open(info) as unpacked:
        data = unpacked.read(info.file_size)
    if len(data) != info.file_size:
        raise ValueError(f"{name} is shorter than the zip states")
    return data


def _marks(file: zipfile.ZipFile, head: Json) -> Mapping[str, Mapping[str, Any]]:
    """Return the marks of questions in a table."""
    if not all(isinstance(one, dict) for one in head["marks"].values()):
        raise ValueError("they are no metadata")
    return dict(head["marks"])


def _table(file: zipfile.ZipFile, head: Json) -> ScoreTable:
    """Read a whole table; raises one of `_UNUSABLE` where its parts do not fit together."""
    import numpy as np

    questions = _questions(from_json(_member(file, "questions.json"), cache_strings="all"))
    hashes = {name: _array(file, name, "|u1", (len(questions), size)) for name, size in _HASHES.items()}
    names = [name.removesuffix(".npy") for name in file.namelist() if "/" in name]
    columns = {name: _array(file, name, "<f8", (head["rows"],)) for name in names}
    numbers = columns["answer/question"]
    last = len(questions) - 1
    if not (np.diff(numbers, prepend=0, append=last) >= 0).all() or (numbers % 1).any():
        raise ValueError("its answers are not in the order of its questions")
    if missing := [name for name in _OF_ANSWERS if f"answer/{name}" not in columns]:
        raise ValueError(f"it lacks {missing}")
    kinds = columns["answer/error"]
    if not ((kinds >= 0) & (kinds < len(head["errors"])) & (kinds % 1 == 0) | np.isnan(kinds)).all():
        raise ValueError("a kind of failure is unknown")
    return ScoreTable(questions, hashes, columns, _marks(file, head), tuple(map(str, head["errors"])))


def _array(file: zipfile.ZipFile, name: str, kind: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Read an array of a kind and shape; raises ValueError for any other. Its memory is that of its bytes:
    what its header says of them is only compared."""
    import numpy as np

    data = _member(file, f"{name}.npy")
    header = BytesIO(data)
    if np.lib.format.read_magic(header) != (1, 0):
        raise ValueError("its version is unknown")
    found = np.lib.format.read_array_header_1_0(header)
    if found != (shape, False, np.dtype(kind)):
        raise ValueError(f"{name} is another array")
    return np.frombuffer(data, kind, offset=header.tell()).reshape(shape)
