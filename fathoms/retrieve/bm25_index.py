"""The index of BM25 on the disk, in the format of bm25s (arrays of NumPy without pickles, and JSON).

Building it takes longer than everything else in a run of one question, so later runs map it into memory.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from fathoms.paths import publish, sealed, temporary_folder
from fathoms.runs.cache import tell_damage

_UNSPACED = "unspaced.json"


class Built(NamedTuple):
    """The index of bm25s, and the number of texts in a script without spaces between words."""

    searcher: Any
    unspaced: int


def load(folder: Path) -> Built | None:
    """Load an index; `None` where there is none or it is damaged. Every byte is checked against its checksum
    first."""
    import bm25s

    state = sealed(folder)
    if state == "sound":
        try:
            unspaced = int(json.loads((folder / _UNSPACED).read_text()))
            return Built(bm25s.BM25.load(folder, mmap=True, show_progress=False), unspaced)
        except (OSError, EOFError, ValueError, TypeError, LookupError):
            pass
    if state != "missing":
        tell_damage("index", f"the cached index {folder} is damaged and will be built again")
    return None


def store(folder: Path, built: Built) -> None:
    """Store an index; raises OSError. One whose words cannot be written (halves of a surrogate pair) is not
    stored, and each run builds it again."""
    with temporary_folder(folder.parent) as unfinished:
        try:
            built.searcher.save(unfinished, show_progress=False)
        except UnicodeError:
            return
        (unfinished / _UNSPACED).write_text(str(built.unspaced))
        publish(unfinished, folder)
