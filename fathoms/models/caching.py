"""Embeddings by (model, text): a text is embedded once in the life of a cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fathoms.cache import Cache
from fathoms.config import fingerprint

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fathoms.models import Embedder

_BATCH = 64


def embed_cached(
    embedder: Embedder,
    texts: Sequence[str],
    cache: Cache,
    on_progress: Callable[[int, int], None] | None = None,
    *,
    query: bool = False,
) -> NDArray[np.float32]:
    """Vectors of `texts`, shape (n, d), float32, L2-normalised; what the cache has is not computed.

    A text that is new is embedded once, however often it stands in `texts`, in batches;
    `on_progress` hears how many of the new ones are done, of how many. With `query`, the texts are
    embedded as questions (some models set questions and documents apart).
    """
    import numpy as np

    embed = embedder.embed_queries if query else embedder.embed
    if not texts:
        return embed(texts)
    identity = embedder.identity()
    keys = [fingerprint(identity, query, text) for text in texts]
    found = cache.get_many("embedding", list(dict.fromkeys(keys)))
    new = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
    names = list(new)
    for start in range(0, len(names), _BATCH):
        part = names[start : start + _BATCH]
        vectors = embed([new[name] for name in part])
        values = {name: row.tobytes() for name, row in zip(part, vectors, strict=True)}
        cache.put_many("embedding", values)
        found.update(values)
        if on_progress:
            on_progress(start + len(part), len(names))
    return np.stack([np.frombuffer(found[key], dtype=np.float32) for key in keys])
