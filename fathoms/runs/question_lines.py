"""The questions of a large run as lines of JSON, 1,000 questions a file: `questions/00001.jsonl` and so on.

A folder of 100,000 small files takes longer to create, list, copy and delete than all of scoring. So a run
with answers to more than `LARGE` questions has these files in place of one file for each question. Question
number `n` of the manifest's `asked_ids` is in file `(n - 1) // 1000 + 1`, whether or not others are answered:
so a question is found without an index, and its file stays the same when a run is continued.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from io import FileIO
from pathlib import Path
from typing import Any

from fathoms.paths import write_all
from fathoms.runs.folder import (
    LARGEST_FILE,
    checked_line,
    open_file,
    opener,
    writing,
    writing_file,
)

LARGE = 10_000
"""The most answered questions of a run that has a file for each question."""
PER_FILE = 1_000
"""The most questions in a file."""
_AT_ONCE = 2**18
"""The bytes of lines that are written together: one at a time, the calls of the system take longer."""
_HEAD = re.compile(rb'\{"schema":\d+,"run":"(?:[^"\\]|\\.)*","question":\{"id":("(?:[^"\\]|\\.)*")')


def file_name(number: int) -> str:
    """The name of a file, counted from 1, below `questions/`."""
    return f"{number:05}.jsonl"


def file_names(root: Path) -> list[str]:
    """The names of a run's files with questions as lines, in order; none for a run that is not large."""
    return sorted(path.name for path in (root / "questions").glob("*.jsonl"))


def divided(answered: Iterable[str], all_ids: Sequence[str]) -> dict[str, list[str]]:
    """Return the answered questions by the name of their file, in the order of `all_ids`, those of the
    whole run; any others come last, in the order given."""
    known = dict.fromkeys(answered)
    order = list(dict.fromkeys([*all_ids, *known]))
    parts = {
        file_name(start // PER_FILE + 1): [id for id in order[start : start + PER_FILE] if id in known]
        for start in range(0, len(order), PER_FILE)
    }
    return {name: part for name, part in parts.items() if part}


def places(root: Path, all_ids: Sequence[str]) -> Mapping[str, str]:
    """Return the file of every question that stands in one, by its id; else the file that each of
    `all_ids` would have."""
    files = {id: file_name(n // PER_FILE + 1) for n, id in enumerate(dict.fromkeys(all_ids))}
    lines = ((id_of(line), name) for name in file_names(root) for _, line in _lines(root, name))
    return files or {id: name for id, name in lines if id is not None}


@contextmanager
def new_lines(root: Path, name: str) -> Iterator[Callable[[str, bytes], None]]:
    """Rewrite a file, question by question, by the function that this gives, which takes the id of a
    question and its line. Lines of the file before whose question is not written now are kept in
    `NAME.stale`: where a line of the journal is damaged, they can be the only copy of an answer. Raises
    StoreError."""
    written: set[str] = set()
    pending: list[bytes] = []
    size = 0
    with writing_file(root, f"questions/{name}") as write:

        def add(question: str, line: bytes) -> None:
            nonlocal size
            written.add(question)
            if size + len(line) > _AT_ONCE:
                write(b"".join(pending))
                pending.clear()
                size = 0
            pending.append(line)
            size += len(line)

        yield add
        write(b"".join(pending))
        _set_aside(root, name, written)


def remove(root: Path, name: str, answered: Iterable[str]) -> None:
    """Remove a file whose questions stand elsewhere now, keeping those not `answered` in `NAME.stale`.
    Raises OSError and StoreError."""
    _set_aside(root, name, set(answered))
    (root / "questions" / name).unlink()


def _set_aside(root: Path, name: str, known: set[str]) -> None:
    """Append the lines of a file whose questions are not known to its file of stale lines."""
    with suppress(FileNotFoundError):
        if stale := [line for _, line in _lines(root, name) if id_of(line) not in known]:
            path = root / "questions" / f"{name}.stale"
            with writing(path), FileIO(path, "a", opener=opener) as file:
                write_all(file, b"".join(stale))


def read_lines(root: Path, *, is_own: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the JSON of all questions that stand in lines, in order, checked as `read_checked` checks files;
    raises StoreError for a damaged line."""
    for name in file_names(root):
        for place, line in _lines(root, name):
            yield checked_line(line, place, is_own=is_own)


def find_lines(
    root: Path, questions: Collection[str], all_ids: Sequence[str], *, is_own: bool = False
) -> Iterator[dict[str, Any]]:
    """Yield the JSON of some questions that stand in lines; raises StoreError if one is damaged.

    Where all of them are among `all_ids`, only their files are read, otherwise all.
    """
    names, left = file_names(root), set(questions)
    with suppress(ValueError):
        expected = {file_name(all_ids.index(question) // PER_FILE + 1) for question in left}
        names = [name for name in names if name in expected]
    for name in names:
        for place, line in _lines(root, name):
            if not left:
                return
            if (id := id_of(line)) in left:
                left.discard(str(id))
                yield checked_line(line, place, is_own=is_own)


def _lines(root: Path, name: str) -> Iterator[tuple[str, bytes]]:
    """Yield every line of a file with its place, `FILE:NUMBER`."""
    path = root / "questions" / name
    with open_file(root, f"questions/{name}") as file:
        for number, line in enumerate(iter(partial(file.readline, LARGEST_FILE + 1), b""), start=1):
            yield f"{path}:{number}", line


def id_of(line: bytes) -> str | None:
    """The id of a line's question, read from its beginning where that is as fathoms writes it; `None` for a
    line that is not a question."""
    try:
        if head := _HEAD.match(line):
            return str(json.loads(head[1]))
        return str(json.loads(line)["question"]["id"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
