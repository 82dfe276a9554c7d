"""Writes a question set, or a new version of it beside the earlier one."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from fathoms.corpora import write_questions
from fathoms.corpora.writing import dumped
from fathoms.errors import StoreError
from fathoms.extras.questions.making.drafts import folder_of
from fathoms.paths import write_atomic
from fathoms.types import Question


def replace_set(path: Path, questions: Sequence[Question], version: int | None = None) -> None:
    """Write a question set. `version` is that of the set that exists already, which is copied into the folder
    of the drafts first. Raises as `write_questions` does."""
    if version is None:
        write_questions(path, questions)
        return
    versions = folder_of(path) / "versions"
    try:
        versions.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, versions / f"{path.stem}.v{version}{path.suffix}")
        write_atomic(path, dumped(path, questions).encode())
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error}") from error
