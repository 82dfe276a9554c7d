"""Saves the scores of the runs that a gate compares with, and reads them again."""

from __future__ import annotations

import json
from pathlib import Path

from fathoms.compare.question_scores import QuestionScores
from fathoms.config import misread
from fathoms.errors import DataError, StoreError
from fathoms.paths import write_atomic
from fathoms.safety.inputs import parse_json, read_text

SCHEMA = 1
"""The version of the format of baselines."""


def write_baseline(scores: QuestionScores, path: Path) -> None:
    """Write the scores to a baseline file; raises StoreError if it cannot be written."""
    questions = {
        name: one.model_copy(update={"values": dict(one.values)}) for name, one in scores.questions.items()
    }
    whole = scores.model_copy(update={"questions": questions})
    data = {"schema": SCHEMA, "kind": "baseline", **whole.model_dump(mode="json")}
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    try:
        write_atomic(path, text.encode("utf-8", "replace"))
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error


def read_baseline(path: Path) -> QuestionScores:
    """Read a baseline file written by `write_baseline`; raises DataError for any other file."""
    data = parse_json(read_text(path), str(path))
    schema = data.get("schema") if isinstance(data, dict) and data.get("kind") == "baseline" else None
    if isinstance(schema, int) and schema > SCHEMA:
        raise DataError(
            f"{path} was written by a newer fathoms (schema {schema}): update fathoms, or save the baseline"
            " again with 'fathoms gate RUN --save-baseline FILE'"
        )
    try:
        if schema is None:
            raise ValueError("no baseline")
        scores = QuestionScores.model_validate(data)
        if any(True for _ in misread(scores, data)):
            raise ValueError("a value of another type")
    except ValueError as error:
        raise DataError(
            f"{path} is not a baseline: 'fathoms gate RUN --save-baseline FILE' makes one"
        ) from error
    return scores.model_copy(update={"saved_in": str(path)})
