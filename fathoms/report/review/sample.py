"""Draws the answers that people review, and tracks the progress of a reviewer.

It follows the study in section IV-D of the FATHOMS-RAG paper: reviewers see a few random questions of each
run, and rate their agreement with the correctness score and with the hallucination flag from 1 to 5.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from fathoms.runs.ratings import Rating, append_rating, read_ratings
from fathoms.runs.views import AnswerScores, ScoredQuestion, ScoredRepeat
from fathoms.types import Question


@dataclass(frozen=True)
class Item:
    """One answer under review, with its scores under one profile."""

    run: str
    profile: str
    question: Question
    repeat: ScoredRepeat

    @property
    def scores(self) -> AnswerScores:
        """The scores under the profile, empty if there are none."""
        return self.repeat.under(self.profile)

    @property
    def rateable(self) -> tuple[bool, bool]:
        """Whether there is a score to rate, and whether there is a flag to rate."""
        correctness, *flags = self.scores.shown
        return correctness is not None, flags != [None, None]

    @property
    def key(self) -> tuple[str, str, int, str]:
        """The run, question id, repeat and profile that identify the item in a rating."""
        return self.run, self.question.id, self.repeat.repeat, self.profile


def draw(run: str, profile: str, views: Iterable[ScoredQuestion], size: int, seed: int) -> list[Item]:
    """Draw at most `size` random questions of a run, with one answer each; failed answers are left out.

    Answers are sorted by a hash of the seed, the run and their own key, and the first ones are taken. So the
    sample depends neither on other runs nor on the order of the questions, and a larger sample contains a
    smaller one.
    """
    best = []
    for view in views:
        items = [Item(run, profile, view.question, repeat) for repeat in view.repeats]
        items = [item for item in items if not item.repeat.error and any(item.rateable)]
        if items:
            best.append(min(items, key=lambda item: lot(item, seed)))
    return sorted(best, key=lambda item: lot(item, seed))[:size]


def lot(item: Item, seed: int) -> str:
    """Return a pseudo-random sort key that is the same for the same seed."""
    return hashlib.sha256(repr((seed, *item.key)).encode("utf-8", "replace")).hexdigest()


class Session:
    """The progress of one reviewer through the items; every rating is saved before the next item is shown.

    Items of all runs are shuffled, so that nobody rates one pipeline in a block. Items that the reviewer has
    rated before are skipped, unless their scores have changed since; `back` can still return to them.
    """

    def __init__(self, items: Sequence[Item], files: Mapping[str, Path], reviewer: str, seed: int) -> None:
        """Start or continue a session; `files` maps each run to its file of ratings."""
        self.items = sorted(items, key=lambda item: lot(item, seed))
        self.skipped: set[int] = set()
        self._files = files
        self._reviewer = reviewer
        self._seed = seed
        self._ratings = dict(self._known())
        self._position = 0
        self._pass_rated()

    def _known(self) -> Iterator[tuple[int, Rating]]:
        """Yield the index and rating of each item rated by this reviewer whose scores have not changed."""
        read = [rating for path in dict.fromkeys(self._files.values()) for rating in read_ratings(path)]
        mine = {rating.item: rating for rating in read if rating.reviewer == self._reviewer}
        for number, item in enumerate(self.items):
            rating = mine.get(item.key)
            if rating and rating.shown == item.scores.shown:
                yield number, rating

    @property
    def position(self) -> int:
        """The index of the current item, or the number of items at the end."""
        return self._position

    @property
    def current(self) -> Item | None:
        """The current item, `None` at the end."""
        return self.items[self._position] if self._position < len(self.items) else None

    @property
    def before(self) -> Rating | None:
        """The reviewer's earlier rating of the current item, `None` if there is none."""
        return self._ratings.get(self._position)

    @property
    def rated(self) -> int:
        """The number of items that the reviewer has rated."""
        return len(self._ratings)

    def rate(self, score: int | None, flag: int | None, comment: str | None = None) -> None:
        """Save a rating of the current item, and go to the next one."""
        item = self.items[self._position]
        run, question, repeat, profile = item.key
        correctness, hallucination, abstained = item.scores.shown
        rating = Rating(
            run=run,
            question=question,
            repeat=repeat,
            profile=profile,
            reviewer=self._reviewer,
            seed=self._seed,
            correctness=correctness,
            hallucination=hallucination,
            abstained=abstained,
            score_rating=score,
            flag_rating=flag,
            comment=comment,
            time=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        append_rating(self._files[run], rating)
        self._ratings[self._position] = rating
        self.skipped.discard(self._position)
        self._forward()

    def skip(self) -> None:
        """Go to the next item without a rating; a later session shows this one again."""
        if self._position not in self._ratings:
            self.skipped.add(self._position)
        self._forward()

    def back(self) -> bool:
        """Go back by one item, rated or not; return `False` at the first one."""
        if self._position == 0:
            return False
        self._position -= 1
        return True

    def _forward(self) -> None:
        """Go to the next item that is not rated."""
        self._position += 1
        self._pass_rated()

    def _pass_rated(self) -> None:
        """Skip items that are rated."""
        while self._position in self._ratings:
            self._position += 1
