"""Finds the place of each value in a question file, so that error messages can name it and ids be added."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fathoms.config import Key

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_SPACE = re.compile(r"\s*")

Place = tuple[int | None, int | None]
"""Line and column, both counted from 1; `None` where they are not known for the format."""


@dataclass(frozen=True)
class Places:
    """The line and column of each value of each question; `at` looks one up."""

    lines: Sequence[int] = ()
    """The line on which each question begins."""
    keys: Sequence[Mapping[Key, Place]] = ()
    """For each question, the place of every value in it, by the value's path; empty for CSV files."""
    categories: Mapping[str, Place] = field(default_factory=dict)
    """The place of each category that is a key of the JSON file, including categories without questions."""

    def at(self, number: int, key: Key = ()) -> Place:
        """Return the place of a value; if it is not in the file, that of the nearest value that encloses it.

        `number` is the question's index in the file, from 0; `key` is the path to the value, for example
        `("answers", 0)`, and `()` is the question itself.
        """
        known = self.keys[number] if self.keys else {}
        while key and key not in known:
            key = key[:-1]
        return known.get(key, (self.lines[number], None))


def jsonl_places(text: str, lines: Sequence[int]) -> Places:
    """Return the places in a JSON lines file; `lines` are the line numbers of its questions."""
    written = text.split("\n")
    return Places(lines, [_placed(written[line - 1], first_line=line) for line in lines])


def json_places(text: str, lines: Sequence[int]) -> Places:
    """Return the places in a JSON file of either form; the text must be valid JSON."""
    depth = 2 if text.lstrip().startswith("{") else 1
    questions: dict[Key, dict[Key, Place]] = {}
    categories: dict[str, Place] = {}
    for key, place in _placed(text).items():
        if len(key) == 1 and depth == 2:
            categories[str(key[0])] = place
        elif len(key) >= depth:
            questions.setdefault(key[:depth], {})[key[depth:]] = place
    return Places(lines, list(questions.values()), categories)


def add_json_ids(text: str, ids: Sequence[str | None], *, in_lines: bool) -> str:
    """Return a valid JSON text, or JSON lines, with an id in each question that has one in `ids`, and
    otherwise as it is. An id of null is replaced."""
    if in_lines:
        parts, found = [], iter(ids)
        for line in text.split("\n"):
            parts.append(
                add_json_ids(f"[{line}]", [next(found)], in_lines=False)[1:-1] if line.strip() else line
            )
        return "\n".join(parts)
    depth = 2 if text.lstrip().startswith("{") else 1
    questions: dict[Key, int] = {}
    nulls: dict[Key, int] = {}
    for key, offset in _offsets(text):
        if len(key) == depth:
            questions[key] = offset
        elif len(key) == depth + 1 and key[depth] == "id":
            nulls[key[:depth]] = offset
    pieces, done = [], 0
    for (key, offset), own_id in zip(questions.items(), ids, strict=True):
        if own_id is None:
            continue
        at = nulls.get(key)
        if at is None:
            space = _SPACE.match(text, offset + 1)
            assert space is not None
            at, new, skipped = space.end(), f'"id": {json.dumps(own_id)},{space[0] or " "}', 0
        else:
            new, skipped = json.dumps(own_id), len("null")
        pieces += [text[done:at], new]
        done = at + skipped
    return "".join([*pieces, text[done:]])


def _placed(text: str, first_line: int = 1) -> dict[Key, Place]:
    """Return the place of every value of a JSON text, by the value's path and in the order of the text."""
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    found: dict[Key, Place] = {}
    for key, offset in _offsets(text):
        line = bisect_right(starts, offset)
        found[key] = (first_line + line - 1, offset - starts[line - 1] + 1)
    return found


def _offsets(text: str) -> Iterator[tuple[Key, int]]:
    """Yield the path of every value of a valid JSON text and the offset in characters where it begins."""
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
