"""Finding what is known of cached values, such as parsed documents, without reading these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from pydantic import TypeAdapter

from fathoms.runs.cache import FACTS, INVALID, Cache, text_of
from fathoms.types import StoredValue

F = TypeVar("F", bound=StoredValue)
BATCH = 64
"""How many values are in memory at a time."""


def known_facts(
    cache: Cache, kind: str, keys: Sequence[str], stored: type[F], of: Callable[[str], F]
) -> dict[str, F]:
    """Return the facts of the values of a kind that the cache holds, by their keys; `stored` is their class.

    Values without facts, as of an earlier version or of a shared cache, are read now: `of` makes the facts of
    a value, and raises what `Cache.load` allows for a damaged one, which is left out.
    """
    lists = TypeAdapter(list[stored])  # type: ignore[valid-type]

    def listed(text: str) -> dict[str, F]:
        return dict(zip(keys, lists.validate_json(text), strict=True))

    if (all_known := cache.load_list(FACTS[kind], keys, listed)) is not None:
        return all_known
    known = cache.stored_keys(kind, keys)
    found = cache.load_many(FACTS[kind], {key: stored.model_validate_json for key in keys if key in known})
    rest = [key for key in keys if key not in found]
    for start in range(0, len(rest), BATCH):
        for key, value in cache.get_many(kind, rest[start : start + BATCH]).items():
            try:
                found[key] = of(text_of(value))
            except INVALID:
                cache.damaged(kind)
            else:
                cache.note_facts(kind, key, value, found[key].model_dump_json())
    if len(found) == len(keys):
        cache.put_list(FACTS[kind], keys, lists.dump_json([found[key] for key in keys]).decode())
    return found
