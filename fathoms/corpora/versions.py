"""The versions of a question set, each with a copy in the folder of the runs.

A question file is edited after a run, so each run leaves a copy of its questions beside the runs: JSON lines
in `.questions/HASH.gz`, named by the hash of their text, which stands in the manifest. A version that many
runs used is there once.
"""

from __future__ import annotations

import io
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fathoms.corpora.fathoms_json import written
from fathoms.corpora.jsonl import jsonl_rows
from fathoms.corpora.questions import QuestionFile, read_questions
from fathoms.corpora.released import Notes
from fathoms.corpora.rows import questions_of
from fathoms.errors import DataError, StoreError
from fathoms.runs.blobs import QUESTIONS, Blobs
from fathoms.runs.folder import TooLongError
from fathoms.runs.identity import Identity, identity
from fathoms.runs.run import Run
from fathoms.text.ids import looks_derived
from fathoms.types import Question


@dataclass(frozen=True)
class Questions:
    """The questions of a file or of a run as `name`, by id. Where the run has no copy of its questions, they
    are only those that it asked: not the `whole` set."""

    name: str
    identities: Mapping[str, Identity]
    whole: bool = True


def keep_questions(out: Path, questions: Iterable[Question], derived: Collection[str]) -> str | None:
    """Store a copy of the questions of a run beside the runs, and return its hash; `None` for more text than
    a copy can hold."""
    try:
        return Blobs(out, QUESTIONS).put(text_of(questions, derived), mend=True)
    except TooLongError:
        return None


def text_of(questions: Iterable[Question], derived: Collection[str]) -> str:
    """Return questions as JSON lines. Ids that do not stand in the question file are left out, and are
    derived again when the text is read."""
    text = io.StringIO()  # `join` would keep all lines beside the whole
    for one in questions:
        row = {"category": one.category, **written(one)}
        if one.id in derived:
            row.pop("id", None)
        text.write(json.dumps(row, ensure_ascii=False) + "\n")
    return text.getvalue()


def questions_of_file(path: Path) -> Questions:
    """Read the questions of a file."""
    return questions_in(str(path), read_questions(path))


def questions_in(name: str, file: QuestionFile) -> Questions:
    """Return the questions of a file that was read."""
    return Questions(
        name, {one.id: identity(one, written=one.id not in file.derived) for one in file.questions}
    )


def questions_of_run(run: Run) -> Questions:
    """Read the questions that a run was made with: those of its copy, or those that it asked. Raises
    StoreError if the copy is damaged."""
    manifest = run.manifest
    said, copy = manifest.data.written_ids, manifest.data.questions_copy
    beside, own = Blobs(run.path.parent, QUESTIONS), Blobs(run.path)
    blobs = next((one for one in (own, beside) if copy is not None and copy in one), None)
    if whole := copy is not None and blobs is not None:
        assert copy is not None
        assert blobs is not None
        rows = list(jsonl_rows(blobs.get(copy), f"questions of {run.id}", Notes()))
        try:
            questions, _ = questions_of(rows)
        except DataError as error:
            raise StoreError(f"the copy of the questions of {run.id} cannot be read: {error}") from error
        derived = {
            one.id
            for one, row in zip(questions, rows, strict=True)
            if not isinstance(row, DataError) and not row[1].get("id")
        }
    else:
        first = {name: entry for (name, _), entry in run.records.entries().items()}
        questions = tuple(record.question for record in run.records.read(first.values(), light=True))
        derived = set()
    if said is None or not whole:  # the ids of an import, or of an earlier version
        unsure = {one.id for one in questions if looks_derived(one.id, one.category)}
        derived |= unsure if said is None else set() if said else {one.id for one in questions}
    return Questions(
        run.id, {one.id: identity(one, written=one.id not in derived) for one in questions}, whole
    )
