"""The index of BM25 on the disk, in the format of bm25s (arrays of NumPy without pickles, and JSON).

Building it takes longer than everything else in a run of one question, so later runs map it into memory.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from fathoms.errors import MissingExtraError

_UNSPACED = "unspaced.json"


class Built(NamedTuple):
    """The index of bm25s, and the number of texts in a script without spaces between words."""

    searcher: Any
    unspaced: int


def read(texts: int, folder: Path) -> Built | None:
    """Read an index from its files; `None` if it is not one of so many texts. Raises OSError and the errors
    of invalid data."""
    library, _ = libraries()
    searcher = library.BM25.load(folder, mmap=True, show_progress=False)
    unspaced = int(json.loads((folder / _UNSPACED).read_text()))
    return Built(searcher, unspaced) if searcher.scores["num_docs"] == texts else None


def write(built: Built, folder: Path) -> None:
    """Write an index to files. Raises OSError, and UnicodeError for words that cannot be written (halves of a
    surrogate pair)."""
    built.searcher.save(folder, show_progress=False)
    (folder / _UNSPACED).write_text(str(built.unspaced))


def libraries() -> tuple[Any, Any]:
    """Import bm25s and PyStemmer; raises MissingExtraError if one is not installed."""
    try:
        import bm25s
        import Stemmer
    except ModuleNotFoundError as error:
        raise MissingExtraError(error.name or "bm25s", "bm25", "BM25") from error
    return bm25s, Stemmer
