"""What people say of scores, on disk: `reviews.jsonl` of a run, one line an item that somebody rated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from fathoms.config import dotted, misread
from fathoms.errors import StoreError
from fathoms.runs.journal import Journal, Line, journal_line
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
    Journal(path).append([journal_line({"schema": SCHEMA, **rating.model_dump(mode="json")})])


def read_ratings(path: Path) -> list[Rating]:
    """The last word of every reviewer on every item, in the order first given; empty without a file.

    Raises StoreError, with the line, for one that is damaged, is no rating, or is of a later schema. Half a
    line, which a writer that was killed leaves, is passed over.
    """
    found: dict[tuple[Any, ...], Rating] = {}
    for line in Journal(path):
        if (rating := _rating(line, path)) is not None:
            found[(*rating.item, rating.reviewer)] = rating
    return list(found.values())


def _rating(line: Line, path: Path) -> Rating | None:
    """The rating of one line; `None` for half a line, which a writer that was killed leaves.

    Raises StoreError, with the line, for anything else that is no rating.
    """
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
