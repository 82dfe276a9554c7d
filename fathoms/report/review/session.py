"""The way of one reviewer through the items that are asked about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")
Said = TypeVar("Said")


class Progress(Generic[Item, Said]):
    """The progress of one reviewer through the items; what is said of one is saved before the next is shown.

    Items of which the reviewer has spoken before are skipped; `back` can still return to them.
    """

    def __init__(self, items: Sequence[Item], known: Mapping[int, Said]) -> None:
        """Start with the first item of which nothing was said; `known` has what the reviewer has said
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
        """The number of items of which the reviewer has spoken."""
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
        """Go to the next item of which the reviewer has said nothing yet."""
        self._position += 1
        self._pass_known()

    def _pass_known(self) -> None:
        """Pass over the items of which the reviewer has said something."""
        while self._position in self._said:
            self._position += 1
