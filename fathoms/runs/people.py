"""What people say of answers, stored in files of a run with one line for each thing they said.

`labels.jsonl` holds their labels of claims. `ratings.py` holds their ratings of scores.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from fathoms.config import dotted, misread
from fathoms.errors import StoreError
from fathoms.paths import sha256_file
from fathoms.runs.journal import Journal, Line, journal_line
from fathoms.types import Judgement, Rubric, StoredValue

LABELS_FILE = "labels.jsonl"
SCHEMA = 1
S = TypeVar("S", bound=StoredValue)


class ClaimLabel(StoredValue):
    """One reviewer's label of a claim of an answer, compared with one source.

    `claim`, `premise`, `context`, `image` and `rubric` are what was judged: see `Judgement`; of a picture,
    `image` is the SHA-256. `label` is one of those of judges, and `group` the question, so that the file can
    be read as the labels of any judge's check. `seed` is that of the sample; `time` is UTC.
    """

    claim: str
    premise: str = ""
    label: str
    context: str = ""
    image: str | None = None
    rubric: Rubric = "support"
    group: str
    run: str
    question: str
    repeat: int = 0
    reviewer: str
    seed: int
    comment: str | None = None
    time: str

    @property
    def what(self) -> Judged:
        """What was judged."""
        return self.claim, self.premise, self.context, self.image, self.rubric


Judged = tuple[str, str, str, str | None, Rubric]
"""A claim, its premise, context, the hash of a picture, and the rubric."""


def judged(asked: Judgement) -> Judged:
    """Return what a judgement asks for, as labels name it; raises OSError if a picture cannot be read."""
    image = None if asked.image is None else sha256_file(asked.image)
    return asked.claim, asked.premise, asked.context, image, asked.rubric


def read_claim_labels(paths: Iterable[Path]) -> list[ClaimLabel]:
    """Return the last label of every reviewer for each thing that was judged; raises StoreError."""
    read = (label for path in paths for label in read_said(path, ClaimLabel, "a label"))
    return list({(label.run, label.question, label.what, label.reviewer): label for label in read}.values())


def append_said(path: Path, said: StoredValue) -> None:
    """Append what somebody said; it is on disk when this returns. Raises StoreError where that fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{path.parent} cannot be made: {error.strerror or error}") from error
    Journal(path).append([journal_line({"schema": SCHEMA, **said.model_dump(mode="json")})])


def read_said(path: Path, kind: type[S], name: str) -> list[S]:
    """Read a file of what people said; empty where there is no file.

    Raises StoreError, naming the line, for one that is damaged, is not of this kind or has a later schema;
    `name` says what it should be. A partial line, as left by a killed writer, is skipped.
    """
    return [said for line in Journal(path) if (said := _said(line, path, kind, name)) is not None]


def _said(line: Line, path: Path, kind: type[S], name: str) -> S | None:
    """Parse one line; `None` for a partial line. Raises StoreError for anything else that is not one."""
    place = f"{path}:{line.number}"
    if line.flaw is not None:
        raise StoreError(f"{place}: not {name}: {line.flaw}")
    try:
        value = json.loads(line.text)
        said = kind.model_validate(value)
    except ValidationError as error:
        raise StoreError(f"{place}: not {name}: {error.errors()[0]['msg']}") from error
    except RecursionError as error:
        raise StoreError(f"{place}: not {name}: it is nested too deeply") from error
    except ValueError:
        return None
    for key, what in misread(said, value):
        raise StoreError(f"{place}: not {name}: {dotted(key)}: {what}")
    if value.get("schema", SCHEMA) != SCHEMA:
        raise StoreError(f"{place}: written by a newer fathoms")
    return said
