"""A table for the terminal that fits any width and cuts no cell.

Where a table is too wide, its texts are folded; then intervals stand below their values and long heads break;
then the columns go on in a second table below the first, with the names repeated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from rich.cells import cell_len, chop_cells
from rich.console import Console, ConsoleOptions
from rich.text import Text

from fathoms.report.text import plain

if TYPE_CHECKING:  # a list of runs needs none, nor all that a section is made of
    from fathoms.report.section import Section

GAP = 2
"""The cells between two columns."""
LEAST = 8
"""The cells to which a column of short words is narrowed at most."""
NAME = 20
"""Words that are not longer are not broken, and names that are not longer are folded last."""
_PART_END = re.compile(r"(?<=[-._/:])(?=\w)")
"""Where long words are broken first."""
_COUNT = r"( \(\d+\))?"
"""The number of questions behind a figure."""
_FIGURE = re.compile(
    r"(\d\d \w{3} )?\d{1,2}:\d\d|"  # a time, also with its day
    rf"[-+<$]*[\d.,/]+[ \w.%]{{0,20}}(\([^()]*\))?|-|n/a|\[[^]]*\]{_COUNT}|[-+.\d ]*{_COUNT}"
)
_INTERVAL = re.compile(rf" \[[^]]*\]{_COUNT}$")


@dataclass(frozen=True)
class Column:
    """A column of a grid with its head and its cells. Figures are never broken; of several columns of texts,
    the widest is folded first."""

    head: Text
    cells: tuple[Text, ...]
    is_name: bool = False

    @cached_property
    def is_figures(self) -> bool:
        """Whether all cells are figures."""
        if self.is_name:
            return False
        lines = [_INTERVAL.sub("", line) for cell in self.cells for line in cell.plain.split("\n")]
        return all(_FIGURE.fullmatch(line) for line in lines)

    @cached_property
    def is_right(self) -> bool:
        """Whether the cells end at the right: figures do, except where intervals follow them."""
        return self.is_figures and not any(_INTERVAL.search(cell.plain) for cell in self.cells)

    @cached_property
    def width(self) -> int:
        """The width of the widest line."""
        return max(cell_len(line) for cell in (self.head, *self.cells) for line in cell.plain.split("\n"))

    @cached_property
    def least(self) -> int:
        """The width to which it can be folded: that of its longest word, if that is not very long."""
        lines = (line for text in (self.head, *self.cells) for line in text.plain.split("\n"))
        words = (word.rstrip() for line in lines for word in _words(line))
        return max(LEAST, min(NAME, max(map(cell_len, words), default=0)))

    def stacked(self) -> Column:
        """Return the column with intervals below their values, and with its head broken at spaces."""
        if not self.is_figures:
            return self
        cells = [
            _broken(cell, m.start()) if (m := _INTERVAL.search(cell.plain)) else cell for cell in self.cells
        ]
        room = max(LEAST, replace(self, head=Text(), cells=tuple(cells)).width)
        room = max(LEAST, replace(self, head=Text(), cells=tuple(cells)).width)
        parts = (part for word in _words(self.head.plain) for part in _PART_END.split(word))
        room = max(room, *(cell_len(part.rstrip()) for part in parts))
        return replace(self, head=_folded(self.head, room), cells=tuple(cells))

    def folded(self, width: int) -> Column:
        """Return the column with its lines folded to a width."""
        if self.width <= width:
            return self
        return replace(
            self, head=_folded(self.head, width), cells=tuple(_folded(cell, width) for cell in self.cells)
        )


def _folded(cell: Text, width: int) -> Text:
    """Return a cell with its lines folded to a width: between words, then at the signs within a long word."""
    lines: list[Text] = []
    for line in cell.split("\n", allow_blank=True):
        ends, room = [0], width
        for piece in _pieces(line.plain, width):
            size = cell_len(piece.rstrip())
            if size > room and ends[-1]:
                ends.append(ends[-1])
                room = width
            ends[-1] += len(piece)
            room -= cell_len(piece)
        lines += line.divide(ends[:-1])
    for line in lines:
        line.rstrip()
    return Text("\n").join(lines)


def _words(text: str) -> list[str]:
    """Return the words of a text, each with the spaces after it, and with the arrow that belongs to it."""
    return re.findall(r"(?:^ +)?[^ ]+(?: [↑↓](?= |$))? *", text)


def _pieces(text: str, width: int) -> Iterator[str]:
    """Yield the parts of a text between which it can be broken; none but the spaces at its end exceed the
    width, and none is an arrow alone."""
    for word in _words(text):
        if cell_len(word.rstrip()) <= width:
            yield word
            continue
        *parts, last = _PART_END.split(word)
        for part in parts:
            yield from chop_cells(part, width)
        *parts, last = chop_cells(last.rstrip(), width) if cell_len(last.rstrip()) > width else [last]
        if parts and last.strip() in ("↑", "↓"):
            parts[-1], last = parts[-1][:-1], parts[-1][-1] + last
        yield from (*parts, last)


def _broken(cell: Text, at: int) -> Text:
    """Return a cell with a line break in place of the space at a place."""
    return cell[:at] + "\n" + cell[at + 1 :]


class Phrases:
    """A sentence that is broken between its phrases alone, so that no figure is torn from its name."""

    def __init__(self, *phrases: str, indent: str = "") -> None:
        self.phrases = [plain(phrase) for phrase in phrases]
        self.indent = indent

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        lines = [""]
        for phrase in self.phrases:
            fits = cell_len(lines[-1]) + 1 + cell_len(phrase) <= options.max_width
            if lines[-1] and fits:
                lines[-1] += f" {phrase}"
            else:
                lines.append(self.indent + phrase if len(lines) == 1 else f"{self.indent}  {phrase}")
        yield from map(Text, lines[1:])


class Grid:
    """A table whose rows are added one by one; Rich draws it, in the width of its console."""

    def __init__(self, *heads: str) -> None:
        self.heads = [Text(plain(head)) for head in heads]
        self.rows: list[tuple[Text, ...]] = []

    def add_row(self, *cells: str | Text, style: str = "") -> None:
        """Add a line; a cell may hold line breaks."""
        self.rows.append(tuple(cell if isinstance(cell, Text) else Text(cell, style) for cell in cells))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        columns = [
            Column(head, tuple(row[number] for row in self.rows), is_name=number == 0)
            for number, head in enumerate(self.heads)
        ]
        for number, block in enumerate(_blocks(columns, options.max_width)):
            if number:
                yield Text()
            yield from _drawn(block)


def section_grid(section: Section) -> Grid:
    """Return a section as a table for the terminal."""
    grid = Grid(*section.header)
    for row in section.rows:
        grid.add_row(*("\n".join(map(plain, cell.split("\n"))) for cell in row))
    return grid


def _total(columns: Sequence[Column]) -> int:
    """The width of some columns side by side."""
    return sum(column.width for column in columns) + GAP * (len(columns) - 1)


def _blocks(columns: Sequence[Column], width: int) -> list[list[Column]]:
    """Fit columns into a width: as they are, folded, stacked, or as several tables below one another."""
    if (found := _narrowed(columns, width)) is not None:
        return [found]
    columns = [column.stacked() for column in columns]
    if (found := _narrowed(columns, width)) is not None:
        return [found]
    names = [columns[0].folded(max(12, width // 4))]
    if len(columns) > 2 and not columns[1].is_figures and columns[1].width <= LEAST:
        names.append(columns[1])  # such as the names of the figures of a run on several lines
    blocks: list[list[Column]] = []
    for column in columns[len(names) :]:
        column = column.folded(max(1, width - _total(names) - GAP))
        if not blocks or _total([*blocks[-1], column]) > width:
            blocks.append([*names])
        blocks[-1].append(column)
    return blocks or [[columns[0].folded(width)]]


def _narrowed(columns: Sequence[Column], width: int) -> list[Column] | None:
    """Fold the texts of a table so that it fits into a width; `None` if it then still does not."""
    widths = [column.width for column in columns]
    texts = [number for number, column in enumerate(columns) if not column.is_figures]
    least = {number: columns[number].least for number in texts}
    over = sum(widths) + GAP * (len(columns) - 1) - width
    while over > 0:
        foldable = [n for n in texts if widths[n] > least[n]]
        if not foldable:
            return None
        widest = max(foldable, key=lambda n: (n > 0 or widths[n] > NAME, widths[n]))
        widths[widest] -= 1
        over -= 1
    return [column.folded(size) for column, size in zip(columns, widths, strict=True)]


def _drawn(columns: Sequence[Column]) -> Iterator[Text]:
    """Yield the lines of a table: the heads, at the bottom of theirs, and the rows."""
    widths = [column.width for column in columns]
    if any(column.head.plain for column in columns):
        yield from _line([column.head for column in columns], columns, widths, "bold", bottom=True)
    for row in zip(*(column.cells for column in columns), strict=True):
        yield from _line(row, columns, widths)


def _line(
    cells: Sequence[Text],
    columns: Sequence[Column],
    widths: Sequence[int],
    style: str = "",
    *,
    bottom: bool = False,
) -> Iterator[Text]:
    """Yield the lines of one row."""
    parts = [cell.split("\n", allow_blank=True) for cell in cells]
    height = max(map(len, parts))
    for number in range(height):
        line = Text(style=style)
        for place, (part, column, width) in enumerate(zip(parts, columns, widths, strict=True)):
            at = number - (height - len(part)) if bottom else number
            text = part[at].copy() if 0 <= at < len(part) else Text()
            space = " " * (width - cell_len(text.plain))
            line.append(" " * (GAP if place else 0))
            line = (
                line.append(space).append_text(text)
                if column.is_right
                else line.append_text(text).append(space)
            )
        line.rstrip()
        yield line
