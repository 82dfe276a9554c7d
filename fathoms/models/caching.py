"""What models gave before: embeddings by (model, text), and replies by everything that decides them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fathoms.config import fingerprint
from fathoms.errors import ModelError
from fathoms.models.embed.process import embed
from fathoms.runs.cache import Cache
from fathoms.types import Prompt, Reply

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fathoms.models import ChatModel, Embedder

_BATCH = 64
_DTYPE = b"<f4"
_HEAD = struct.Struct("<3sxI")
"""What stands before the numbers of a vector: their type, and how many they are."""


class ReplyCache:
    """Replies by model with its settings, prompt with its images and files, and number of the repeat.

    For those who ask for it: who measures anew asks anew. A reply that is found is marked `cached`.
    """

    def __init__(self, cache: Cache, model: ChatModel) -> None:
        self._cache = cache
        self._identity = model.identity()

    def key(self, prompt: Prompt, repeat: int) -> str:
        """The name of a reply. A path says nothing: images and files count by what is in them."""
        messages = [
            (
                message.role,
                message.text,
                [self._cache.file_hash(image) for image in message.images],
                [(file.document, file.sha256) for file in message.files],
            )
            for message in prompt.messages
        ]
        return fingerprint(self._identity, messages, repeat)

    def get(self, key: str) -> Reply | None:
        """The reply that was kept."""
        reply = self._cache.load("reply", key, Reply.model_validate_json)
        return None if reply is None else reply.model_copy(update={"cached": True})

    def put(self, key: str, reply: Reply) -> None:
        """Keep a reply."""
        self._cache.put_text("reply", key, reply.model_dump_json())


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

    if not texts:
        return embed(embedder, texts, query=query)
    identity = embedder.identity()
    keys = [fingerprint(identity, query, text) for text in texts]
    new = dict(zip(keys, texts, strict=True))
    found = _known(cache, list(new))
    missing = [key for key in new if key not in found]
    while missing:
        for start in range(0, len(missing), _BATCH):
            part = missing[start : start + _BATCH]
            vectors = embed(embedder, [new[key] for key in part], query=query)
            made = dict(zip(part, vectors, strict=True))
            cache.put_many("embedding", {key: _packed(row) for key, row in made.items()})
            found.update(made)
            if on_progress:
                on_progress(start + len(part), len(missing))
        done, width = set(missing), len(found[missing[-1]])
        if any(len(found[key]) != width for key in missing):
            raise ModelError(f"embed: kind '{embedder.kind}' gave vectors of different lengths")
        # the model behind a name may have been exchanged: what it gave before is of no use beside this
        missing = [key for key in new if key not in done and len(found[key]) != width]
    return np.stack([found[key] for key in keys])


def _known(cache: Cache, keys: Sequence[str]) -> dict[str, NDArray[np.float32]]:
    """The vectors that the cache holds, if all of them are of one length."""
    values = cache.get_many("embedding", keys)
    found = {key: row for key, value in values.items() if (row := _unpacked(value)) is not None}
    if len(found) < len(values):
        cache.damaged("embedding")
    if len({len(row) for row in found.values()}) > 1:
        cache.damaged("embedding")
        return {}
    return found


def _packed(row: NDArray[np.float32]) -> bytes:
    """A vector as it is kept: the kind of its numbers, how many they are, and they."""
    return _HEAD.pack(_DTYPE, len(row)) + row.astype(_DTYPE.decode()).tobytes()


def _unpacked(value: bytes) -> NDArray[np.float32] | None:
    """The vector that was packed; `None` where the value is none."""
    import numpy as np

    if len(value) <= _HEAD.size:
        return None
    dtype, width = _HEAD.unpack_from(value)
    if dtype != _DTYPE or len(value) != _HEAD.size + 4 * width:
        return None
    return np.frombuffer(value, dtype=np.float32, offset=_HEAD.size)
