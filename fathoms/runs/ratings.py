"""Human ratings of scores, stored in `reviews.jsonl` of a run with one line per rating."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from fathoms.config import dotted, misread
from fathoms.errors import StoreError
from fathoms.runs.journal import Journal, Line, journal_line
from fathoms.types import StoredValue

FILE = "reviews.jsonl"
SCHEMA = 1

Likert = Annotated[int, Field(ge=1, le=5, strict=True)]
"""Agreement from 1 (strongly disagree) through 3 (neutral) to 5 (strongly agree)."""


class Rating(StoredValue):
    """One reviewer's rating of the scores of one answer.

    `correctness`, `hallucination` and `abstained` are the values shown to the reviewer. `score_rating` is the
    agreement with the first, `flag_rating` with the other two; each is `None` where there was nothing to
    rate. `seed` is that of the sample; `time` is UTC.
    """

    run: str
    question: str
    repeat: int = 0
    profile: str
    reviewer: str
    seed: int
    correctness: float | None
    hallucination: float | None
    abstained: bool | None
    score_rating: Likert | None
    flag_rating: Likert | None
    comment: str | None = None
    time: str

    @property
    def item(self) -> tuple[str, str, int, str]:
        """What was rated: run, question, repeat and profile."""
        return self.run, self.question, self.repeat, self.profile

    @property
    def shown(self) -> tuple[float | None, float | None, bool | None]:
        """The score and the flags that the reviewer saw."""
        return self.correctness, self.hallucination, self.abstained


def append_rating(path: Path, rating: Rating) -> None:
    """Append a rating; it is on disk when this returns. Raises StoreError where that fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{path.parent} cannot be made: {error.strerror or error}") from error
    Journal(path).append([journal_line({"schema": SCHEMA, **rating.model_dump(mode="json")})])


def read_ratings(path: Path) -> list[Rating]:
    """The last rating of every item by each reviewer, in the order first given; empty where there is no file.

    Raises StoreError, naming the line, for one that is damaged, is not a rating or has a later schema. A
    partial line, as left by a killed writer, is skipped.
    """
    found: dict[tuple[Any, ...], Rating] = {}
    for line in Journal(path):
        if (rating := _rating(line, path)) is not None:
            found[(*rating.item, rating.reviewer)] = rating
    return list(found.values())


def _rating(line: Line, path: Path) -> Rating | None:
    """Parse the rating of one line; `None` for a partial line, as left by a killed writer. Raises StoreError,
    naming the line, for anything else that is not a rating."""
    place = f"{path}:{line.number}"
    if line.flaw is not None:
        raise StoreError(f"{place}: not a rating: {line.flaw}")
    try:
        value = json.loads(line.text)
        rating = Rating.model_validate(value)
    except ValidationError as error:
        raise StoreError(f"{place}: not a rating: {error.errors()[0]['msg']}") from error
    except RecursionError as error:
        raise StoreError(f"{place}: not a rating: it is nested too deeply") from error
    except ValueError:
        return None
    for key, what in misread(rating, value):
        raise StoreError(f"{place}: not a rating: {dotted(key)}: {what}")
    if value.get("schema", SCHEMA) != SCHEMA:
        raise StoreError(f"{place}: written by a newer fathoms")
    return rating
