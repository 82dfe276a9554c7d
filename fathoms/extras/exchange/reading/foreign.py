"""The common parts of the importers of result files: rows that contain their own questions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from fathoms.errors import DataError
from fathoms.extras.exchange.reading.contexts import contexts_of
from fathoms.extras.exchange.reading.hits import RetrievedHit, hits_of
from fathoms.importers.imported import Imported
from fathoms.importers.rows import Row, imported_rows, require_name
from fathoms.pipeline.external.mapping import first_at
from fathoms.pipeline.external.names import TextPlaces
from fathoms.text.ids import question_ids
from fathoms.types import Evidence, Hit, Question, Scalar

_CONTEXTS = ("contexts", "context", "retrieved_contexts", "documents", "sources")
"""The names under which tools and their users keep what was retrieved."""


@dataclass(frozen=True)
class ForeignRow:
    """A row with the question that it answers, as the file has it."""

    row: Row
    category: str = "Uncategorised"
    answers: Sequence[Sequence[Any]] = ()
    reference: str | None = None
    reference_claims: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    metadata: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True)
class Options:
    """What the user says about a file of another tool.

    `questions` replace those of the file, `contexts` is the JSONPath of the retrieved contexts in a row, and
    `first_page` the number that the tool gives to the first page of a PDF. `documents` are the names of the
    documents that are known, and `texts` the places of the texts in them.
    """

    questions: Sequence[Question] | None = None
    documents: Sequence[str] = ()
    contexts: str | None = None
    first_page: int = 1
    texts: TextPlaces | None = None


def usable(
    values: Iterable[tuple[int, Any]], read: Callable[[int, Any], ForeignRow], path: Path, what: str = "line"
) -> tuple[list[ForeignRow], list[str]]:
    """Read the rows of a file. Returns the usable ones, and a message with the place of each other one,
    including those with an id or category that no question may have."""
    rows: list[ForeignRow] = []
    complaints: list[str] = []
    for number, value in values:
        try:
            row = read(number, value)
            for name, text in (("id", row.row.id), ("category", row.category)):
                require_name(f"the {name}", text or "unnamed")
            rows.append(row)
        except (DataError, ValidationError) as error:
            why = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
            complaints.append(f"{Row(number, what=what).place(path)}: left out: {why}")
    return rows, complaints


def imported(
    path: Path,
    rows: Sequence[ForeignRow],
    complaints: Sequence[str],
    options: Options,
    *,
    model: str | None = None,
    pipeline: str | None = None,
) -> Imported:
    """Return the records of the rows, for the questions of the options or else for those of the rows."""
    questions = options.questions
    if questions is None:
        questions, rows = _own(rows)
    return imported_rows(
        path,
        [one.row for one in rows],
        questions,
        options.documents,
        options.texts,
        warnings=complaints,
        left_out=len(complaints),
        model=model,
        pipeline=pipeline,
    )


def _own(rows: Sequence[ForeignRow]) -> tuple[list[Question], list[ForeignRow]]:
    """Return the questions of the rows, and the rows with their ids. Rows with the same id share a question;
    a row without one is a question of its own."""
    derived = question_ids([one.category for one in rows])
    named = [
        one if one.row.id else replace(one, row=replace(one.row, id=own))
        for one, own in zip(rows, derived, strict=True)
    ]
    questions: dict[str, Question] = {}
    for one in named:
        assert one.row.id is not None
        questions.setdefault(
            one.row.id,
            Question(
                id=one.row.id,
                text=one.row.question or "",
                category=one.category,
                answers=tuple(map(tuple, one.answers)),
                reference=one.reference,
                reference_claims=one.reference_claims,
                evidence=one.evidence,
                metadata=dict(one.metadata),
            ),
        )
    return list(questions.values()), named


def found_hits(found: tuple[RetrievedHit, ...] | None) -> Callable[[str], tuple[Hit, ...] | None]:
    """Return the function that converts the retrieved contexts of a row to hits."""
    return partial(hits_of, found)


def contexts_in(
    value: Any, places: Sequence[Sequence[str]], options: Options
) -> tuple[RetrievedHit, ...] | None:
    """Return the contexts in one of the places of a row, or where the options say; `None` if it has none."""
    if options.contexts:
        return contexts_of(first_at(value, options.contexts), options.first_page)
    found = (value_at(value, *place, name) for place in places for name in _CONTEXTS)
    return contexts_of(next((one for one in found if one is not None), None), options.first_page)


def numbers(values: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the values that are finite numbers or truth values, as scores by name. `None` stays `None`, for
    a score that could not be computed; all other values are left out."""
    found: dict[str, float | None] = {}
    for name, value in values.items():
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            found[name] = None
        elif isinstance(value, bool | int | float):
            found[name] = float(value)
    return found


def scalars(values: Any, without: Iterable[str] = ()) -> Iterator[tuple[str, Scalar]]:
    """Yield the plain values of an object, as metadata of a question."""
    for name, value in values.items() if isinstance(values, dict) else ():
        if isinstance(value, str | bool | int | float) and name not in without:
            yield name, value


def value_at(value: Any, *keys: str | int) -> Any:
    """Return the value at a path of keys and positions; `None` where the path leads nowhere."""
    for key in keys:
        if isinstance(key, int):
            value = value[key] if isinstance(value, list) and len(value) > key else None
        else:
            value = value.get(key) if isinstance(value, dict) else None
    return value
