"""Finding the document of a data set that a pipeline or an imported file means by a path, or that one of its
texts is from."""

from __future__ import annotations

import re
import threading
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import accumulate

from fathoms.types import Document, Hit, Round, in_one_form

_SHORTEST = 40
"""Letters and digits that a text needs, so that it does not stand elsewhere by chance."""
_BESIDE = re.compile(r"[\W_]+")
_BETWEEN = re.compile(r"[/\\\\]+")
_KEY = re.compile(r"[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}|[0-9a-f]{40}|[0-9a-f]{64}", re.I)


class DocumentNames:
    """The names of the documents of a data set, for finding the one that a path means.

    `papers/docllm.pdf` finds `docllm.pdf`, and `docllm.pdf` finds `papers/docllm.pdf`. The case of letters
    counts first, and is ignored only where it finds nothing. A path that fits several names finds none.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._parts = {name: _parts(name) for name in map(in_one_form, names)}
        self._by_end: dict[str, list[str]] = {}  # so that a path is compared with few names of many
        for name, parts in self._parts.items():
            self._by_end.setdefault(_end(parts), []).append(name)

    def __bool__(self) -> bool:
        """Whether the data set has any document."""
        return bool(self._parts)

    def without_key(self, path: str) -> str | None:
        """Return a path; `None` for a UUID or a hash that no document of the data set has as its name. Tools
        such as LlamaIndex and Phoenix have them for texts, and they say nothing of the place."""
        return None if _KEY.fullmatch(path) and self.find(path) is None else path

    def find(self, path: str) -> str | None:
        """Return the name of the document that a path means; `None` where none fits, or several do."""
        path = in_one_form(path)
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


class TextPlaces:
    """Where texts stand in the parsed documents of a data set, which are loaded when the first text is looked
    for."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = documents
        self._lock = threading.Lock()

    def placed(
        self, hits: Sequence[Hit] | None, rounds: Sequence[Round]
    ) -> tuple[tuple[Hit, ...] | None, tuple[Round, ...], int, int]:
        """Return hits and rounds, of which hits without a document have the places where their texts stand,
        as far as these are found, and how many different texts were found, and how many were not."""
        given = [*(hits or ()), *(hit for one in rounds for hit in one.hits)]
        unknown = {hit.chunk.text for hit in given if hit.chunk.document is None}
        found = {text: place for text in unknown if (place := self.find(text)) is not None}

        def at(hit: Hit) -> Hit:
            if hit.chunk.document is not None or (place := found.get(hit.chunk.text)) is None:
                return hit
            chunk = hit.chunk.model_copy(update={"document": place[0], "pages": place[1]})
            return hit.model_copy(update={"chunk": chunk})

        return (
            None if hits is None else tuple(map(at, hits)),
            tuple(one.model_copy(update={"hits": tuple(map(at, one.hits))}) for one in rounds),
            len(found),
            len(unknown) - len(found),
        )

    def find(self, text: str) -> tuple[str, tuple[int, ...]] | None:
        """Return the document that holds a text, and its pages, none if it stands there more than once.

        Only letters and digits count. `None` for a short text, and where no document or several hold it.
        """
        wanted = _folded(text)
        if len(wanted) < _SHORTEST:
            return None
        with self._lock:
            texts = self._texts
        found = [name for name, (whole, _, _) in texts.items() if wanted in whole]
        if len(found) != 1:
            return None
        whole, starts, numbers = texts[found[0]]
        at = whole.find(wanted)
        if whole.find(wanted, at + 1) >= 0:
            return found[0], ()
        first, last = (bisect_right(starts, place) for place in (at, at + len(wanted) - 1))
        return found[0], numbers[first - 1 : last]

    @cached_property
    def _texts(self) -> dict[str, tuple[str, list[int], tuple[int, ...]]]:
        """The folded text of each document, where each of its pages begins, and their numbers."""
        texts: dict[str, tuple[str, list[int], tuple[int, ...]]] = {}
        for document in self._documents:
            pages = [_folded(page.text) for page in document.pages]
            starts = list(accumulate(map(len, pages), initial=0))[:-1]
            texts[document.id] = "".join(pages), starts, tuple(page.number for page in document.pages)
        return texts


def _folded(text: str) -> str:
    """The letters and digits of a text in their compatible form, without case."""
    return _BESIDE.sub("", unicodedata.normalize("NFKC", text).casefold())
