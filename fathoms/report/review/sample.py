"""People's review of scores: which answers are asked about, and where a reviewer stands.

The study of the FATHOMS-RAG paper (section IV-D): a few random questions a run, and the agreement with the
correctness score and with the hallucination flag of each, from 1 to 5.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fathoms.runs.ratings import Rating, append_rating, read_ratings


@dataclass(frozen=True)
class Item:
    """One answer under review, as `questions/<id>.json` has it, with its scores under one profile."""

    run: str
    profile: str
    question: Mapping[str, Any]
    repeat: Mapping[str, Any]

    @property
    def scores(self) -> Mapping[str, Any]:
        """The scores under the profile; empty where there are none."""
        return (self.repeat.get("scores") or {}).get(self.profile) or {}

    @property
    def shown(self) -> tuple[float | None, float | None, bool | None]:
        """Correctness, hallucination and whether the answer abstained."""
        return self.scores.get("correctness"), self.scores.get("hallucination"), self.scores.get("abstained")

    @property
    def rateable(self) -> tuple[bool, bool]:
        """Whether there is a score, and whether there is a flag, to agree with."""
        correctness, *flags = self.shown
        return correctness is not None, flags != [None, None]

    @property
    def key(self) -> tuple[str, str, int, str]:
        """What a rating names it by."""
        return self.run, str(self.question["id"]), int(self.repeat.get("repeat", 0)), self.profile


def draw(run: str, profile: str, views: Iterable[Mapping[str, Any]], size: int, seed: int) -> list[Item]:
    """At most `size` random questions of a run, one answer of each; failed ones are left out.

    Every answer has its lot, a hash of the seed, the run and itself, and the lowest win: the sample depends
    neither on other runs nor on the order of questions, and a larger one holds the smaller.
    """
    best = []
    for view in views:
        items = [Item(run, profile, view["question"], repeat) for repeat in view.get("repeats") or ()]
        items = [item for item in items if not item.repeat.get("error") and any(item.rateable)]
        if items:
            best.append(min(items, key=lambda item: lot(item, seed)))
    return sorted(best, key=lambda item: lot(item, seed))[:size]


def lot(item: Item, seed: int) -> str:
    """A random place in the order, the same whenever the seed is."""
    return hashlib.sha256(repr((seed, *item.key)).encode("utf-8", "replace")).hexdigest()


class Session:
    """One reviewer's way through the items; every rating is on the disk before the next item comes.

    Items of all runs are mixed, so that nobody rates one pipeline in a row. What the reviewer rated before
    is passed over, unless its scores have changed since; `back` goes there all the same.
    """

    def __init__(self, items: Sequence[Item], files: Mapping[str, Path], reviewer: str, seed: int) -> None:
        """`files` are where ratings go, by run."""
        self.items = sorted(items, key=lambda item: lot(item, seed))
        self.skipped: set[int] = set()
        self._files = files
        self._reviewer = reviewer
        self._seed = seed
        self._ratings = dict(self._known())
        self._position = 0
        self._pass_rated()

    def _known(self) -> Iterator[tuple[int, Rating]]:
        """The ratings of this reviewer that still hold, by the number of the item."""
        read = [rating for path in dict.fromkeys(self._files.values()) for rating in read_ratings(path)]
        mine = {rating.item: rating for rating in read if rating.reviewer == self._reviewer}
        for number, item in enumerate(self.items):
            rating = mine.get(item.key)
            if rating and rating.shown == item.shown:
                yield number, rating

    @property
    def position(self) -> int:
        """The number of the item that is asked about, from 0; that of all items at the end."""
        return self._position

    @property
    def current(self) -> Item | None:
        """The item that is asked about; `None` at the end."""
        return self.items[self._position] if self._position < len(self.items) else None

    @property
    def before(self) -> Rating | None:
        """What the reviewer said of this item already."""
        return self._ratings.get(self._position)

    @property
    def rated(self) -> int:
        """How many items the reviewer has rated."""
        return len(self._ratings)

    def rate(self, score: int | None, flag: int | None, comment: str | None = None) -> None:
        """Keep a rating of the current item and go on."""
        item = self.items[self._position]
        run, question, repeat, profile = item.key
        correctness, hallucination, abstained = item.shown
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
        """Go on without a rating: a later session asks again."""
        if self._position not in self._ratings:
            self.skipped.add(self._position)
        self._forward()

    def back(self) -> bool:
        """Go to the item before, rated or not; false at the first."""
        if self._position == 0:
            return False
        self._position -= 1
        return True

    def _forward(self) -> None:
        """To the next item that is not rated."""
        self._position += 1
        self._pass_rated()

    def _pass_rated(self) -> None:
        """Over items that are rated."""
        while self._position in self._ratings:
            self._position += 1
