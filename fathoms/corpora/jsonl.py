"""The JSON lines question format: one JSON object per line; empty lines are skipped."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from fathoms.corpora.fathoms_json import json_rows, written
from fathoms.corpora.released import Notes
from fathoms.corpora.rows import Placed
from fathoms.errors import DataError
from fathoms.safety.inputs import parse_json
from fathoms.types import Question


def jsonl_rows(text: str, name: str, notes: Notes) -> Iterator[Placed | DataError]:
    """Yield each question of a JSON lines file with its place (`file:line`), or a DataError per bad line.

    A file that is one JSON list, over one or several lines, is read as such, with a note.
    """
    start = text.lstrip()
    if start[:1] == "[" and start[1:].lstrip()[:1] in ("{", "]"):
        notes.add("a list of JSON, read as one although the name ends in JSON lines", f"{name}:1")
        yield from json_rows(text, name, notes)
        return
    # Only \n ends a line here: str.splitlines also cuts at characters that JSON strings may hold.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = parse_json(line, name, first_line=number)
        except DataError as error:
            yield error
            continue
        if isinstance(row, dict):
            yield f"{name}:{number}", row
        else:
            yield DataError(f"{name}:{number}: a line has to be an object with a question")


def dump_jsonl(questions: Iterable[Question]) -> str:
    """Return questions as JSON lines, with their ids; reading the text back gives the same questions."""
    rows = ({"category": question.category, **written(question)} for question in questions)
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
