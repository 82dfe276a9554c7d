"""How far every two reviewers agree about the things that both have judged."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

from fathoms.runs.people import Kind


@dataclass(frozen=True)
class Pair:
    """Two reviewers on the `n` things that both have rated: the share where they agree, and
    Cohen's kappa; for grades also kappa weighted by squared distance. A kappa is `None` if chance alone would
    always give agreement."""

    reviewers: tuple[str, str]
    n: int
    same: float
    kappa: float | None
    weighted: float | None = None


def reviewer_pairs(
    said: Iterable[Kind], value: Callable[[Kind], Hashable], grades: Sequence[Hashable] = ()
) -> Iterator[Pair]:
    """Yield the agreement of every two reviewers; `grades` are all values in order, where they have one."""
    from fathoms.stats.kappa import kappa

    by_reviewer: dict[str, dict[tuple[Hashable, ...], Hashable]] = {}
    for one in said:
        by_reviewer.setdefault(one.reviewer, {})[one.key] = value(one)
    for (first, ours), (second, theirs) in combinations(sorted(by_reviewer.items()), 2):
        pairs = [(ours[key], theirs[key]) for key in ours if key in theirs]
        if not pairs:
            continue
        places = {name: place for place, name in enumerate(grades or dict.fromkeys(sum(pairs, ())))}
        table = [[0] * len(places) for _ in places]
        for a, b in pairs:
            table[places[a]][places[b]] += 1
        same = fmean(a == b for a, b in pairs)
        weighted = kappa(table, quadratic=True) if grades else None
        yield Pair((first, second), len(pairs), same, kappa(table), weighted)
