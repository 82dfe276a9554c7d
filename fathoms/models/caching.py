"""Caches of embeddings, by model and text, and of replies, by everything that influences them."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from fathoms.errors import ModelError
from fathoms.executors import Executor, LocalExecutor
from fathoms.models.embed.process import embed
from fathoms.models.embed.work import EmbedWork
from fathoms.models.shared_vectors import SharedVectors, push_vectors
from fathoms.runs.cache import Cache
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Failure, FilePart, ImagePart, Message, Prompt, Reply, TextPart

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fathoms.models import ChatModel, Embedder

_BATCH = 64
_ENOUGH = 10
"""So many replies tell whether most of them can be read."""
_DTYPE = b"<f4"
_HEAD = struct.Struct("<3sxI")
"""Header of a stored vector: the data type of its numbers and how many there are."""


class ReplyCache:
    """Cache of replies. The key is made of the model with its settings, the prompt with its images and files,
    and the number of the repeat.

    Answers are taken from it only on request, because a new measurement should normally ask the model again.
    Replies from the cache are marked `cached`.
    """

    advice: ClassVar[str] = "name another model, or change its settings"
    """What to do where most replies cannot be read."""

    def __init__(self, cache: Cache) -> None:
        self.cache = cache
        self.stage_name = ""
        """What is asked for now; replies that cannot be read are counted by it."""
        self._new: set[str] = set()
        self._readings: dict[str, Counter[str]] = {}

    def key(self, model: ChatModel, prompt: Prompt, repeat: int) -> str:
        """Return the cache key of a model's reply. Images and files enter by the hashes of their contents,
        not their paths."""
        messages = [self._message(message) for message in prompt.messages]
        form = [prompt.form.model_dump()] if prompt.form else []
        return fingerprint(model.identity(), messages, repeat, *form)

    def _message(self, message: Message) -> tuple[object, ...]:
        """Return what of a message enters the key.

        For a message in the usual order it is the same as before messages had parts, so that the replies in
        older caches are still found.
        """
        if not message.is_in_usual_order:
            return message.role, [(part.kind, self._content(part)) for part in message.parts]
        images = [self.cache.file_hash(image) for image in message.images]
        return message.role, message.text, images, [(file.document, file.sha256) for file in message.files]

    def _content(self, part: TextPart | ImagePart | FilePart) -> object:
        """Return what identifies the content of a part."""
        if isinstance(part, TextPart):
            return part.text
        if isinstance(part, ImagePart):
            return self.cache.file_hash(part.image)
        return part.file.document, part.file.sha256

    def get(self, key: str, *, again: bool = False) -> Reply | None:
        """Return the stored reply, `None` if there is none. With `again`, it must have been stored by this
        object, so that what an earlier process stored is asked for again, once."""
        if again and key not in self._new:
            return None
        reply = self.cache.load("reply", key, Reply.model_validate_json)
        return None if reply is None else reply.model_copy(update={"cached": True})

    def put(self, key: str, reply: Reply) -> None:
        """Store a reply in the cache under the key of its request."""
        self._new.add(key)
        self.cache.put_text("reply", key, reply.model_dump_json())

    def note_reading(self, model: ChatModel, failure: Failure | None = None) -> None:
        """Count a reply that could be read, or with `failure` one that could not. Raises ModelError where
        most of at least ten replies could not be read, because others would be paid for in vain."""
        counts = self._readings.setdefault(self.stage_name, Counter())
        counts["unread" if failure else "read"] += 1
        if failure is None or counts.total() < _ENOUGH or 2 * counts["unread"] <= counts.total():
            return
        of = f" in the stage '{self.stage_name}'" if self.stage_name else ""
        raise ModelError(
            f"stopped, because {counts['unread']} of {counts.total()} replies{of} could not be read:"
            f" {failure.message} (max_tokens of the model: {model.max_tokens}). All replies are kept in"
            f" {self.cache.folder}: {self.advice}"
        )

    def note_failure(self, error: ModelError) -> None:
        """Take note of a call that failed; a cache of replies ignores it."""


def embed_cached(
    embedder: Embedder,
    texts: Sequence[str],
    cache: Cache,
    on_progress: Callable[[int, int], None] | None = None,
    *,
    query: bool = False,
    executor: Executor | None = None,
    parts: Sequence[int] = (),
) -> NDArray[np.float32]:
    """Return the vectors of `texts`, float32 of shape (n, d) with L2-normalised rows; computes only uncached
    ones.

    New texts are embedded in batches, each distinct text once. `on_progress` is called with the number of new
    texts done and their total. With `query`, the texts are embedded as questions, which some models treat
    differently from documents. `executor` embeds the batches where the model is a local one, and this process
    otherwise. With `parts`, the numbers of texts of each document, vectors are looked for and stored in the
    shared cache too.
    """
    import numpy as np

    if not texts:
        return embed(embedder, texts, query=query)
    identity = embedder.identity()
    keys = [fingerprint(identity, query, text) for text in texts]
    new = dict(zip(keys, texts, strict=True))
    found = _known(cache, list(new))
    shared = SharedVectors(cache, keys, parts)
    if taken := shared.take(found):
        _keep(cache, taken)
        found |= taken
    missing = [key for key in new if key not in found]
    work = EmbedWork(embedder, query)

    def keep(vectors: dict[str, NDArray[np.float32]]) -> None:
        _keep(cache, vectors)
        found.update(vectors)
        shared.store_complete(vectors, found)

    on = executor if executor is not None and work.is_local else LocalExecutor(1)
    while missing:
        _embed_new(work, {key: new[key] for key in missing}, on, keep, on_progress)
        done, width = set(missing), len(found[missing[-1]])
        if any(len(found[key]) != width for key in missing):
            raise ModelError(f"embed: kind '{embedder.kind}' gave vectors of different lengths")
        # the server may now run another model under the same name: cached vectors of another length are
        # useless
        missing = [key for key in new if key not in done and len(found[key]) != width]
    return np.stack([found[key] for key in keys])


def _embed_new(
    work: EmbedWork,
    texts: Mapping[str, str],
    executor: Executor,
    keep: Callable[[dict[str, NDArray[np.float32]]], None],
    on_progress: Callable[[int, int], None] | None,
) -> None:
    """Embed texts in batches; each batch is kept as it comes, by the keys of its texts."""
    keys = list(texts)
    # a server may take minutes for what a local model does in a second: its progress is that of its requests
    size = _BATCH if work.is_local else min(_BATCH, getattr(work.embedder, "batch_size", None) or _BATCH)
    batches = [keys[start : start + size] for start in range(0, len(keys), size)]
    embedded = 0
    if on_progress:
        on_progress(0, len(keys))  # so that it is seen what the first request is waited for

    def done(at: int, vectors: NDArray[np.float32], seconds: float) -> None:
        nonlocal embedded
        keep(dict(zip(batches[at], vectors, strict=True)))
        embedded += len(batches[at])
        if on_progress:
            on_progress(embedded, len(keys))

    executor.run(work, [[texts[key] for key in batch] for batch in batches], done)


def _keep(cache: Cache, vectors: Mapping[str, NDArray[np.float32]]) -> None:
    """Store vectors under the keys of their texts."""
    values = {
        key: _HEAD.pack(_DTYPE, len(row)) + row.astype(_DTYPE.decode()).tobytes()
        for key, row in vectors.items()
    }
    cache.put_many("embedding", values)


def _known(cache: Cache, keys: Sequence[str]) -> dict[str, NDArray[np.float32]]:
    """Return the cached vectors by key; none at all if they differ in length."""
    values = cache.get_many("embedding", keys)
    found = {key: row for key, value in values.items() if (row := _decoded(value)) is not None}
    if len(found) < len(values):
        cache.damaged("embedding")
    if len({len(row) for row in found.values()}) > 1:
        cache.damaged("embedding")
        return {}
    return found


def push_embedded(cache: Cache) -> int:
    """Store in the shared cache the vectors of the chunks of whole documents; returns the number of
    documents."""
    return push_vectors(cache, lambda keys: _known(cache, keys))


def _decoded(value: bytes) -> NDArray[np.float32] | None:
    """Decode a vector from the cache; `None` if the value is damaged."""
    import numpy as np

    if len(value) <= _HEAD.size:
        return None
    dtype, width = _HEAD.unpack_from(value)
    if dtype != _DTYPE or len(value) != _HEAD.size + 4 * width:
        return None
    return np.frombuffer(value, dtype=np.float32, offset=_HEAD.size)
