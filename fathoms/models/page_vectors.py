"""The cache of the vectors of page pictures and of questions about them, which are matrices of any length."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fathoms.errors import ModelError
from fathoms.models.embed.process import embed_questions
from fathoms.models.embed.served.spent import EmbeddingCalls
from fathoms.runs.cache import Cache
from fathoms.text.fingerprints import fingerprint

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fathoms.models import PageEmbedder

    Vectors = NDArray[np.float32]

_DTYPE = b"<f4"
_HEAD = struct.Struct("<3sxII")
"""Header of a stored matrix: the data type of its numbers, its rows, and the length of a row."""


def known_vectors(cache: Cache, kind: str, keys: Sequence[str]) -> dict[str, Vectors]:
    """Return the cached matrices (vectors, width) by key. A matrix without rows says that a page has no
    picture."""
    values = cache.get_many(kind, keys)
    found = {key: matrix for key, value in values.items() if (matrix := unpacked(value)) is not None}
    if len(found) < len(values):
        cache.damaged(kind)
    return found


def keep_vectors(cache: Cache, kind: str, by_key: Mapping[str, Vectors]) -> None:
    """Store matrices (vectors, width) under their keys."""
    cache.put_many(kind, {key: packed(vectors) for key, vectors in by_key.items()})


@contextmanager
def stored_on_arrival(
    how: EmbeddingCalls, cache: Cache, kind: str, keys: Sequence[str]
) -> Iterator[Callable[[Sequence[Vectors]], dict[str, Vectors]]]:
    """Store the vectors of every reply of a server under their keys as soon as it has arrived.

    The function that is given takes all vectors when they are there, stores those that did not come from a
    server, and returns all by their keys.
    """
    stored: set[str] = set()

    def arrived(first: int, vectors: Sequence[Vectors]) -> None:
        by_key = dict(zip(keys[first : first + len(vectors)], vectors, strict=True))
        keep_vectors(cache, kind, by_key)
        stored.update(by_key)

    def whole(vectors: Sequence[Vectors]) -> dict[str, Vectors]:
        by_key = dict(zip(keys, vectors, strict=True))
        keep_vectors(cache, kind, {key: one for key, one in by_key.items() if key not in stored})
        return by_key

    before, how.keep = how.keep, arrived
    try:
        yield whole
    finally:
        how.keep = before


def questions_cached(
    embedder: PageEmbedder, texts: Sequence[str], cache: Cache, how: EmbeddingCalls | None = None
) -> list[Vectors]:
    """Return the vectors of questions, each float32 of shape (vectors, width); embeds only those that the
    cache does not hold. `how` says how a server is called, and counts what that took."""
    if not texts:
        return []
    identity = embedder.identity()
    keys = [fingerprint("question vectors", identity, text) for text in texts]
    new = dict(zip(keys, texts, strict=True))
    found = known_vectors(cache, "question-vectors", list(new))
    if missing := [key for key in new if key not in found]:
        how = how or EmbeddingCalls()
        with stored_on_arrival(how, cache, "question-vectors", missing) as keep:
            found |= keep(embed_questions(embedder, [new[key] for key in missing], how))
    if len({found[key].shape[1] for key in keys}) > 1:
        raise ModelError(f"embed: kind '{embedder.kind}' gave questions vectors of different lengths")
    return [found[key] for key in keys]


def packed(vectors: Vectors) -> bytes:
    """Encode a matrix (vectors, width) for the cache."""
    return _HEAD.pack(_DTYPE, *vectors.shape) + vectors.astype(_DTYPE.decode()).tobytes()


def unpacked(value: bytes) -> Vectors | None:
    """Decode a matrix from the cache; `None` if the value is damaged."""
    import numpy as np

    if len(value) < _HEAD.size:
        return None
    dtype, rows, width = _HEAD.unpack_from(value)
    if dtype != _DTYPE or len(value) != _HEAD.size + 4 * rows * width:
        return None
    return np.frombuffer(value, dtype=np.float32, offset=_HEAD.size).reshape(rows, width)
