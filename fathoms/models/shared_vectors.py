"""Vectors of texts in the shared cache: those of a document as one value, because each request takes time.

The cache of a machine keeps the vector of each text, whatever document it is from. A bucket is asked for
those of a whole document, by a hash of the keys of its texts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from fathoms.models.page_vectors import packed, unpacked
from fathoms.runs.cache import Cache
from fathoms.text.fingerprints import fingerprint

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

_KIND = "vectors"
_PARTS = "vector-parts"
"""The kind of the keys of the texts of a document on this machine, for those that are shared later."""
_AT_ONCE = 64


class SharedVectors:
    """The vectors of documents in the shared cache, if there is one. `keys` are those of all texts in order,
    and `parts` the numbers of texts of each document; without parts, nothing is shared."""

    def __init__(self, cache: Cache, keys: Sequence[str], parts: Iterable[int]) -> None:
        self._store = cache.shared
        rest = iter(keys)
        taken = (tuple(islice(rest, length)) for length in parts)
        self._parts = {fingerprint(_KIND, part): part for part in taken if part}
        if self._parts:
            cache.put_many(_PARTS, {name: " ".join(part).encode() for name, part in self._parts.items()})
        self._lacking: dict[str, int] = {}
        self._with: dict[str, list[str]] = defaultdict(list)

    def take(self, found: Mapping[str, Vector]) -> dict[str, Vector]:
        """Return what the shared cache holds of the vectors that are not found, by the keys of the texts. The
        other documents are waited for: `made` stores them."""
        taken: dict[str, Vector] = {}
        if self._store is None:
            return taken
        wanted = [name for name, part in self._parts.items() if any(key not in found for key in part)]
        for start in range(0, len(wanted), _AT_ONCE):
            names = wanted[start : start + _AT_ONCE]
            values = self._store.get_many(_KIND, names)
            for name in names:
                part = self._parts[name]
                rows = None if name not in values else unpacked(values[name])
                if rows is not None and len(rows) == len(part):
                    taken.update(zip(part, rows, strict=True))
                    continue
                missing = {key for key in part if key not in found}
                self._lacking[name] = len(missing)
                for key in missing:
                    self._with[key].append(name)
        return taken

    def store_complete(self, new: Iterable[str], found: Mapping[str, Vector]) -> None:
        """Store the vectors of documents that are complete with the new ones, all of which are in `found`."""
        import numpy as np

        for key in new:
            for name in self._with.pop(key, ()):
                self._lacking[name] -= 1
                rows = [found[key] for key in self._parts[name]] if not self._lacking[name] else []
                if rows and self._store is not None and len({len(row) for row in rows}) == 1:
                    self._store.put(_KIND, name, packed(np.stack(rows)))


def push_vectors(cache: Cache, known: Callable[[Sequence[str]], Mapping[str, Vector]]) -> int:
    """Store in the shared cache the vectors that this machine holds of whole documents; returns the number of
    documents. `known` returns the cached vectors of some texts by their keys."""
    import numpy as np

    pushed = 0
    for name in cache.keys(_PARTS) if cache.shared is not None else ():
        part = cache.get(_PARTS, name)
        keys = [] if part is None else part.decode().split()
        found = known(list(dict.fromkeys(keys)))
        if keys and all(key in found for key in keys) and cache.shared is not None:
            cache.shared.put(_KIND, name, packed(np.stack([found[key] for key in keys])))
            pushed += 1
    return pushed
