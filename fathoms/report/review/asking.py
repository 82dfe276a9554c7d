"""What all reviews have in common that ask for one word about each item: quality, errors and claims."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from rich.console import RenderableType

from fathoms.report.review.session import Progress
from fathoms.runs.people import OfAnswer, append_said, read_all


class HasKey(Protocol):
    """An item that is named by its run and its key."""

    @property
    def run(self) -> str:
        """The id of the run."""

    @property
    def said_key(self) -> tuple[Any, ...]:
        """What is judged, as `OfAnswer.key` names it; a review can add to it (`Review.key`)."""


Item = TypeVar("Item", bound=HasKey)
Said = TypeVar("Said", bound=OfAnswer)
Value = TypeVar("Value")


class Review(Progress[Item, Said], Generic[Item, Said, Value]):
    """The progress of one reviewer who says one thing of each item.

    `legend` explains the words that can be said, `prompt` asks for one, and `noun` names the items.
    """

    legend: str
    noun = "answers"

    def __init__(
        self, items: Sequence[Item], kind: type[Said], files: Mapping[str, Path], reviewer: str, seed: int
    ) -> None:
        """Start with the first item of which the reviewer has said nothing yet; `files` maps each run to the
        file in which what is said of it is saved."""
        self._files = files
        self._reviewer, self._seed = reviewer, seed
        read = read_all(dict.fromkeys(files.values()), kind)
        mine = {said.key: said for said in read if said.reviewer == reviewer}
        keys = map(self.key, items)
        super().__init__(items, {n: mine[key] for n, key in enumerate(keys) if key in mine})

    def key(self, item: Item) -> tuple[Hashable, ...]:
        """Return the key (`OfAnswer.key`) of what is said of an item."""
        return item.said_key

    def say(self, value: Value, comment: str | None) -> None:
        """Save what was said of the current item, and go to the next one."""
        item = self.items[self.position]
        about = {
            "run": item.run,
            "reviewer": self._reviewer,
            "seed": self._seed,
            "comment": comment,
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        said = self.said(item, value, about)
        append_said(self._files[item.run], said)
        self.keep(said)

    @abstractmethod
    def prompt(self, item: Item) -> str:
        """Return the question about an item."""

    @abstractmethod
    def read(self, item: Item, word: str) -> Value | None:
        """Return what a word says of an item, `None` if it is none of the words that can be said."""

    @abstractmethod
    def said(self, item: Item, value: Value, about: Mapping[str, Any]) -> Said:
        """Return what is saved; `about` has the fields that all have."""

    @abstractmethod
    def panel(self, item: Item, place: str) -> list[RenderableType]:
        """Show an item; `place` says which one of how many it is."""

    @abstractmethod
    def more(self, item: Item) -> list[RenderableType]:
        """Show the sources of an item in full."""
