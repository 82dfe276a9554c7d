"""The JSON lines question format: one JSON object per line; empty lines are skipped."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from fathoms.corpora.fathoms_json import written
from fathoms.corpora.rows import Placed
from fathoms.errors import DataError
from fathoms.safety.inputs import parse_json
from fathoms.types import Question


def jsonl_rows(text: str, name: str) -> Iterator[Placed | DataError]:
    """Yield each question of a JSON lines file with its place (`file:line`), or a DataError per bad line."""
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
