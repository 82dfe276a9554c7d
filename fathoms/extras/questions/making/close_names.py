"""Which names of many mean the same thing: those whose embeddings are close and whose words agree.

No name is compared with all others. Random hyperplanes (Charikar 2002) give every name some short codes, of
which close names share most bits. In each order by one code, a name is compared with the few that follow it,
so time and memory grow in proportion to the number of names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import acos, pi, sqrt
from typing import TYPE_CHECKING, Any

from fathoms.models.caching import embed_cached
from fathoms.runs.cache import Cache

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fathoms.models import Embedder

THRESHOLD = 0.9
"""The cosine similarity from which two names can mean the same."""
_CODES = 24
"""The codes of a name, each of 32 bits."""
_WINDOW = 8
_BLOCK = 2048
_SLACK = 3.0
"""The standard deviations by which the share of different bits may be above what is expected."""
_ALIKE = 0.7
_SMALL = frozenset({"of", "the", "and", "for", "in"})
_WORD = 4


def close_pairs(
    names: Sequence[str], embedder: Embedder, cache: Cache, threshold: float = THRESHOLD
) -> Iterator[tuple[float, int, int]]:
    """Yield the similarity and the places of two names that may mean the same thing, with the smaller place
    first. Names are compared as they are given, so fold them first. A few pairs can be missed."""
    import numpy as np

    pairs = _candidates(_codes(names, embedder, cache), threshold)
    fitting = [(one, other) for one, other in pairs if agree(names[one], names[other])]
    for start in range(0, len(fitting), _BLOCK):
        part = fitting[start : start + _BLOCK]
        used = sorted({at for pair in part for at in pair})
        row = {at: number for number, at in enumerate(used)}
        vectors = embed_cached(embedder, [names[at] for at in used], cache)
        ones, others = (vectors[[row[pair[end]] for pair in part]] for end in (0, 1))
        for (one, other), value in zip(part, np.sum(ones * others, axis=1), strict=True):
            if value >= threshold:
                yield float(value), one, other


def agree(one: str, other: str) -> bool:
    """Whether the words of two folded names allow that they mean the same: one has all words of the other, or
    the words that only one has are forms of the same words, such as plurals. Numbers, single letters and
    other short words must be the same in both, because grade B is not grade C."""
    first, second = (set(name.split()) - _SMALL for name in (one, other))
    left, right = first - second, second - first
    if any(len(word) < _WORD or any(map(str.isdigit, word)) for word in left | right):
        return False
    if not left or not right:
        return True
    return all(any(_same_stem(a, b) for b in right) for a in left) and all(
        any(_same_stem(a, b) for a in left) for b in right
    )


def _same_stem(one: str, other: str) -> bool:
    """Whether two words begin alike for most of their length."""
    same = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))
    return min(same, len(other)) >= _ALIKE * max(len(one), len(other))


def _codes(names: Sequence[str], embedder: Embedder, cache: Cache) -> NDArray[np.uint32]:
    """Return the codes of each name, shape (n, _CODES); only a block of vectors is in memory at a time."""
    import numpy as np

    codes = np.zeros((len(names), _CODES), dtype=np.uint32)
    planes: Any = None
    for start in range(0, len(names), _BLOCK):
        vectors = embed_cached(embedder, names[start : start + _BLOCK], cache)
        if planes is None:
            shape = (vectors.shape[1], _CODES * 32)
            planes = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
        bits = np.packbits(vectors @ planes > 0, axis=1)
        codes[start : start + _BLOCK] = bits.view(">u4")
    return codes


def _candidates(codes: NDArray[np.uint32], threshold: float) -> list[tuple[int, int]]:
    """Return the pairs that stand near each other in the order by one of their codes, and that share as many
    bits as names of this similarity do."""
    import numpy as np

    count, bits = len(codes), _CODES * 32
    share = acos(min(1.0, threshold)) / pi
    most = bits * (share + _SLACK * sqrt(share * (1 - share) / bits))
    ones = np.array([value.bit_count() for value in range(1 << 16)], dtype=np.uint8)
    found: set[int] = set()
    for column in range(_CODES):
        order = np.argsort(codes[:, column], kind="stable")
        ranked = codes[order]
        for shift in range(1, min(_WINDOW, count - 1) + 1):
            for start in range(0, count - shift, _BLOCK):
                stop = min(start + _BLOCK, count - shift)
                differing = (ranked[start:stop] ^ ranked[start + shift : stop + shift]).view(np.uint16)
                near = start + np.flatnonzero(ones[differing].sum(axis=1, dtype=np.uint16) <= most)
                first, second = order[near], order[near + shift]
                low, high = np.minimum(first, second), np.maximum(first, second)
                found.update((low * count + high).tolist())
    return [divmod(pair, count) for pair in sorted(found)]
