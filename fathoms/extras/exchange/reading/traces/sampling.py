"""Chooses which questions of traces are imported: those since a time, without near duplicates, and of these a
sample in which the chance of every question is known."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING

from fathoms.errors import DataError, UsageError
from fathoms.extras.exchange.reading.traces.span import seconds
from fathoms.extras.exchange.reading.traces.turns import Turn

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

NO_ROUTE = "Uncategorised"
"""The category of questions without a route."""
BLOCK = 1024
"""How many questions are compared with as many others at a time."""


@dataclass(frozen=True)
class Selection:
    """The choice of the questions that are imported from traces.

    `since` is in seconds since 1970. `by` names the attribute whose value is the category of a question, and
    a stratum of the sample. `alike` is the cosine from which a question counts as a duplicate of an earlier
    one, and `redact` names what is taken out of texts.
    """

    since: float | None = None
    by: str | None = None
    alike: float | None = None
    sample: int | None = None
    seed: int = 0
    redact: tuple[str, ...] = ()


@dataclass(frozen=True)
class Selected:
    """The questions that are imported. `population` is the number of questions from which each category was
    sampled, empty without a sample, and `said` has a sentence for each kind of questions that was left
    out."""

    turns: tuple[Turn, ...]
    population: Mapping[str, int] = field(default_factory=dict)
    said: tuple[str, ...] = ()


def since_of(text: str, now: float) -> float:
    """Return the time that `7d`, `12h`, `30m` or a date names, in seconds since 1970; raises UsageError."""
    found = re.fullmatch(r"([0-9]{1,6})([dhm])", text)
    if found:
        return now - int(found[1]) * {"d": 86_400, "h": 3_600, "m": 60}[found[2]]
    if (time := seconds(text)) is None:
        raise UsageError(f"--since {text}: name a time such as 7d, 12h, 30m or 2026-11-20")
    return time


def selected(turns: Sequence[Turn], how: Selection) -> Selected:
    """Return the turns that are imported; raises DataError if none is left."""
    said = []
    found = [turn if how.by is None else replace(turn, route=_route(turn, how.by)) for turn in turns]
    if how.by and all(turn.route is None for turn in found):
        raise DataError(f"--by {how.by}: no span has an attribute of this name")
    if how.since is not None:
        late = [turn for turn in found if turn.top.start >= how.since]
        said.append(
            f"{len(found) - len(late)} of {len(found)} questions are older than --since, or have no time"
        )
        found = late
    if how.alike is not None and found:
        different = _without_duplicates(found, how.alike)
        said.append(f"{len(found) - len(different)} of {len(found)} questions are near duplicates of others")
        found = different
    if not found:
        raise DataError("no question is left: --since is later than all of them")
    if how.sample is None or how.sample >= len(found):
        return Selected(tuple(found), said=tuple(said))
    population = Counter(turn.route or NO_ROUTE for turn in found)
    chosen = _sample(found, shares(population, how.sample), how.seed)
    said.append(f"a sample of {len(chosen)} of {len(found)} questions, drawn at random by seed {how.seed}")
    return Selected(tuple(chosen), dict(population), tuple(said))


def shares(population: Mapping[str, int], size: int) -> dict[str, int]:
    """Return how many of each stratum a sample of a size has: at least two, so that its variance is known, as
    far as there are two, and else in proportion, with the largest remainders."""
    least = {name: min(2, count) for name, count in population.items()}
    if sum(least.values()) > size:
        raise DataError(
            f"--sample {size} is too small: {len(population)} categories need at least {sum(least.values())}"
        )
    total = sum(population.values())
    wanted = {name: max(float(least[name]), size * count / total) for name, count in population.items()}
    found = {name: int(share) for name, share in wanted.items()}
    order = sorted(wanted, key=lambda name: (found[name] - wanted[name], name))
    while sum(found.values()) > size:  # the least of small strata took more than their share
        largest = max(found, key=lambda name: (found[name] - least[name], name))
        found[largest] -= 1
    for name in order * 2:
        if sum(found.values()) < size and found[name] < population[name]:
            found[name] += 1
    return found


def _sample(turns: Sequence[Turn], wanted: Mapping[str, int], seed: int) -> list[Turn]:
    """Return a random sample of each stratum, in the order of time."""
    strata: defaultdict[str, list[int]] = defaultdict(list)
    for at, turn in enumerate(turns):
        strata[turn.route or NO_ROUTE].append(at)
    random = Random(seed)
    places = [at for name in sorted(strata) for at in random.sample(strata[name], wanted[name])]
    return [turns[at] for at in sorted(places)]


def _route(turn: Turn, by: str) -> str | None:
    """Return the value of an attribute of a turn: of its own span, else of the first other that has it."""
    for span in (turn.top, *turn.parts):
        found = span.labels.get(by)
        if found is None:
            found = next((value for name, value in span.labels.items() if name.endswith(f".{by}")), None)
        if found is not None:
            return str(found)
    return None


def _without_duplicates(turns: Sequence[Turn], alike: float) -> list[Turn]:
    """Return the turns without near duplicates of an earlier question. The turn that stays gets their number
    in `occurrences`."""
    from fathoms.models import OnnxEmbedder

    places = first_alike([turn.question for turn in turns], alike, OnnxEmbedder().embed)
    counts = Counter(places)
    return [replace(turn, occurrences=counts[at]) for at, turn in enumerate(turns) if places[at] == at]


def first_alike(
    texts: Sequence[str], alike: float, embed: Callable[[list[str]], NDArray[float32]]
) -> list[int]:
    """Return for each text the place of the text that stands for it: the first earlier one that stands for
    itself and whose cosine with it is at least `alike`, else its own."""
    import numpy as np

    different = list(dict.fromkeys(texts))
    vectors = np.asarray(embed(different), dtype=np.float32)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    of = dict(zip(different, _standing(vectors, alike), strict=True))
    first: dict[str, int] = {}
    for place, text in enumerate(texts):
        first.setdefault(text, place)
    return [first[different[of[text]]] for text in texts]


def _standing(vectors: NDArray[float32], alike: float) -> list[int]:
    """Return for each vector of length 1 the place of the one that stands for it.

    Products are computed block by block, so that memory does not grow with the number of pairs, and a vector
    with a match is not compared with later blocks.
    """
    import numpy as np

    found = np.arange(len(vectors))
    standing = np.empty(0, dtype=int)
    for start in range(0, len(vectors), BLOCK):
        block = vectors[start : start + BLOCK]
        open_rows = np.arange(len(block))
        for at in range(0, len(standing), BLOCK):
            some = standing[at : at + BLOCK]
            near = block[open_rows] @ vectors[some].T >= alike
            hit = near.any(axis=1)
            found[start + open_rows[hit]] = some[near[hit].argmax(axis=1)]
            open_rows = open_rows[~hit]
        near = block @ block.T >= alike
        stands = np.zeros(len(block), dtype=bool)
        for row in open_rows:
            earlier = np.flatnonzero(near[row] & stands)
            stands[row] = not earlier.size
            if earlier.size:
                found[start + row] = start + earlier[0]
        standing = np.append(standing, start + np.flatnonzero(stands))
    return [int(place) for place in found]
