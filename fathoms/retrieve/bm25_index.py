"""The index of BM25 on the disk, in the format of bm25s (arrays of NumPy without pickles, and JSON).

Building it takes longer than everything else in a run of one question, so later runs map it into memory.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from fathoms.errors import MissingExtraError
from fathoms.retrieve.bm25_building import Files

_ABOUT = "about.json"


class Built(NamedTuple):
    """The index of bm25s, `None` if no text has a word, and the number of texts in a script without spaces
    between words."""

    searcher: Any
    unspaced: int


def read(texts: int, folder: Path) -> Built | None:
    """Read an index from its files; `None` if it is not one of so many texts. Raises OSError and the errors
    of invalid data."""
    library, _ = libraries()
    about = json.loads((folder / _ABOUT).read_text())
    searcher = None
    if about["words"]:
        searcher = library.BM25.load(folder, mmap=True, show_progress=False)
    return Built(searcher, int(about["unspaced"])) if about["texts"] == texts else None


def write(files: Files, searcher: Any, unspaced: int, folder: Path) -> None:
    """Put the files of an index into a folder as bm25s reads them; `searcher` is bm25s's one without an index
    yet. Raises OSError, and UnicodeError for words that cannot be written (halves of a surrogate pair)."""
    import numpy as np

    about = {"texts": files.texts, "words": len(files.words), "unspaced": unspaced}
    (folder / _ABOUT).write_text(json.dumps(about))
    if not files.words:
        return
    empty = np.zeros(0)
    searcher.scores = {"data": empty, "indices": empty, "indptr": empty, "num_docs": files.texts}
    searcher.vocab_dict, searcher.nonoccurrence_array = files.words, None
    searcher.save(folder, show_progress=False)
    for name, path in (("data", files.data), ("indices", files.indices), ("indptr", files.indptr)):
        path.replace(folder / f"{name}.csc.index.npy")


def libraries() -> tuple[Any, Any]:
    """Import bm25s and PyStemmer; raises MissingExtraError if one is not installed."""
    try:
        with _without("jax", "jax.lax", "scipy.sparse"):
            import bm25s
        import Stemmer
    except ModuleNotFoundError as error:
        raise MissingExtraError(error.name or "bm25s", "bm25", "BM25") from error
    return bm25s, Stemmer


@contextmanager
def _without(*names: str) -> Iterator[None]:
    """Let an import not find some modules.

    bm25s imports JAX where it is installed and computes with it once. On a machine with a GPU, this takes
    three quarters of the memory of the GPU from the models that need it, for a search that is not used here.
    It imports SciPy's sparse matrices to make an index, which it also does with NumPy alone: a tenth of a
    second at every start.
    """
    before = {name: sys.modules[name] for name in names if name in sys.modules}
    sys.modules.update(dict.fromkeys(names))  # type: ignore[arg-type]  # `None` means that there is none
    try:
        yield
    finally:
        for name in names:
            sys.modules.pop(name)
        sys.modules.update(before)
