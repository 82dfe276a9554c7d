"""The hops of a graph, and which nodes walks of some length can begin at."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING

from fathoms.extras.questions.making.graph import entity_at, plain_relation
from fathoms.extras.questions.making.relations import Relation
from fathoms.extras.questions.making.wording import named
from fathoms.types import Place

if TYPE_CHECKING:
    from networkx import MultiDiGraph

MOST_CHOICES = 10
"""The most neighbours that a model chooses among."""
_STEPS = 2000
"""The most hops that are tried to find out how a walk can go on."""


@dataclass(frozen=True)
class Hop:
    """A step from one entity to the only one that a relation leads to from there, given by their nodes and
    all their names, with every place that says so."""

    source: str
    target: str
    sources: tuple[str, ...]
    targets: tuple[str, ...]
    relations: tuple[Relation, ...]

    @property
    def relation(self) -> Relation:
        """The first place that says so."""
        return self.relations[0]

    @property
    def pages(self) -> frozenset[Place]:
        """The pages that say so."""
        return frozenset((one.document, one.page) for one in self.relations)

    @property
    def documents(self) -> frozenset[str]:
        """The documents that say so."""
        return frozenset(one.document for one in self.relations)


Ways = Mapping[str, Sequence[Hop]]
"""The hops that lead on from each node."""


def ways_in(graph: MultiDiGraph) -> dict[str, list[Hop]]:
    """Return the hops of a graph by their source. The same relation between the same entities on several
    pages is one hop. No hop leads to an entity that stands in the name of its source, because no sub-question
    could name the one without the other."""
    grouped: dict[tuple[str, str, str], list[Relation]] = defaultdict(list)
    for source, target, data in graph.edges(data=True):
        relation = Relation.model_validate(data)
        grouped[source, target, plain_relation(relation.relation)].append(relation)
    names = {node: entity_at(graph, node).names for node in graph}
    ways: dict[str, list[Hop]] = defaultdict(list)
    for (source, target, _), relations in grouped.items():
        if named(names[target], names[source][0]) is not None:
            continue
        ways[source].append(Hop(source, target, names[source], names[target], tuple(relations)))
    return dict(ways)


def reaches(ways: Ways, longest: int) -> list[frozenset[str]]:
    """Return for each number of hops from 0 to `longest` the nodes from which so many can be walked, if nodes
    may be visited twice."""
    nodes = {hop.target for hops in ways.values() for hop in hops} | set(ways)
    found = [frozenset(nodes)]
    for _ in range(longest):
        found.append(
            frozenset(node for node, hops in ways.items() if any(hop.target in found[-1] for hop in hops))
        )
    return found


@dataclass(frozen=True)
class Finder:
    """Finds where walks begin and how they can go on. Walks go to no node twice, and no single page has all
    of their hops."""

    ways: Ways
    reach: Sequence[frozenset[str]]
    seed: int

    @classmethod
    def of(cls, graph: MultiDiGraph, longest: int, seed: int) -> Finder:
        """Return the finder of a graph for walks of at most so many hops."""
        ways = ways_in(graph)
        return cls(ways, reaches(ways, longest), seed)

    def starts(self, graph: MultiDiGraph, hops: Sequence[int]) -> Iterator[tuple[str, int]]:
        """Yield where walks begin and how many hops they take, in turn for each number: nodes that have the
        most relations come first, equal ones in a random order, and each node once for a number."""
        drawn = random.Random(self.seed)
        rank = {node: (-graph.degree(node), drawn.random()) for node in sorted(graph)}
        left = {wanted: self._from(wanted, rank) for wanted in dict.fromkeys(hops)}
        for wanted in cycle(hops):
            if not left:
                return
            node = next(left.get(wanted, iter(())), None)
            if node is None:
                left.pop(wanted, None)
            else:
                yield node, wanted

    def _from(self, wanted: int, rank: Mapping[str, tuple[float, float]]) -> Iterator[str]:
        """Yield the nodes from which a walk of so many hops leads, in the order of their ranks."""
        for node in sorted(self.reach[wanted], key=rank.__getitem__):
            if next(self._onward((), node, wanted, [_STEPS]), None) is not None:
                yield node

    def choices(self, walked: Sequence[Hop], start: str, wanted: int) -> list[Hop]:
        """Return the hops, at most `MOST_CHOICES`, by which a walk can go on so that it has as many hops as
        are wanted in the end. Those that lead into another document come first."""
        documents = frozenset().union(*(hop.documents for hop in walked))
        drawn = random.Random(f"{self.seed} {walked[-1].target if walked else start}")
        onward = self._onward(walked, start, wanted, [_STEPS])
        keyed = [(bool(walked) and hop.documents <= documents, drawn.random(), hop) for hop in onward]
        return [hop for _, _, hop in sorted(keyed, key=lambda row: row[:2])][:MOST_CHOICES]

    def _onward(self, walked: Sequence[Hop], start: str, wanted: int, steps: list[int]) -> Iterator[Hop]:
        """Yield the hops after which the walk can be completed. When `steps` is used up, only the numbers of
        hops that lead on decide whether it can be."""
        seen = {start, *(hop.target for hop in walked)}
        pages = frozenset.intersection(*(hop.pages for hop in walked)) if walked else frozenset()
        left = wanted - len(walked) - 1
        for hop in self.ways.get(walked[-1].target if walked else start, ()):
            steps[0] -= 1
            if hop.target in seen or hop.target not in self.reach[left] or (not left and pages & hop.pages):
                continue
            further = (*walked, hop)
            if not left or steps[0] < 0 or next(self._onward(further, start, wanted, steps), None):
                yield hop
