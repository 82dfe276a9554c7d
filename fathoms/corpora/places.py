"""Where each value of a question file stands, for complaints about it."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fathoms.config import Key

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+')

Place = tuple[int | None, int | None]
"""Line and column, both from 1; `None` where the format does not tell."""


@dataclass(frozen=True)
class Places:
    """Line and column of the values of each question, by its number in the file (from 0) and the key."""

    lines: Sequence[int] = ()
    """The line on which each question begins."""
    keys: Sequence[Mapping[Key, Place]] = ()
    """Of each question, the place of every value in it; empty for a table."""
    categories: Mapping[str, Place] = field(default_factory=dict)
    """The place of each category that is a key of the file, also of those without a question."""

    def at(self, number: int, key: Key = ()) -> Place:
        """The place of a value, or of the nearest one around it that is written down."""
        known = self.keys[number] if self.keys else {}
        while key and key not in known:
            key = key[:-1]
        return known.get(key, (self.lines[number], None))


def table_places(lines: Sequence[int]) -> Places:
    """The places of a CSV file: the lines on which its rows begin."""
    return Places(lines)


def jsonl_places(text: str, lines: Sequence[int]) -> Places:
    """The places of a JSON lines file, whose questions stand on `lines`."""
    written = text.split("\n")
    return Places(lines, [_placed(written[line - 1], first_line=line) for line in lines])


def json_places(text: str, lines: Sequence[int]) -> Places:
    """The places of a JSON file, by category or a plain list, which is known to be valid."""
    depth = 2 if text.lstrip().startswith("{") else 1
    questions: dict[Key, dict[Key, Place]] = {}
    categories: dict[str, Place] = {}
    for key, place in _placed(text).items():
        if len(key) == 1 and depth == 2:
            categories[str(key[0])] = place
        elif len(key) >= depth:
            questions.setdefault(key[:depth], {})[key[depth:]] = place
    return Places(lines, list(questions.values()), categories)


def _placed(text: str, first_line: int = 1) -> dict[Key, Place]:
    """The place of every value of a JSON text by its path, in the order of the text."""
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    found: dict[Key, Place] = {}
    for key, offset in _offsets(text):
        line = bisect_right(starts, offset)
        found[key] = (first_line + line - 1, offset - starts[line - 1] + 1)
    return found


def _offsets(text: str) -> Iterator[tuple[Key, int]]:
    """The path of every value of a valid JSON text, and where it begins."""
    path: list[str | int | None] = []  # the last part is `None` where the next string is a key
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in "}]":
            path.pop()
        elif token == ",":
            path[-1] = path[-1] + 1 if isinstance(path[-1], int) else None
        elif path and path[-1] is None:
            path[-1] = json.loads(token)
        elif token != ":":
            yield tuple(part for part in path if part is not None), match.start()
            if token in "{[":
                path.append(None if token == "{" else 0)
