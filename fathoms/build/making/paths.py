"""The hops of a graph, and which nodes walks of some length can begin at."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING

from fathoms.build.making.graph import entity_at, plain_relation
from fathoms.build.making.relations import Relation
from fathoms.build.making.wording import named
from fathoms.types import Place

if TYPE_CHECKING:
    from networkx import MultiDiGraph

MOST_CHOICES = 10
"""The most neighbours that a model chooses among."""


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
    pages is one hop. No hop leads to an entity that stands in the
    name of its source, because no sub-question could name the one without the other."""
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


def starts(graph: MultiDiGraph, ways: Ways, hops: Sequence[int], seed: int) -> Iterator[tuple[str, int]]:
    """Yield where walks begin and how many hops they take, in turn for each number: nodes that have the most
    relations come first, equal ones in a random order, and each node once for a number."""
    reach = reaches(ways, max(hops))
    drawn = random.Random(seed)
    rank = {node: (-graph.degree(node), drawn.random()) for node in sorted(graph)}
    left = {wanted: iter(sorted(reach[wanted], key=rank.__getitem__)) for wanted in dict.fromkeys(hops)}
    for wanted in cycle(hops):
        if not left:
            return
        if wanted not in left:
            continue
        node = next(left[wanted], None)
        if node is None:
            del left[wanted]
        else:
            yield node, wanted


def choices(
    walked: Sequence[Hop], start: str, wanted: int, ways: Ways, reach: Sequence[frozenset[str]], seed: int
) -> list[Hop]:
    """Return the hops, at most `MOST_CHOICES`, by which a walk can go on: to no node twice, with as many hops
    after it as are still wanted, and for the last one, so that no single page has all hops. Those that lead
    into another document come first."""
    at = walked[-1].target if walked else start
    seen = {start, *(hop.target for hop in walked)}
    left = wanted - len(walked) - 1
    pages = frozenset.intersection(*(hop.pages for hop in walked)) if walked else frozenset()
    documents = frozenset().union(*(hop.documents for hop in walked))
    fitting = [
        hop
        for hop in ways.get(at, ())
        if hop.target not in seen and hop.target in reach[left] and (left or not pages & hop.pages)
    ]
    drawn = random.Random(f"{seed} {at}")
    keyed = [(bool(walked) and hop.documents <= documents, drawn.random(), hop) for hop in fitting]
    return [hop for _, _, hop in sorted(keyed, key=lambda row: row[:2])][:MOST_CHOICES]
