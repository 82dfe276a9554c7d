"""Values of metrics on judged items, with the share of the unjudged and the bounds of the value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fathoms.metrics.claims.truth import Truth
from fathoms.types import Score

Parts = dict[str, float | None]
NO_PROBABILITY = "claims without a probability, which are in no expected count"


def share_of(
    metric: str, holds: Sequence[Truth], why: Mapping[str, object] | None = None, items: str = "claims"
) -> Score:
    """Return the share of the items for which something holds, over the items for which that is known.

    The parts count the items under the name `items`, those that hold (`supported`), and those `unjudged`
    because a call failed or a reply could not be read. `lowest` and `highest` are the shares if it held for
    none or for all of the unjudged items. The value is `None` if there is no item, or none was judged.
    """
    return ratio_of(metric, [(value, True) for value in holds], why, items)


def expected_share(
    metric: str, chances: Sequence[float | None], why: Mapping[str, object] | None = None
) -> Score:
    """Return the expected share of supported claims: the mean of the probabilities that each is supported.

    A claim without a probability counts as unjudged, also where it has a label: it is in no value, widens
    `lowest` and `highest`, and is counted by itself. The value is `None` if no claim has one.
    """
    known = [one for one in chances if one is not None]
    top, unknown = sum(known), len(chances) - len(known)
    parts: Parts = {
        "claims": len(chances),
        "supported": top,
        "unjudged": unknown,
        "lowest": top / len(chances) if chances else None,
        "highest": (top + unknown) / len(chances) if chances else None,
    }
    if unknown:
        parts[NO_PROBABILITY] = unknown
    value = top / len(known) if known else None
    return Score(metric=metric, value=value, n=len(known), parts=parts, why=dict(why or {}))


def ratio_of(
    metric: str,
    pairs: Iterable[tuple[Truth, Truth]],
    why: Mapping[str, object] | None = None,
    items: str = "claims",
) -> Score:
    """Return the share of the items for which something holds, among those that count.

    Each pair says whether it holds for an item, and whether the item counts. The value rests on the items
    for which both are known, and is `None` if none of them counts. The parts are those of `share_of`, where
    `lowest` and `highest` are the smallest and the largest value that the missing verdicts could give.
    """
    top = bottom = unjudged = low_bottom = high_more = 0
    for holds, counts in pairs:
        if counts is False:
            continue
        if holds is not None and counts is not None:
            top, bottom = top + holds, bottom + 1
            continue
        unjudged += 1
        low_bottom += not (holds and counts is None)  # left out, it raises nothing
        high_more += holds is not False
    low, high = bottom + low_bottom, bottom + high_more
    parts: Parts = {
        items: bottom + unjudged,
        "supported": top,
        "unjudged": unjudged,
        "lowest": (top / low if low else 1.0) if bottom + unjudged else None,
        "highest": ((top + high_more) / high if high else 0.0) if bottom + unjudged else None,
    }
    value = top / bottom if bottom else None
    return Score(metric=metric, value=value, n=bottom, parts=parts, why=dict(why or {}))


def f1_of(metric: str, precision: Score, recall: Score) -> Score:
    """Return the harmonic mean of a precision and a recall, 0 if both are 0, and `None` if one of them is
    unknown. Both are among the parts, and the bounds are those of both together."""

    def at(name: str) -> float | None:
        return harmonic_mean(precision.parts.get(name), recall.parts.get(name))

    parts: Parts = {
        "precision": precision.value,
        "recall": recall.value,
        "claims": _sum("claims", precision, recall),
        "unjudged": _sum("unjudged", precision, recall),
        "lowest": at("lowest"),
        "highest": at("highest"),
    }
    value = harmonic_mean(precision.value, recall.value)
    n = precision.n + recall.n if value is not None else 0
    return Score(metric=metric, value=value, n=n, parts=parts)


def difference_of(metric: str, images: Score, texts: Score) -> Score:
    """Return a share of pictures minus one of texts, `None` if one of them is unknown. Both are among the
    parts, and the bounds are those of the two apart, each at its best where the other is at its worst."""
    parts: Parts = {
        "images": images.value,
        "texts": texts.value,
        "items": _sum("items", images, texts) + _sum("claims", images, texts),
        "unjudged": _sum("unjudged", images, texts),
        "lowest": _minus(images.parts["lowest"], texts.parts["highest"]),
        "highest": _minus(images.parts["highest"], texts.parts["lowest"]),
    }
    value = _minus(images.value, texts.value)
    return Score(metric=metric, value=value, n=images.n + texts.n if value is not None else 0, parts=parts)


def _minus(one: float | None, other: float | None) -> float | None:
    """Return a difference, `None` if one of the values is unknown."""
    return None if one is None or other is None else one - other


def _sum(part: str, *scores: Score) -> float:
    """Return the sum of a part of several scores."""
    return sum(score.parts.get(part) or 0 for score in scores)


def harmonic_mean(precision: float | None, recall: float | None) -> float | None:
    """Return the harmonic mean of two values, 0 if both are 0, and `None` if one of them is unknown."""
    if precision is None or recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
