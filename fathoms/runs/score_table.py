"""The scores of a run in columns (`scores.npz`), for whoever needs the scores of all questions and no texts.

To read all question files takes longer than anything else in a comparison, and most of what stands in them
is text. Scoring walks every answer, so it writes this table, too: one row for each answer. The question files
stay the truth: without a table that belongs to them, the same is made from them (`Run.scores`).

The file is what `numpy.load` reads, and needs no library but that of Python and numpy: a zip of arrays, of
which each has its checksum. Nothing in it is unpickled, and no size is taken from it unchecked. `head.json`
says to which summary and to which question files it belongs, and has what a screen shows of single questions,
so that `fathoms show` takes as long for a large run as for a small one.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
import zlib
from array import array
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property
from io import BytesIO
from itertools import chain, pairwise
from math import isfinite, nan
from operator import attrgetter
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pydantic_core import PydanticSerializationError, from_json, to_json

from fathoms.errors import StoreError
from fathoms.runs.folder import LARGEST_FILE, open_file, read_file, write_file
from fathoms.runs.identity import fingerprints, question_digest
from fathoms.runs.metadata import COMPARISON_KEYS
from fathoms.types import Failure, Question, Reply
from fathoms.types.run.part import Json, Number
from fathoms.types.run.rows import ScoredQuestion

if TYPE_CHECKING:
    from numpy.typing import NDArray

FILE = "scores.npz"
VERSION = 2
_HASHES = {"gold": 16, "text": 16, "answers": 16, "evidence": 16, "asked": 32}
"""The hashes of a question and their bytes: those of `Identity`, and `question_digest`."""
_OF_ANSWERS = ("question", "repeat", "error", "answered", "cached", "cost", "seconds")
"""What there is of every answer: the number of its question, and of its kind of failure in `errors`."""
_OF_QUESTIONS = ("category", "documents", "answerable")
"""What there is of every question: the numbers of its category in `categories` and of its gold documents in
`documents`, and a 1 where it is answerable."""
_CODED = {"question/category": "categories", "question/documents": "documents", "answer/error": "errors"}
"""The columns with the numbers of something that stands in a list of the table, and this list."""
MOST_WORST = 10
"""How many of the worst questions the head of a file has for each profile."""
_ROUNDING = 1e-9
"""Means that differ by less are compared by their exact values."""
_STAGES = ("documents", "retrieved", "prompt")
_IN_PROFILE = ("correctness", "hallucination", "abstention", *(f"recall-in-{stage}" for stage in _STAGES))
_OF_SCORES: Mapping[str, Callable[[Any], Number | None]] = {
    "scored": lambda one: 1,
    "labelled": lambda one: one.abstention is not None,
    "correctness": attrgetter("correctness"),
    "hallucination": attrgetter("hallucination"),
    "abstention": attrgetter("abstained"),
}
"""The columns of `in_profile` besides those of the funnel, with what of an answer's scores stands there."""
_TOGETHER = 128
"""How many answers become rows together: column by column, they take a third of the time."""
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


Worst = tuple[str, float | None, float | None]
"""A question with the means of its correctness and its hallucination."""


@dataclass(frozen=True)
class Head:
    """What a screen shows of single questions, without the scores of all others.

    `marks` are the metadata of the questions that have one of `COMPARISON_KEYS`, `failures` the question and
    the repeat of the first failure of each kind, and `worst` the worst questions by profile
    (`ScoreTable.worst`). They are keys of the head of the file, too.
    """

    marks: Mapping[str, Mapping[str, Any]]
    failures: Mapping[str, tuple[str, int]]
    worst: Mapping[str, Sequence[Worst]]
    rows: int


@dataclass(frozen=True)
class ScoreTable:
    """The scores of all answers of a run, question by question, in the order of its question files.

    `ids` are those of the questions, and `hashes` what tells each from others. `columns` have a number for
    each question (`_OF_QUESTIONS`) or for each answer, NaN where there is none. `categories`, the lists of
    gold `documents` and the kinds of failures, `errors`, stand there by their numbers. `compared` are the
    `marks` of `Head`.
    """

    ids: Sequence[str]
    hashes: Mapping[str, NDArray[Any]]
    columns: Mapping[str, NDArray[Any]]
    categories: Sequence[str] = ()
    documents: Sequence[tuple[str, ...]] = ()
    errors: Sequence[str] = ()
    compared: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    _lists: dict[str, list[float]] = field(default_factory=dict)

    @cached_property
    def starts(self) -> Sequence[int]:
        """The row of the first answer to each question, and after them the number of rows."""
        import numpy as np

        numbers, count = self.columns["answer/question"], len(self.ids)
        if np.array_equal(numbers, np.arange(count)):  # asked once each, as most runs are
            return range(count + 1)
        found: list[int] = np.searchsorted(numbers, np.arange(count + 1)).tolist()
        return found

    @cached_property
    def category_of(self) -> list[str]:
        """The category of each question."""
        return [self.categories[int(code)] for code in self.columns["question/category"].tolist()]

    @cached_property
    def documents_of(self) -> list[tuple[str, ...]]:
        """The gold documents of each question."""
        return [self.documents[int(code)] for code in self.columns["question/documents"].tolist()]

    @cached_property
    def answerable(self) -> NDArray[Any]:
        """Whether each question is answerable."""
        found: NDArray[Any] = self.columns["question/answerable"] == 1
        return found

    @cached_property
    def question_of(self) -> NDArray[Any]:
        """The number of the question of each answer."""
        return self.columns["answer/question"].astype("<i8")

    def __len__(self) -> int:
        return len(self.question_of)

    @property
    def failed(self) -> int:
        """The number of failed calls."""
        import numpy as np

        return int((~np.isnan(self.columns["answer/error"])).sum())

    @cached_property
    def head(self) -> Head:
        """What a screen shows of single questions."""
        profiles = [name.split("/")[1] for name in self.columns if name.endswith("/scored")]
        worst = {profile: self.worst(profile, MOST_WORST) for profile in profiles}
        return Head(self.compared, self._first_failures(), worst, len(self))

    def _first_failures(self) -> dict[str, tuple[str, int]]:
        """Return the question and the repeat of the first failure of each kind, in their order."""
        import numpy as np

        kinds, rows = np.unique(self.columns["answer/error"], return_index=True)
        found = sorted((int(row), int(kind)) for kind, row in zip(kinds, rows, strict=True) if kind == kind)
        repeat = self.columns["answer/repeat"]
        return {self.errors[kind]: (self.ids[self.question_of[row]], int(repeat[row])) for row, kind in found}

    def worst(self, profile: str, limit: int) -> list[Worst]:
        """Return at most `limit` questions that are not fully right or were hallucinated, the worst first:
        those with the lowest correctness, then with the highest hallucination. Others stay in their order."""
        import numpy as np

        means, wrong = self.means("correctness", profile), self.wrong(profile)
        # an answer to an unanswerable question has no correctness and is sorted as if it had scored 0
        bad = np.nan_to_num(means[wrong])
        near = wrong[bad <= np.sort(bad)[min(limit, len(bad)) - 1] + _ROUNDING] if len(wrong) else wrong
        found = []
        for number in near.tolist():
            correctness, hallucination = (
                fmean(values) if (values := self.values(number, metric, profile)) else None
                for metric in ("correctness", "hallucination")
            )
            found.append((self.ids[number], correctness, hallucination))
        return sorted(found, key=lambda one: (one[1] or 0.0, -(one[2] or 0.0)))[:limit]

    def wrong(self, profile: str) -> NDArray[Any]:
        """Return the numbers of the questions that are not fully right or were hallucinated."""
        import numpy as np

        is_invented = self.means("hallucination", profile) > 0
        return np.flatnonzero(is_invented | (self.means("correctness", profile) < 1))

    def means(self, metric: str, profile: str) -> NDArray[Any]:
        """Return the mean of a metric for each question over its repeats, to about 15 digits; NaN where it
        has no value."""
        import numpy as np

        column = self.columns.get(self.name_of(metric, profile), np.full(len(self), np.nan))
        known = ~np.isnan(column)
        places = self.question_of[known]
        counts = np.bincount(places, minlength=len(self.ids))
        with np.errstate(invalid="ignore"):
            return np.bincount(places, column[known], len(self.ids)) / counts

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
        column = self.columns.get(self.name_of(metric, profile))
        if column is None:
            return [()] * len(self.ids)
        rows = column.tolist()
        if isinstance(self.starts, range):
            known: dict[float, tuple[float, ...]] = {}  # most values are 0 or 1
            found = [known.setdefault(value, (value,)) if value == value else () for value in rows]
        else:
            parts = (rows[start:end] for start, end in pairwise(self.starts))
            found = [tuple([value for value in part if value == value]) for part in parts]
        if metric != "abstention":
            return found
        return [each if one else () for each, one in zip(found, self.answerable.tolist(), strict=True)]

    def values(self, number: int, metric: str, profile: str) -> tuple[float, ...]:
        """Return the values of a metric for the question with a number, without repeats that have none;
        abstention applies to answerable questions alone."""
        rows = self._list(self.name_of(metric, profile))
        if rows is None or (metric == "abstention" and not self.answerable[number]):
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

    def having(self, metric: str, profile: str | None) -> NDArray[Any]:
        """Return which questions have a value of a metric, or counts that are added up; with no profile, only
        those with such counts."""
        import numpy as np

        found = np.zeros(len(self.ids), bool)
        for name in (f"top/{metric}", *([self.name_of(metric, profile)] if profile else ())):
            if (column := self.columns.get(name)) is not None:
                found[self.question_of[~np.isnan(column)]] = True
        return found & self.answerable if metric == "abstention" else found

    def adds_counts(self, metric: str) -> bool:
        """Return whether any answer has counts of a metric that adds them up."""
        return f"top/{metric}" in self.columns

    def identity(self, number: int) -> dict[str, Any]:
        """Return the fields of the `Identity` of the question with a number, without `written`."""
        hashes = {name: part[number].tobytes().hex() for name, part in self._identity_hashes.items()}
        return {"category": self.category_of[number], "documents": self.documents_of[number], **hashes}

    @cached_property
    def _identity_hashes(self) -> dict[str, NDArray[Any]]:
        """The hashes that are fields of `Identity`."""
        return {name: part for name, part in self.hashes.items() if name != "asked"}

    def same_questions(self, numbers: NDArray[Any], other: ScoreTable, others: NDArray[Any]) -> bool:
        """Return whether the questions with some numbers are those of another table with other numbers, in
        this order, with the same ids, texts, gold answers, categories and evidence."""
        import numpy as np

        for ours, theirs in ((self.ids, other.ids), (self.category_of, other.category_of)):
            if [ours[number] for number in numbers] != [theirs[number] for number in others]:
                return False
        parts = ((part[numbers], other.hashes[name][others]) for name, part in self.hashes.items())
        return all(np.array_equal(ours, theirs) for ours, theirs in parts)

    def golds(self) -> list[str]:
        """Return the fingerprint of the gold of every question, as `identity` has it."""
        digits = self.hashes["gold"].tobytes().hex()
        return [digits[start : start + 32] for start in range(0, len(digits), 32)]

    def digest(self, number: int) -> bytes:
        """Return the digest of what two runs must share to be compared on the question with a number."""
        return bytes(self.hashes["asked"][number])

    def first_without(self, profile: str) -> str | None:
        """Return the first question with an answer that has no scores under a profile, `None` if all have."""
        import numpy as np

        scored = self.columns.get(in_profile(profile, "scored"), np.zeros(len(self)))
        lacking = np.flatnonzero(scored != 1)
        return self.ids[self.question_of[lacking[0]]] if len(lacking) else None

    def _list(self, name: str) -> list[float] | None:
        """A column as a list, which is faster to read number by number; `None` where there is none."""
        if name not in self._lists and name in self.columns:
            self._lists[name] = self.columns[name].tolist()
        return self._lists.get(name)


class TableMaker:
    """Collects the table of a run, question by question, while it is scored or read."""

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._compared: dict[str, Mapping[str, Any]] = {}
        self._listed: dict[str, dict[Any, int]] = {name: {} for name in _CODED.values()}
        self._hashes = {name: bytearray() for name in _HASHES}
        self._of_questions = {f"question/{name}": array("d") for name in _OF_QUESTIONS}
        self._columns = {f"answer/{name}": array("d") for name in _OF_ANSWERS}
        self._pending: list[tuple[int, _Answer, Mapping[str, Any], Mapping[str, Mapping[str, Any]]]] = []

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
        found = fingerprints(question)
        place = len(self._ids)
        self._ids.append(question.id)
        self._of_questions["question/category"].append(self._number("categories", question.category))
        self._of_questions["question/documents"].append(self._number("documents", found.documents))
        self._of_questions["question/answerable"].append(question.answerable)
        for name in ("gold", "text", "answers", "evidence"):
            self._hashes[name] += bytes.fromhex(getattr(found, name))
        self._hashes["asked"] += question_digest(question)
        if not COMPARISON_KEYS.isdisjoint(question.metadata):
            self._compared[question.id] = question.metadata
        self._pending += zip([place] * len(answers), answers, scores, metrics, strict=True)
        if len(self._pending) >= _TOGETHER:
            self._add_pending()

    def _add_pending(self) -> None:
        """Add the rows of the answers that wait for it."""
        if not self._pending:
            return
        places, answers, scores, metrics = zip(*self._pending, strict=True)
        self._pending, before = [], self._rows

        def put(name: str, values: Iterable[Number | None]) -> None:
            if (column := self._columns.get(name)) is None:
                column = self._columns[name] = array("d", [nan]) * before
            column.extend([nan if value is None or not isfinite(value) else value for value in values])

        replies = [one.answer for one in answers]
        kinds = [one.error and one.error.kind.encode("utf-8", "replace").decode() for one in answers]
        put("answer/question", places)
        put("answer/repeat", [one.repeat for one in answers])
        put("answer/error", [None if kind is None else self._number("errors", kind) for kind in kinds])
        put("answer/answered", [one is not None for one in replies])
        put("answer/cached", [one is not None and one.cached for one in replies])
        put("answer/cost", [one and one.cost for one in replies])
        put("answer/seconds", [one and one.latency for one in replies])
        for profile in dict.fromkeys(chain.from_iterable(scores)):
            known = [row.get(profile) for row in scores]
            for name, value in _OF_SCORES.items():
                put(in_profile(profile, name), [one and value(one) for one in known])
            funnels = [one and one.funnel for one in known]
            for stage in _STAGES if any(funnels) else ():
                recall = [one and getattr(one, stage) for one in funnels]
                put(in_profile(profile, f"recall-in-{stage}"), recall)
        for name in dict.fromkeys(chain.from_iterable(metrics)):
            found = [row.get(name) for row in metrics]
            put(f"metric/{name}", [one and one["value"] for one in found])
            ratios = [one and one.get("ratio") for one in found]
            for at, end in enumerate(("top", "bottom") if any(ratios) else ()):
                put(f"{end}/{name}", [one[at] if one else None for one in ratios])
        self._fill()

    def _number(self, name: str, value: Any) -> int:
        """The number of a value in one of the lists of the table."""
        listed = self._listed[name]
        return listed.setdefault(value, len(listed))

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
        self._add_pending()
        parts: dict[str, bytearray | array[float]] = {**self._hashes, **self._of_questions, **self._columns}
        return {
            "ids": self._ids,
            "marks": self._compared,
            "listed": {name: list(values) for name, values in self._listed.items()},
            "parts": {name: b64encode(zlib.compress(part, 1)).decode() for name, part in parts.items()},
        }

    def extend(self, state: Mapping[str, Any]) -> None:
        """Add what another process has collected of the questions that follow."""
        self._add_pending()
        first, before = len(self._ids), self._rows
        self._ids += state["ids"]
        self._compared |= state["marks"]
        codes = {
            name: [self._number(name, tuple(one) if name == "documents" else one) for one in values]
            for name, values in state["listed"].items()
        }
        for name, packed in state["parts"].items():
            part = zlib.decompress(b64decode(packed))
            if name in self._hashes:
                self._hashes[name] += part
                continue
            more = array("d")
            more.frombytes(part)
            if name == "answer/question":
                more = array("d", [first + number for number in more])
            elif name in _CODED:
                new = codes[_CODED[name]]
                more = array("d", [new[int(code)] if code == code else nan for code in more])
            if name in self._of_questions:
                self._of_questions[name].extend(more)
                continue
            column = self._columns.setdefault(name, array("d"))
            column.extend([nan] * (before - len(column)))
            column.extend(more)
        self._fill()

    def table(self) -> ScoreTable:
        """Return the table, in the order in which questions were added. It has the memory of the columns, so
        nothing can be added afterwards."""
        import numpy as np

        self._add_pending()
        hashes = {
            name: np.frombuffer(part, np.uint8).reshape(-1, _HASHES[name])
            for name, part in self._hashes.items()
        }
        of_questions = {name: np.asarray(column) for name, column in self._of_questions.items()}
        columns = {name: np.asarray(column) for name, column in sorted(self._columns.items())}
        categories, documents, errors = (tuple(values) for values in self._listed.values())
        columns = {**of_questions, **columns}
        return ScoreTable(self._ids, hashes, columns, categories, documents, errors, self._compared)


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

        lists = {"categories": table.categories, "errors": table.errors}
        add("head.json", to_json({"version": VERSION, **_belongs_to(root), **asdict(table.head), **lists}))
        add("ids.json", to_json(table.ids))
        add("documents.json", to_json(table.documents))
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
    return _read(root, _table, f"{name}.npz", lambda root: {"summary": _sha256(root, f"{name}.json")})


def _sha256(root: Path, name: str) -> str:
    return hashlib.sha256(read_file(root, name)).hexdigest()


def _belongs_to(root: Path) -> dict[str, Any]:
    """Return what a table says of the files that it belongs to: the hash of the summary, and the number and
    the bytes of the question files. Raises OSError and StoreError."""
    sizes = []
    with os.scandir(root / "questions") as found:
        sizes = [one.stat().st_size for one in found if one.name.endswith((".json", ".jsonl"))]
    return {"summary": _sha256(root, "summary.json"), "files": len(sizes), "bytes": sum(sizes)}


def read_head(root: Path) -> Head | None:
    """Read what a screen shows of single questions, and no scores; `None` where a run has no table that
    belongs to its other files."""
    return _read(root, lambda _, head: _head(head), whole=False)


def read_table(root: Path) -> ScoreTable | None:
    """Read the table of a run, `None` where it has none that belongs to its other files and can be used."""
    return _read(root, _table)


_Found = TypeVar("_Found")


def _read(
    root: Path,
    read: Callable[[zipfile.ZipFile, Json], _Found],
    name: str = FILE,
    belongs_to: Callable[[Path], dict[str, Any]] | None = None,
    *,
    whole: bool = True,
) -> _Found | None:
    """Read something from the table of a run; `None` where it cannot be used, whatever the reason: the
    question files say the same. The file can be used after that if it was read as a `whole`."""
    if not (root / name).is_file():
        return None
    with ExitStack() as stack, suppress(*_UNUSABLE):
        source = BytesIO(read_file(root, name)) if whole else stack.enter_context(open_file(root, name))
        file = zipfile.ZipFile(source)
        members = file.infolist()
        if len(members) > _MOST_MEMBERS or sum(one.file_size for one in members) > LARGEST_FILE:
            return None
        head = from_json(_member(file, "head.json"))
        belongs = {"version": VERSION, **(belongs_to or _belongs_to)(root)}
        return read(file, head) if belongs.items() <= head.items() else None
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


def _head(head: Json) -> Head:
    """Return what the head of a file says; raises one of `_UNUSABLE` for any other value."""
    compared, failures, worst = head["marks"], head["failures"], head["worst"]
    if not all(isinstance(one, dict) for one in compared.values()):
        raise ValueError("they are no metadata")
    numbers = [number for listed in worst.values() for _, *pair in listed for number in pair]
    if not all(number is None or isinstance(number, int | float) for number in numbers):
        raise ValueError("they are no scores")
    return Head(
        compared,
        {kind: (str(id), int(repeat)) for kind, (id, repeat) in failures.items()},
        {profile: [(str(id), one, other) for id, one, other in listed] for profile, listed in worst.items()},
        int(head["rows"]),
    )


class _Arrays(Mapping[str, "NDArray[Any]"]):
    """The arrays of a file. Each is unpacked when it is read, because a comparison needs only a few of them.
    All were unpacked once before, so that damage is found before anything is used."""

    def __init__(self, file: zipfile.ZipFile, kind: str, shapes: Mapping[str, tuple[int, ...]]) -> None:
        self._file = file
        self._kind = kind
        self._shapes = shapes
        for name in shapes:
            self[name]

    def __getitem__(self, name: str) -> NDArray[Any]:
        return _array(self._file, name, self._kind, self._shapes[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._shapes)

    def __len__(self) -> int:
        return len(self._shapes)


def _table(file: zipfile.ZipFile, head: Json) -> ScoreTable:
    """Read a whole table; raises one of `_UNUSABLE` where its parts do not fit together."""
    import numpy as np

    ids, documents = (from_json(_member(file, f"{name}.json")) for name in ("ids", "documents"))
    lists = {
        "categories": head["categories"],
        "documents": list(map(tuple, documents)),
        "errors": head["errors"],
    }
    texts = [*ids, *head["categories"], *head["errors"], *chain.from_iterable(documents)]
    if set(map(type, texts)) - {str} or {*map(type, documents)} - {list}:
        raise ValueError("they are no texts")
    names = [name.removesuffix(".npy") for name in file.namelist() if "/" in name]
    sizes = {name: (len(ids) if name.startswith("question/") else head["rows"],) for name in names}
    hashes = _Arrays(file, "|u1", {name: (len(ids), size) for name, size in _HASHES.items()})
    columns = _Arrays(file, "<f8", sizes)
    numbers = columns["answer/question"]
    if not (np.diff(numbers, prepend=0, append=len(ids) - 1) >= 0).all() or (numbers % 1).any():
        raise ValueError("its answers are not in the order of its questions")
    needed = [*(f"answer/{name}" for name in _OF_ANSWERS), *(f"question/{name}" for name in _OF_QUESTIONS)]
    if missing := [name for name in needed if name not in columns]:
        raise ValueError(f"it lacks {missing}")
    for name, listed in _CODED.items():
        codes = columns[name]
        known = (codes >= 0) & (codes < len(lists[listed])) & (codes % 1 == 0)
        if not (known | np.isnan(codes) if name == "answer/error" else known).all():
            raise ValueError(f"{name} has a number that is not in a list")
    return ScoreTable(ids, hashes, columns, **lists, compared=_head(head).marks)


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
