"""The input for reading tables: words grouped into lines, and the rules drawn between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from fathoms.extras.docling_offline.boxes import Box, union

WORD_SPACE = 0.45
"""The widest space between two words of a phrase, in line heights: TeX stretches a space of a third of an em
to up to half an em."""

TOUCHING = 0.12
"""The widest gap that does not count as a space, in line heights."""


class Word(NamedTuple):
    """A word with its box; with OCR, a whole piece of a line."""

    box: Box
    text: str


@dataclass(frozen=True)
class Run:
    """Words on one line, from left to right: a whole line, or a piece of it."""

    words: tuple[Word, ...]
    walls: tuple[float, ...] = ()
    """The x coordinates of the vertical rules that cross the line."""

    @cached_property
    def box(self) -> Box:
        return union(word.box for word in self.words)

    @cached_property
    def height(self) -> float:
        """The median height of the words, so that indices and exponents do not matter."""
        return median(word.box.height for word in self.words)

    @property
    def text(self) -> str:
        """The words, joined without a space where they touch, as an exponent and its base do."""
        first, *others = self.words
        spaces = (
            " " if self.gap(place) > TOUCHING * self.height else "" for place in range(1, len(self.words))
        )
        return first.text + "".join(space + word.text for space, word in zip(spaces, others, strict=True))

    @cached_property
    def pieces(self) -> tuple[Run, ...]:
        """The line, cut at gaps that are wider than a space between words or that contain a vertical rule."""
        cuts = []
        for place in range(1, len(self.words)):
            before, after = self.words[place - 1].box.right - 1, self.words[place].box.left + 1
            walled = any(before <= wall <= after for wall in self.walls)
            if walled or self.gap(place) > WORD_SPACE * self.height:
                cuts.append(place)
        return self.cut(cuts)

    def gap(self, place: int) -> float:
        """Return the width of the gap before the word with the index `place`, from 1."""
        return self.words[place].box.left - self.words[place - 1].box.right

    def space(self, place: int) -> float:
        """Return the x coordinate of the middle of the gap before the word with the index `place`, from 1."""
        return (self.words[place].box.left + self.words[place - 1].box.right) / 2

    def cut(self, places: Sequence[int]) -> tuple[Run, ...]:
        """Cut the run before the words with these indices and return the pieces."""
        bounds = [0, *places, len(self.words)]
        return tuple(Run(self.words[a:b], self.walls) for a, b in pairwise(bounds) if a < b)


def lines(words: Iterable[Word], upright: Iterable[Box] = ()) -> list[Run]:
    """Group words into lines from top to bottom; a word joins a line that shares half of its height.

    `upright` are the vertical rules between the words.
    """
    found: list[list[Word]] = []
    for word in sorted(words, key=lambda word: (word.box.middle, word.box.left)):
        best = max(found[-3:], key=lambda line: _alike(line, word), default=None)
        if best is not None and _alike(best, word) >= 0.5:
            best.append(word)
        else:
            found.append([word])
    runs = []
    for line in found:
        middle = union(word.box for word in line).middle
        walls = tuple(rule.centre for rule in upright if rule.top <= middle <= rule.bottom)
        runs.append(Run(tuple(sorted(line, key=lambda word: word.box.left)), walls))
    return sorted(runs, key=lambda run: run.box.middle)


def _alike(line: Sequence[Word], word: Word) -> float:
    """Return the height that a word shares with the tallest word of a line, divided by the smaller height."""
    tallest = max((other.box for other in line), key=lambda box: box.height)
    shared = min(tallest.bottom, word.box.bottom) - max(tallest.top, word.box.top)
    return shared / max(min(tallest.height, word.box.height), 0.1)


@dataclass(frozen=True)
class Rules:
    """The rules (drawn lines) of a table; a rule that is drawn with interruptions is several."""

    horizontal: tuple[Box, ...] = ()
    """The horizontal rules from top to bottom; several at one height are pieces of an interrupted rule."""
    vertical: tuple[Box, ...] = ()

    def between(self, top: float, bottom: float) -> list[Box]:
        """Return the horizontal rules between two heights."""
        return [rule for rule in self.horizontal if top <= rule.middle <= bottom]

    def heights(self, left: float, right: float, share: float = 0.8) -> list[float]:
        """Return the heights, from top to bottom, at which rules cover at least `share` of a range."""
        found: list[float] = []
        for level in _levels(self.horizontal):
            covered = sum(max(0.0, min(r.right, right) - max(r.left, left)) for r in level)
            if covered >= share * (right - left):
                found.append(level[0].middle)
        return found


def read_rules(boxes: Iterable[Box], area: Box, thickness: float = 2.5) -> Rules:
    """Return the horizontal and vertical rules among the thin boxes in `area`.

    Horizontal rules that touch are joined. `thickness` is the largest thickness of a rule, in points.
    """
    near = [box for box in boxes if box.grown(thickness).inside(area.grown(3 * thickness)) > 0.9]
    flat = [box for box in near if box.height <= thickness and box.width > 3 * thickness]
    upright = [box for box in near if box.width <= thickness and box.height > thickness]
    joined = [rule for level in _levels(flat) for rule in _joined(level)]
    return Rules(tuple(joined), tuple(sorted(upright, key=lambda box: box.left)))


def _levels(flat: Iterable[Box], apart: float = 2.5) -> list[list[Box]]:
    """Group horizontal rules by height; the two lines of a double rule count as the same height."""
    found: list[list[Box]] = []
    for box in sorted(flat, key=lambda box: box.middle):
        if found and box.middle - found[-1][0].middle <= apart:
            found[-1].append(box)
        else:
            found.append([box])
    return found


def _joined(level: Iterable[Box], apart: float = 0.5) -> list[Box]:
    """Join the rules of one height that touch."""
    found: list[Box] = []
    for box in sorted(level):
        if found and box.left - found[-1].right <= apart:
            found[-1] = union((found[-1], box))
        else:
            found.append(box)
    return found
