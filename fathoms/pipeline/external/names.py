"""Finding the document of a data set that a pipeline means by a path."""

from __future__ import annotations

import re
from collections.abc import Iterable

_BETWEEN = re.compile(r"[/\\\\]+")


class DocumentNames:
    """The names of the documents of a data set, for finding the one that a path means.

    `papers/docllm.pdf` finds `docllm.pdf`, and `docllm.pdf` finds `papers/docllm.pdf`. The case of letters
    counts first, and is ignored only where it finds nothing. A path that fits several names finds none.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._parts = {name: _parts(name) for name in names}
        self._by_end: dict[str, list[str]] = {}  # so that a path is compared with few names of many
        for name, parts in self._parts.items():
            self._by_end.setdefault(_end(parts), []).append(name)

    def __bool__(self) -> bool:
        """Whether the data set has any document."""
        return bool(self._parts)

    def find(self, path: str) -> str | None:
        """Return the name of the document that a path means; `None` where none fits, or several do."""
        if path in self._parts:
            return path
        near = self._by_end.get(_end(_parts(path)), ())
        for fold in (str, str.casefold):
            wanted = _parts(fold(path))
            found = [name for name in near if _end_alike(wanted, [*map(fold, self._parts[name])])]
            if found:
                return found[0] if len(found) == 1 else None
        return None


def _parts(path: str) -> list[str]:
    """Split a path at slashes of either kind."""
    return [part for part in _BETWEEN.split(path) if part not in ("", ".")]


def _end(parts: list[str]) -> str:
    """The last part of a path without the case of its letters, which paths that end alike share."""
    return parts[-1].casefold() if parts else ""


def _end_alike(one: list[str], other: list[str]) -> bool:
    """Whether the shorter of two paths is the end of the longer."""
    size = min(len(one), len(other))
    return size > 0 and one[-size:] == other[-size:]
