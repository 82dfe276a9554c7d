"""Imports answers of any system from a JSON lines file with one answer per line.

    {"id": "text-only-01", "answer": "Convolutional networks."}
    {"question": "What is x?", "answer": "4", "contexts": ["...", {"text": "...", "page": 3}]}
    {"id": "text-only-02", "answer": null, "error": "timed out"}

A row names its question by `id`, or by `question`, the text of the question. An `answer` of null means that
the call failed; `error` then gives the reason (it is ignored otherwise). The other keys are those of
`fathoms.Answer` (see `pipeline/external/answer.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from pydantic import ConfigDict, ValidationError

from fathoms.config import dotted, misread
from fathoms.corpora.corpus import needs
from fathoms.errors import DataError, QuestionsError
from fathoms.importers.imported import (
    LARGEST_IMPORT,
    SHOWN,
    Imported,
    did_you_mean,
    fold_space,
    missing_warning,
)
from fathoms.pipeline.external.answer import Parts, renamed
from fathoms.pipeline.external.names import DocumentNames
from fathoms.safety.inputs import parse_json, read_text
from fathoms.types import Failure, Question, Record


class _AnswerRow(Parts):
    """One line of the file, parsed; other keys than these are ignored."""

    model_config = ConfigDict(extra="allow")

    id: str | None = None
    question: str | None = None
    answer: str | None
    error: str | None = None


class _Questions:
    """The questions of a data set, indexed by id and by text."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self.by_id = {question.id: question for question in questions}
        self.by_text: dict[str, list[Question]] = {}
        for question in questions:
            self.by_text.setdefault(fold_space(question.text), []).append(question)

    def find(self, row: _AnswerRow, *, hint: bool) -> Question | str:
        """Return the question that a row names, or why there is none; `hint` adds a suggestion to the reason,
        which takes time to compute."""
        if row.id is not None:
            if row.id in self.by_id:
                return self.by_id[row.id]
            return f"no question '{row.id}'" + (did_you_mean(row.id, self.by_id) if hint else "")
        text = fold_space(row.question or "")
        found = self.by_text.get(text, [])
        if not found:
            return f"no question '{text[:80]}'" + (did_you_mean(text, self.by_text) if hint else "")
        if len(found) == 1:
            return found[0]
        ids = ", ".join(question.id for question in found)
        return f"several questions have this text: name one by 'id' ({ids})"


def read_answers(path: Path, questions: Sequence[Question], documents: Iterable[str] = ()) -> Imported:
    """Read a file of answers to all or some of `questions`.

    Contexts and citations take the names of `documents`, and of those that the questions name, where their
    paths end alike. If `documents` are given, all others are named in a warning. Rows for unknown questions
    and second answers to the same question are left out with a warning. Questions without an answer are named
    in a warning too. Raises a DataError that lists all invalid rows with `file:line`, and a DataError if no
    row answers any of the questions.
    """
    known = _Questions(questions)
    records: dict[str, Record] = {}
    lines: dict[str, int] = {}
    rows = _rows(path)
    warnings = _unknown_keys(path, rows)
    known_documents = tuple(documents)
    names = DocumentNames({*known_documents, *(name for question in questions for name in needs(question))})
    unmatched: Counter[str] = Counter()

    def named(document: str) -> str:
        found = names.find(document) if document else ""
        if found is None and known_documents:
            unmatched[document] += 1
        return document if found is None else found

    for line, row in rows:
        question = known.find(row, hint=len(warnings) < SHOWN)
        if isinstance(question, str):
            warnings.append(f"{path}:{line}: {question}")
        elif question.id in records:
            first = lines[question.id]
            warnings.append(f"{path}:{line}: a second answer to {question.id} (the first is on line {first})")
        else:
            records[question.id] = _record(question, row, named)
            lines[question.id] = line
    if not records:
        raise DataError("\n".join([f"{path}: no row answers a question of the data set", *warnings[:SHOWN]]))
    if unmatched:
        listed = ", ".join(name[:200] for name, _ in unmatched.most_common(SHOWN))
        more = f" and {len(unmatched) - SHOWN} more" if len(unmatched) > SHOWN else ""
        warnings.append(f"{path}: contexts or citations of unknown documents: {listed}{more}")
    warnings += missing_warning(questions, records.values())
    return Imported(path.stem, None, tuple(records.values()), tuple(questions), tuple(warnings))


def _rows(path: Path) -> list[tuple[int, _AnswerRow]]:
    """Return the rows with their line numbers; raises a single QuestionsError that lists all invalid rows."""
    rows: list[tuple[int, _AnswerRow]] = []
    complaints: list[str] = []
    for number, line in enumerate(read_text(path, LARGEST_IMPORT).split("\n"), start=1):
        if line.strip():
            try:
                rows.append((number, _parse(line, str(path), number)))
            except DataError as error:
                complaints.append(str(error))
    if complaints:
        raise QuestionsError(complaints)
    return rows


def _unknown_keys(path: Path, rows: Sequence[tuple[int, _AnswerRow]]) -> list[str]:
    """Return a warning for each key that means nothing here, with its first line. Keys that begin with an
    underscore are meant to be ignored."""
    lines: dict[str, list[int]] = {}
    for line, row in rows:
        for key in row.model_extra or {}:
            if not key.startswith("_"):
                lines.setdefault(key, []).append(line)
    known = _AnswerRow.model_fields
    return [
        f"{path}:{found[0]}: the key '{key[:80]}'{did_you_mean(key, known)} is ignored"
        + (f", as in {len(found) - 1} other rows" if len(found) > 1 else "")
        for key, found in lines.items()
    ]


def _parse(line: str, name: str, number: int) -> _AnswerRow:
    """Parse one row; raises DataError if it is invalid."""
    data, place = parse_json(line, name, first_line=number), f"{name}:{number}"
    if not isinstance(data, dict):
        raise DataError(f"{place}: expected an object with 'answer' and either 'id' or 'question'")
    try:
        row = _AnswerRow.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        what = f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
        if first["type"] == "missing" and first["loc"] == ("answer",):
            what = f"'answer' is missing{did_you_mean('answer', data)}"
        raise DataError(f"{place}: {what}") from error
    for key, what in misread(row, data):
        raise DataError(f"{place}: {dotted(key)}: {what}")
    if row.id is None and row.question is None:
        raise DataError(f"{place}: 'id' or 'question' is missing{did_you_mean('question', data)}")
    return row


def _record(question: Question, row: _AnswerRow, named: Callable[[str], str]) -> Record:
    """Convert a row, an answer or a failed call, to a record, with documents renamed by `named`."""
    hits = row.hits(question.id)
    return Record(
        question=question,
        hits=None if hits is None else renamed(hits, named),
        answer=None if row.answer is None else row.reply(row.answer),
        error=Failure(kind="Imported", message=row.error or "no answer") if row.answer is None else None,
        citations=row.cited(row.answer or "", hits, named),
    )
