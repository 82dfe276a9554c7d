"""What all importers of single answers do with their rows: find the question of each, and make its record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fathoms.corpora.corpus import needs
from fathoms.corpora.rows import checked_name
from fathoms.errors import DataError, QuestionsError
from fathoms.importers.imported import (
    SHOWN,
    Imported,
    StoredRecords,
    did_you_mean,
    fold_space,
    missing_warning,
)
from fathoms.pipeline.external.answer import Parts, renamed, renamed_in_rounds, with_places
from fathoms.pipeline.external.names import DocumentNames, TextPlaces
from fathoms.runs.views import refusal
from fathoms.types import Failure, Hit, Question, Record, Round, ToolCall

NO_PARTS = Parts()
"""The parts of an answer whose text alone is known."""


@dataclass(frozen=True)
class Row:
    """One answer, one failed call or one search of a file, before its question is known.

    `number` is the number of the row, and `what` its name in the file: a `line` has the place `FILE:NUMBER`.
    The question is named by `id`, by `question`, its text, or by both; `files` tell questions with the same
    text apart by their documents. Without `answer` and `error`, the question was only searched for. `hits`
    and `rounds`, if set, take the place of those of `parts`.
    `latency` is in seconds.
    """

    number: int
    id: str | None = None
    question: str | None = None
    files: tuple[str, ...] = ()
    what: str = "line"
    answer: str | None = None
    error: str | None = None
    parts: Parts = NO_PARTS
    hits: Callable[[str], tuple[Hit, ...] | None] | None = None
    rounds: Callable[[str], tuple[Round, ...]] | None = None
    tools: tuple[ToolCall, ...] = ()
    repeat: int = 0
    latency: float | None = None
    released: Mapping[str, float | None] = field(default_factory=dict)

    def place(self, path: Path) -> str:
        """The place of the row for messages."""
        return f"{path}:{self.number}" if self.what == "line" else f"{path}: {self.what} {self.number}"

    def record(
        self, question: Question, named: Callable[[str], str], names: DocumentNames, texts: TextPlaces
    ) -> tuple[Record, int]:
        """Convert the row to a record, with documents renamed by `named`; also returns how many texts without
        a document were found in `texts`."""
        given = (self.hits or self.parts.hits)(question.id)
        searched = (self.rounds or self.parts.searched)(question.id)
        hits, rounds, placed, _ = with_places(given, searched, names, texts)
        may_cite = self.answer is not None or self.parts is not NO_PARTS
        record = Record(
            question=question,
            repeat=self.repeat,
            hits=None if hits is None else renamed(hits, named),
            rounds=renamed_in_rounds(rounds, named),
            tools=self.tools,
            answer=None if self.answer is None else self.parts.reply(self.answer, latency=self.latency),
            error=None if self.error is None else Failure(kind="Imported", message=self.error),
            citations=self.parts.cited(self.answer or "", hits, named) if may_cite else None,
            released=dict(self.released),
        )
        return record, placed


class _Questions:
    """The questions of a data set, indexed by id and by text."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self.by_id = {question.id: question for question in questions}
        self.by_text: dict[str, list[Question]] = {}
        for question in questions:
            self.by_text.setdefault(fold_space(question.text), []).append(question)

    def find(self, row: Row, names: DocumentNames, *, hint: bool) -> Question | str:
        """Return the question that a row names, or why there is none; `hint` adds a suggestion to the reason,
        which takes time to compute. Documents are named as `names` has them."""
        if row.id is not None and row.id in self.by_id:
            return self.by_id[row.id]
        if row.question is None:
            name = row.id or ""
            return f"no question '{name}'" + (did_you_mean(name, self.by_id) if hint else "")
        text = fold_space(row.question)
        found = self.by_text.get(text, [])
        if not found:
            return f"no question '{text[:80]}'" + (did_you_mean(text, self.by_text) if hint else "")
        if len(found) == 1:
            return found[0]
        if row.files:
            # what a search found names no question: one that found the wrong document would then look right
            files = {names.find(name) or name for name in row.files}
            about = [question for question in found if files <= needs(question)]
            if len(about) == 1:
                return about[0]
        ids = ", ".join(question.id for question in found)
        return f"several questions have this text: name one by 'id' ({ids}), or its documents by 'files'"


def imported_rows(
    path: Path,
    rows: Iterable[Row],
    questions: Sequence[Question],
    documents: Iterable[str] = (),
    texts: TextPlaces | None = None,
    *,
    warnings: Sequence[str] = (),
    finish: Callable[[], Sequence[str]] = tuple,
    left_out: int = 0,
    model: str | None = None,
    pipeline: str | None = None,
) -> Imported:
    """Return the records of a file's rows, which answer all or some of `questions`.

    Contexts and citations take the names of `documents`, and of those that the questions name, where their
    paths end alike. If `documents` are given, all others are named in a warning. Contexts without a document
    have the places where their texts stand in `texts`, if they are found; a warning says how many. Rows for
    unknown questions and second answers to the same question are left out with a warning. Questions without
    an answer are named in a warning too. `warnings` are those of reading the file; `finish` is called when
    all rows were read, returns more of them, or raises what is wrong with the file. `left_out` counts the
    rows that it could not use. Raises DataError if no row answers any of the questions, and a QuestionsError
    with all rows that could be stored and not be read again.
    """
    known, complaints = _Questions(questions), list[str]()
    records = StoredRecords()
    first: dict[tuple[str, int], int] = {}
    nowhere, only_searched = 0, True
    found = list(warnings)
    known_documents = tuple(documents)
    names = DocumentNames({*known_documents, *(name for question in questions for name in needs(question))})
    unmatched: Counter[str] = Counter()
    places, placed = texts or TextPlaces(()), 0

    def named(document: str) -> str:
        name = names.find(document) if document else ""
        if name is None and known_documents:
            unmatched[document] += 1
        return document if name is None else name

    for row in rows:
        question = known.find(row, names, hint=len(found) < SHOWN)
        if isinstance(question, str):
            found.append(f"{row.place(path)}: {question}")
        elif (key := (question.id, row.repeat)) in first:
            where = f"{'on ' if row.what == 'line' else ''}{row.what} {first[key]}"
            found.append(f"{row.place(path)}: a second answer to {question.id} (the first is {where})")
        else:
            record, number = row.record(question, named, names, places)
            first[key] = row.number
            if (why := refusal(record)) is not None:
                complaints.append(f"{row.place(path)}: {why}")
                continue
            records.append(record)
            placed += number
            nowhere += sum(hit.chunk.document is None for hit in record.hits or ())
            only_searched = only_searched and record.only_searched
    found += finish()
    if complaints:
        raise QuestionsError(complaints)
    if not records:
        raise DataError("\n".join([f"{path}: no row answers a question of the data set", *found[:SHOWN]]))
    if unmatched:
        listed = ", ".join(name[:200] for name, _ in unmatched.most_common(SHOWN))
        more = f" and {len(unmatched) - SHOWN} more" if len(unmatched) > SHOWN else ""
        found.append(f"{path}: contexts or citations of unknown documents: {listed}{more}")
    found += _place_warnings(path, placed, nowhere, looked_for=texts is not None)
    found += missing_warning(path, questions, {id for id, _ in first}, only_searched=only_searched)
    return Imported(path.stem, model, records, tuple(questions), tuple(found), pipeline, left_out)


def _place_warnings(path: Path, placed: int, nowhere: int, *, looked_for: bool) -> Iterator[str]:
    """Say how many contexts without a document were placed by their texts, and how many have no place."""
    if placed:
        yield (
            f"{path}: {placed} contexts without a document were placed by their texts, which stand in one"
            " document of --documents"
        )
    if nowhere:
        why = (
            "their texts stand in none of --documents, or in several"
            if looked_for
            else "--documents FOLDER looks for their texts in its PDFs"
        )
        yield (
            f"{path}: {nowhere} contexts name no document, and what rests on their places is not known: {why}"
        )


def require_name(what: str, name: str) -> None:
    """Raise DataError for a name of a question or of its parts that is too long or has control characters."""
    try:
        checked_name(name)
    except ValueError as error:
        raise DataError(f"{what} {name[:80]!a} {error}") from None
