"""Human ratings of scores, stored in `reviews.jsonl` of a run with one line per rating."""

from __future__ import annotations

from pathlib import Path

from fathoms.runs.people import Likert, append_said, read_said
from fathoms.types import StoredValue

FILE = "reviews.jsonl"


class Rating(StoredValue):
    """One reviewer's rating of the scores of one answer.

    `correctness`, `hallucination` and `abstained` were shown to the reviewer. `own` is how right the
    reviewer found the answer before these were shown, from 1 (wrong) to 5 (right). `score_rating` is the
    agreement with the first value, from 1 (strongly disagree) to 5 (strongly agree), `flag_rating` with the
    other two; each is `None` where there was nothing to rate. `seed` is that of the sample; `time` is UTC.
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
    own: Likert | None = None
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
    append_said(path, rating)


def read_ratings(path: Path) -> list[Rating]:
    """The last rating of every item by each reviewer, in the order first given; empty where there is no file.

    Raises StoreError, naming the line, for one that is damaged, is not a rating or has a later schema.
    """
    read = read_said(path, Rating, "a rating")
    return list({(*rating.item, rating.reviewer): rating for rating in read}.values())
