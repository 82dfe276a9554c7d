"""Draws the answers that people review, and tracks the progress of a reviewer.

It follows the study in section IV-D of the FATHOMS-RAG paper: reviewers see a few random questions of each
run, and rate their agreement with the correctness score and with the hallucination flag from 1 to 5.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from fathoms.cli.asking import Progress
from fathoms.runs.ratings import Rating, append_rating, read_ratings
from fathoms.types import Question
from fathoms.types.run.rows import AnswerScores, ScoredQuestion, ScoredRepeat


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

    @property
    def said_key(self) -> tuple[str, str, int]:
        """The run, question id and repeat, which name the answer whatever its scores."""
        return self.key[:3]


def draw(
    run: str,
    profile: str,
    views: Iterable[ScoredQuestion],
    size: int,
    seed: int,
    wanted: Callable[[Item], bool] = lambda item: any(item.rateable),
) -> list[Item]:
    """Draw at most `size` random questions of a run, with one answer each that is wanted, by default that has
    a score; failed answers are left out.

    Answers are sorted by a hash of the seed, the run and their own key, and the first ones are taken. So the
    sample depends neither on other runs nor on the order of the questions, and a larger sample contains a
    smaller one.
    """
    best = []
    for view in views:
        items = [Item(run, profile, view.question, repeat) for repeat in view.repeats]
        items = [item for item in items if not item.repeat.error and wanted(item)]
        if items:
            best.append(min(items, key=lambda item: lot(item, seed)))
    return sorted(best, key=lambda item: lot(item, seed))[:size]


def lot(item: Item, seed: int) -> str:
    """Return a pseudo-random sort key that is the same for the same seed."""
    return hashlib.sha256(repr((seed, *item.key)).encode("utf-8", "replace")).hexdigest()


class Session(Progress[Item, Rating]):
    """The progress of one reviewer through the scores of answers.

    Items of all runs are shuffled, so that nobody rates one pipeline in a block. Items that were rated before
    are shown again if their scores have changed since.
    """

    def __init__(self, items: Sequence[Item], files: Mapping[str, Path], reviewer: str, seed: int) -> None:
        """Start with the first answer that the reviewer has not rated yet; `files` maps each run to its file
        of ratings."""
        items = sorted(items, key=lambda item: lot(item, seed))
        self._files = files
        self._reviewer = reviewer
        self._seed = seed
        super().__init__(items, dict(self._known(items)))

    def _known(self, items: Sequence[Item]) -> Iterator[tuple[int, Rating]]:
        """Yield the index and rating of each item rated by this reviewer whose scores have not changed."""
        read = [rating for path in dict.fromkeys(self._files.values()) for rating in read_ratings(path)]
        mine = {rating.item: rating for rating in read if rating.reviewer == self._reviewer}
        for number, item in enumerate(items):
            rating = mine.get(item.key)
            if rating and rating.shown == item.scores.shown:
                yield number, rating

    def rate(
        self, score: int | None, flag: int | None, comment: str | None = None, own: int | None = None
    ) -> None:
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
            own=own,
            score_rating=score,
            flag_rating=flag,
            comment=comment,
            time=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        append_rating(self._files[run], rating)
        self.keep(rating)
