"""What the readers of released data sets share: notes of what a file has wrong, and careful access to rows.

A released file cannot be mended by those who use it, so a fault in it does not refuse the file: what cannot
be used is left out, counted, and said in the warnings of the corpus, with the lines.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from fathoms.corpora.rows import LONGEST_NAME
from fathoms.paths import safe_name
from fathoms.types import Scalar

NO_PAGE = "questions without a gold page"
NEITHER = "rows left out, because they have neither an answer nor a gold page"
NO_PICTURE = "pictures of quotes that are not there, which 'mode: multimodal' needs"
_SHOWN = 10
"""Most lines that a warning names."""
_LONGEST_LITERAL = 20_000
_LIST = re.compile(r"\s*(?:array\(\s*)?\[[\s,]*")
_ITEM = re.compile(
    r"""('(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+"|-?\d{1,30}(?:\.\d{0,30})?(?![\w.]))[\s,]*+""", re.DOTALL
)
_LIST_END = re.compile(r"\](?:,\s*dtype=[\w<>'\"]+)?\s*\)?\s*\Z")


class Notes:
    """Counts what a released file has wrong or lacks, by kind, with the places (`file:line`)."""

    def __init__(self) -> None:
        self._found: dict[str, list[str]] = {}
        self._names: dict[str, list[str]] = {}

    def add(self, what: str, place: str, name: str | None = None) -> None:
        """Count one more of a kind, such as "rows left out, because ..."; `name` is what is missing."""
        self._found.setdefault(what, []).append(place)
        names = self._names.setdefault(what, []) if name is not None else []
        if name is not None and len(names) < _SHOWN:
            names.append(name[:200])

    def warnings(self) -> tuple[str, ...]:
        """Return each kind with how many there are and their first lines and names, at the place of the
        first."""
        return tuple(
            f"{places[0]}: {what}: {len(places)} ({_lines(places)})"
            + "".join(f": {', '.join(self._names[what])}" for _ in range(what in self._names))
            for what, places in self._found.items()
        )


def _lines(places: Sequence[str]) -> str:
    """Return the first lines of places, such as `lines 3, 9 and 12 more`."""
    lines = list(dict.fromkeys(place.rpartition(":")[2] for place in places))
    more = f" and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
    return f"line{'s' if len(lines) > 1 else ''} {', '.join(lines[:_SHOWN])}{more}"


def text_of(row: dict[str, Any], key: str) -> str | None:
    """Return the text of a key, or `None` if it is absent, blank or something else."""
    value = row.get(key)
    return value if isinstance(value, str) and value.strip() else None


def listed(value: Any) -> list[Any] | None:
    """Return a list, also one that is written as a text such as `['Chart', 'Table']`, or without commas as
    NumPy writes it; `None` for others."""
    if isinstance(value, str):
        if (items := _literals(value)) is not None:
            return items
        value = literal(value)
    return list(value) if isinstance(value, list | tuple) else None


def literal(text: str) -> Any:
    """Return the value of a text in Python's notation; `None` for other texts, and for very long ones."""
    try:
        return ast.literal_eval(text.strip()) if len(text) <= _LONGEST_LITERAL else None
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None


def _literals(text: str) -> list[Any] | None:
    """Return the texts and numbers of a list that holds nothing else, however they are separated: Python
    itself would join the texts of `['a' 'b']`, which are two."""
    found = _LIST.match(text)
    at, items = found.end() if found else 0, list[Any]()
    while found:
        if item := _ITEM.match(text, at):
            try:
                items.append(ast.literal_eval(item[1]))
            except (ValueError, SyntaxError):  # an escape that Python does not know, or a number such as 007
                return None
            at = item.end()
        else:
            return items if _LIST_END.match(text, at) else None
    return None


def pages_of(value: Any, first: int, place: str, notes: Notes) -> list[int]:
    """Return the page numbers, from 1 and without repeats, of a list that counts them from `first`.

    What is not a list, and what is not a page number in it, is counted.
    """
    found = listed(value)
    if found is None:
        notes.add("lists of gold pages left out, because they are not lists", place)
        return []
    pages = []
    for page in found:
        if isinstance(page, int) and not isinstance(page, bool) and page >= first:
            pages.append(page - first + 1)
        else:
            notes.add(f"gold pages left out, because they are not numbers from {first}", place)
    return list(dict.fromkeys(pages))


def note_missing(image: str, place: str, notes: Notes) -> None:
    """Count a picture that does not lie under its path in the folder of the file."""
    with suppress(OSError, ValueError):  # a name that no file can have, which `rows` names
        if not (Path(place.rpartition(":")[0]).parent / image).is_file():
            notes.add(NO_PICTURE, place, image)


def only(values: Sequence[Any]) -> str | None:
    """Return the one text in a list, or `None` for none and for several: of several kinds of evidence, it is
    not known which is on which page."""
    return values[0] if len(values) == 1 and isinstance(values[0], str) else None


def metadata_of(row: dict[str, Any], *keys: str) -> dict[str, Scalar]:
    """Return the values of the keys that are texts or numbers; lists of texts are joined by commas."""
    found: dict[str, Scalar] = {}
    for key in keys:
        value = row.get(key)
        several = listed(value) if not isinstance(value, str) or value.startswith("[") else None
        if several is not None:
            value = ", ".join(map(str, several))
        if isinstance(value, str | int | float) and value != "":
            found[key] = value
    return found


def document_name(name: str) -> str:
    """Return the file name of a document, ending in `.pdf`, for the name or path in a data set."""
    last = PurePosixPath(name.replace("\\", "/")).name.strip()
    if not last.isprintable() or last.startswith(".") or not last or len(last.encode()) > LONGEST_NAME:
        last = safe_name(name, unique=True)
    return last if last.lower().endswith(".pdf") else f"{last}.pdf"


def short_gold(answer: str) -> dict[str, Any]:
    """Return the keys of a gold answer of a few words: a number, a list of which all items are needed, or a
    phrase."""
    items = listed(answer) if answer.strip().startswith("[") else None
    phrases = [str(item) for item in items or [] if str(item).strip()] or [answer]
    return {"answers": [[_gold_phrase(phrase) for phrase in phrases]], "short_answer": answer}


def _gold_phrase(phrase: str) -> Any:
    """Return a phrase, or a number where it is nothing else."""
    plain = phrase.strip()
    return {"number": int(plain)} if plain.isascii() and plain.isdigit() and len(plain) < 16 else phrase


def with_unique_ids(
    rows: Sequence[tuple[str, dict[str, Any]]], notes: Notes
) -> list[tuple[str, dict[str, Any]]]:
    """Return rows with unique ids: a repeated id gets a number, and how many do is counted."""
    seen: Counter[str] = Counter()
    unique = []
    for place, row in rows:
        name = row.get("id")
        if name is not None:
            seen[name.casefold()] += 1
            if (times := seen[name.casefold()]) > 1:
                notes.add("ids that an earlier row has already, so a number was added", place)
                row = {**row, "id": f"{name}-{times}"}
        unique.append((place, row))
    return unique
