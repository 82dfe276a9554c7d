"""The cache of which vectors of page pictures stand for patches, and which vectors of questions for words.

Heatmaps therefore need no model where a question and pictures of the size of a page were seen before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from fathoms.models.embed.multi_vector import MultiVectorEmbedder
from fathoms.models.embed.patches import Patches, Words
from fathoms.models.embed.process import patches_and_words
from fathoms.runs.cache import Cache
from fathoms.text.fingerprints import fingerprint

T = TypeVar("T")
R = TypeVar("R")
Size = tuple[int, int]


class Located(NamedTuple):
    """The patches of each page, `None` where they form no grid, and the words of each question."""

    patches: list[Patches | None]
    words: list[Words]


def located_cached(
    embedder: MultiVectorEmbedder, sizes: Sequence[Size], questions: Sequence[str], cache: Cache
) -> Located:
    """Return which vectors stand for the patches of pictures of these widths and heights in pixels, and for
    the words of each question. The model is asked only for what the cache does not hold."""
    identity = embedder.identity()
    of_size = {size: fingerprint("patches", identity, size) for size in sizes}
    of_text = {text: fingerprint("words", identity, text) for text in questions}
    patches = _known(cache, "patches", of_size, _patches)
    words = _known(cache, "words", of_text, lambda found: Words(*map(int, found)))
    new_sizes = [size for size in of_size if size not in patches]
    new_texts = [text for text in of_text if text not in words]
    if new_sizes or new_texts:
        new_patches, new_words = patches_and_words(embedder, new_sizes, new_texts)
        patches |= zip(new_sizes, new_patches, strict=True)
        words |= zip(new_texts, new_words, strict=True)
        _keep(cache, "patches", {of_size[size]: patches[size] for size in new_sizes})
        _keep(cache, "words", {of_text[text]: words[text] for text in new_texts})
    return Located([patches[size] for size in sizes], [words[text] for text in questions])


def _patches(found: Any) -> Patches | None:
    """Decode the place of patches."""
    return None if found is None else Patches(*map(int, found))


def _known(cache: Cache, kind: str, keys: Mapping[T, str], decode: Callable[[Any], R]) -> dict[T, R]:
    """Return what the cache holds under these keys."""
    values = cache.get_many(kind, list(keys.values()))
    found: dict[T, R] = {}
    for name, key in keys.items():
        if key in values:
            try:
                found[name] = decode(json.loads(values[key]))
            except (ValueError, TypeError):
                cache.damaged(kind)
    return found


def _keep(cache: Cache, kind: str, places: Mapping[str, Patches | Words | None]) -> None:
    """Store places under their keys."""
    cache.put_many(kind, {key: json.dumps(value).encode() for key, value in places.items()})
