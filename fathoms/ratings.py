"""What people say of scores, on disk: `reviews.jsonl` of a run, one line an item that somebody rated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from fathoms.config import dotted, misread
from fathoms.errors import StoreError
from fathoms.journal import Journal, Line
from fathoms.types import Noun

FILE = "reviews.jsonl"
SCHEMA = 1

Likert = Annotated[int, Field(ge=1, le=5, strict=True)]
"""Agreement: 1 is strongly disagree, 3 neutral, 5 strongly agree."""


class Rating(Noun):
    """One reviewer's word on the scores of one answer.

    `correctness`, `hallucination` and `abstained` are what was shown; `score_rating` is the agreement with
    the first, `flag_rating` with the other two, `None` where there was nothing to agree with. `seed` drew the
    sample; `time` is UTC.
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
    """Add a line; when this returns it is on the disk. Raises StoreError where it cannot be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{path.parent} cannot be made: {error.strerror or error}") from error
    line = json.dumps({"schema": SCHEMA, **rating.model_dump(mode="json")})
    Journal(path).append(line.encode() + b"\n")


def read_ratings(path: Path) -> list[Rating]:
    """The last word of every reviewer on every item, in the order first given; empty without a file.

    Raises StoreError, with the line, for one that is no rating or of a later schema.
    """
    found: dict[tuple[Any, ...], Rating] = {}
    try:
        for line in Journal(path):
            rating = _rating(line, path)
            found[(*rating.item, rating.reviewer)] = rating
    except RecursionError as error:
        raise StoreError(f"{path}: a line is nested too deep to be a rating") from error
    return list(found.values())


def _rating(line: Line, path: Path) -> Rating:
    """The rating of one line."""
    place = f"{path}:{line.number}"
    try:
        rating = Rating.model_validate(line.value)
    except ValidationError as error:
        raise StoreError(f"{place}: not a rating: {error.errors()[0]['msg']}") from error
    for key, what in misread(rating, line.value):
        raise StoreError(f"{place}: not a rating: {dotted(key)}: {what}")
    if line.value.get("schema", SCHEMA) != SCHEMA:
        raise StoreError(f"{place}: written by a newer fathoms")
    return rating
