"""Asks a person about items one by one: the way through the items, and what is said of each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from rich.console import RenderableType
from rich.text import Text

from fathoms.report.text import visible
from fathoms.runs.people import OfAnswer, append_said, read_all

Item = TypeVar("Item")
Said = TypeVar("Said")


class Progress(Generic[Item, Said]):
    """The progress of one reviewer through the items; what is said of one is saved before the next is shown.

    Items that the reviewer has rated before are skipped; `back` can still return to them.
    """

    def __init__(self, items: Sequence[Item], known: Mapping[int, Said]) -> None:
        """Start with the first item that has no rating; `known` has what the reviewer has said
        before, by the index of the item."""
        self.items = items
        self.skipped: set[int] = set()
        self._said = dict(known)
        self._position = 0
        self._pass_known()

    @property
    def position(self) -> int:
        """The index of the current item, or the number of items at the end."""
        return self._position

    @property
    def current(self) -> Item | None:
        """The current item, `None` at the end."""
        return self.items[self._position] if self._position < len(self.items) else None

    @property
    def before(self) -> Said | None:
        """What the reviewer has said of the current item, `None` if nothing."""
        return self._said.get(self._position)

    @property
    def rated(self) -> int:
        """The number of items that the reviewer has judged."""
        return len(self._said)

    def keep(self, said: Said) -> None:
        """Note what was said of the current item and saved, and go to the next one."""
        self._said[self._position] = said
        self.skipped.discard(self._position)
        self._forward()

    def skip(self) -> None:
        """Go to the next item without a word; a later session shows this one again."""
        if self._position not in self._said:
            self.skipped.add(self._position)
        self._forward()

    def back(self) -> bool:
        """Go back by one item, asked or not; return `False` at the first one."""
        if self._position == 0:
            return False
        self._position -= 1
        return True

    def _forward(self) -> None:
        """Go to the next item that the reviewer has not judged yet."""
        self._position += 1
        self._pass_known()

    def _pass_known(self) -> None:
        """Skip the items that the reviewer has judged."""
        while self._position in self._said:
            self._position += 1


class HasKey(Protocol):
    """An item that is named by its run and its key."""

    @property
    def run(self) -> str:
        """The id of the run."""

    @property
    def said_key(self) -> tuple[Any, ...]:
        """What is judged, as `OfAnswer.key` names it; a review can add to it (`Review.key`)."""


Keyed = TypeVar("Keyed", bound=HasKey)
OfAnswers = TypeVar("OfAnswers", bound=OfAnswer)
Value = TypeVar("Value")


class Review(Progress[Keyed, OfAnswers], Generic[Keyed, OfAnswers, Value]):
    """The progress of one reviewer who says one thing of each item.

    `legend` explains the words that can be said, `prompt` asks for one, and `noun` names the items.
    """

    legend: str
    noun = "answers"

    def __init__(
        self,
        items: Sequence[Keyed],
        kind: type[OfAnswers],
        files: Mapping[str, Path],
        reviewer: str,
        seed: int,
    ) -> None:
        """Start with the first item that the reviewer has not rated yet; `files` maps each run to the
        file in which what is said of it is saved."""
        self._files = files
        self._reviewer, self._seed = reviewer, seed
        read = read_all(dict.fromkeys(files.values()), kind)
        mine = {said.key: said for said in read if said.reviewer == reviewer}
        keys = map(self.key, items)
        super().__init__(items, {n: mine[key] for n, key in enumerate(keys) if key in mine})

    def key(self, item: Keyed) -> tuple[Hashable, ...]:
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
    def prompt(self, item: Keyed) -> str:
        """Return the question about an item."""

    @abstractmethod
    def read(self, item: Keyed, word: str) -> Value | None:
        """Return what a word says of an item, `None` if it is none of the words that can be said."""

    @abstractmethod
    def said(self, item: Keyed, value: Value, about: Mapping[str, Any]) -> OfAnswers:
        """Return what is saved; `about` has the fields that all have."""

    @abstractmethod
    def panel(self, item: Keyed, place: str) -> list[RenderableType]:
        """Show an item; `place` says which one of how many it is."""

    @abstractmethod
    def more(self, item: Keyed) -> list[RenderableType]:
        """Show the sources of an item in full."""


def labelled(name: str, value: object, *, dim: bool = False) -> Text:
    """Format a labelled value that may have several lines."""
    return Text.assemble((f"{visible(name)}: ", "bold"), (visible(value or "n/a"), "dim" if dim else ""))
