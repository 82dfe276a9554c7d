"""Groups failed questions by their topic, and names each group by its most typical words."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

Embed = Callable[[list[str]], Any]
"""Returns the embeddings of texts, one a row."""
WORDS = 3
"""How many words name a group."""
_WORD = re.compile(r"[^\W_]{2,}")


class Group(NamedTuple):
    """Questions that went wrong and are alike: their ids, the words that name them, and whether the reference
    had no failure like them."""

    ids: tuple[str, ...]
    words: tuple[str, ...]
    is_new: bool


def groups(
    failed: Sequence[tuple[str, str]],
    before: Sequence[str],
    others: Sequence[str],
    alike: float,
    embed: Embed,
) -> list[Group]:
    """Return the groups of failures, new ones first and then large ones.

    `failed` are ids and texts of questions, `before` the texts of the failures of the reference, and `others`
    the texts of questions without a failure, with which the words of a group are compared. A question belongs
    to the first group whose first question is `alike` enough (a cosine), else it begins one.
    """
    import numpy as np

    if not failed:
        return []
    texts = [text for _, text in failed]
    vectors = _directions([*texts, *before], embed)
    ours, theirs = vectors[: len(texts)], vectors[len(texts) :]
    leaders: list[int] = []
    members: defaultdict[int, list[int]] = defaultdict(list)
    for at in range(len(texts)):
        cosines = ours[leaders] @ ours[at] if leaders else np.zeros(0)
        leader = leaders[int(cosines.argmax())] if cosines.size and cosines.max() >= alike else at
        if leader == at:
            leaders.append(at)
        members[leader].append(at)
    usual = Counter(word for text in others for word in _words(text))
    found = [
        Group(
            tuple(failed[at][0] for at in places),
            _named([texts[at] for at in places], usual, len(others)),
            not bool((theirs @ ours[leader] >= alike).any()) if len(before) else True,
        )
        for leader, places in members.items()
    ]
    return sorted(found, key=lambda group: (not group.is_new, -len(group.ids)))


def _directions(texts: list[str], embed: Embed) -> NDArray[float64]:
    """Return the embeddings of texts with length 1."""
    import numpy as np

    vectors = np.asarray(embed(texts), dtype=float)
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    found: NDArray[float64] = vectors / np.maximum(length, 1e-12)
    return found


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}


def _named(texts: Sequence[str], usual: Counter[str], others: int) -> tuple[str, ...]:
    """Return the words that are more frequent in a group than elsewhere, those with the largest difference of
    shares first; of equal ones the longest."""
    counts = Counter(word for text in texts for word in _words(text))

    def lead(word: str) -> float:
        return counts[word] / len(texts) - (usual[word] / others if others else 0.0)

    order = sorted(counts, key=lambda word: (-lead(word), -len(word), word))
    return tuple(order[:WORDS])
