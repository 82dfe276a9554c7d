"""What models gave before: embeddings by (model, text), and replies by everything that decides them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fathoms.cache import Cache
from fathoms.config import fingerprint
from fathoms.models.embedding import embed
from fathoms.types import Prompt, Reply

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fathoms.models import ChatModel, Embedder

_BATCH = 64


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
        text = self._cache.get_text("reply", key)
        return None if text is None else Reply.model_validate_json(text).model_copy(update={"cached": True})

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
    found = cache.get_many("embedding", list(dict.fromkeys(keys)))
    new = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
    names = list(new)
    for start in range(0, len(names), _BATCH):
        part = names[start : start + _BATCH]
        vectors = embed(embedder, [new[name] for name in part], query=query)
        values = {name: row.tobytes() for name, row in zip(part, vectors, strict=True)}
        cache.put_many("embedding", values)
        found.update(values)
        if on_progress:
            on_progress(start + len(part), len(names))
    return np.stack([np.frombuffer(found[key], dtype=np.float32) for key in keys])
