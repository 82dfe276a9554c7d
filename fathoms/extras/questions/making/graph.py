"""The graph of what documents say: entities, and relations that lead from one to exactly one other.

Double-Bench (Shen et al. 2025) makes its multi-hop questions by walks through such graphs. Entities are
merged over all pages of all documents, so one that stands in two documents links them.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from fathoms.errors import DataError, MissingExtraError
from fathoms.extras.questions.making.close_names import THRESHOLD, close_pairs
from fathoms.extras.questions.making.relations import Extracted, Mention, Relation
from fathoms.paths import write_atomic
from fathoms.runs.cache import Cache
from fathoms.safety.inputs import parse_json, read_text
from fathoms.text.folding import fold_words
from fathoms.types import StoredValue

if TYPE_CHECKING:
    from networkx import MultiDiGraph

    from fathoms.models import Embedder

FILE = "graph.json"
ITSELF = "relation of an entity to itself"
SEVERAL = "relation with several targets"
DROPPED = "dropped"
_KEYS = {"edges": "edges", "source": "from", "target": "to"}
"""Relations have fields `source` and `target` of their own."""
_ARTICLE = re.compile(r"^(the|an?) (?=\S{2})")
_AUXILIARY = frozenset({"is", "are", "was", "were", "be", "been", "has", "have", "had", "the", "a", "an"})
_OUTSIDE = re.compile(r"^[\W_]+|[\W_]+$")


class Entity(StoredValue):
    """An entity with all names that pages have for it, the most frequent one first, and its mentions."""

    kind: str
    names: Annotated[tuple[str, ...], Field(min_length=1)]
    mentions: tuple[Mention, ...]

    @property
    def documents(self) -> frozenset[str]:
        """The documents that name it."""
        return frozenset(one.document for one in self.mentions)


def merge(
    extracted: Extracted, embedder: Embedder, cache: Cache, threshold: float = THRESHOLD
) -> MultiDiGraph:
    """Return the graph of what was extracted. Mentions are one entity if their names are the same but for
    case, marks around them and an article, or close by their embeddings (`close_pairs`) and not of different
    kinds. Relations whose source and relation lead to several targets anywhere in the documents are left out.

    A node has the fields of `Entity`, and an edge those of `Relation`. `graph.graph["dropped"]` counts what
    was left out. Raises MissingExtraError without networkx.
    """
    by_name: dict[str, list[Mention]] = defaultdict(list)
    for one in extracted.mentions:
        by_name[plain(one.name)].append(one)
    leader = _leaders(by_name, embedder, cache, threshold)
    merged: dict[str, list[Mention]] = defaultdict(list)
    for name, mentions in by_name.items():
        merged[leader[name]] += mentions
    dropped = Counter(extracted.dropped)
    graph = networkx_or_error().MultiDiGraph()
    for name, mentions in merged.items():
        graph.add_node(name, **_entity(mentions).model_dump(mode="json"))
    for source, target, relation in _unique(extracted.relations, leader, dropped):
        graph.add_edge(source, target, **relation.model_dump(mode="json"))
    graph.graph[DROPPED] = dict(dropped)
    return graph


def plain(name: str) -> str:
    """Return a name without case, marks around it and an article."""
    folded = _OUTSIDE.sub("", fold_words(name, hyphens=True)) or fold_words(name, hyphens=True)
    return _ARTICLE.sub("", folded)


def plain_relation(text: str) -> str:
    """Return a relation without case, marks and words such as "is" and "the"."""
    words = re.findall(r"\w+", fold_words(text, hyphens=True))
    return " ".join([word for word in words if word not in _AUXILIARY] or words)


def entity_at(graph: MultiDiGraph, node: str) -> Entity:
    """Return the entity at a node."""
    return Entity.model_validate(graph.nodes[node])


def save(graph: MultiDiGraph, path: Path) -> None:
    """Write a graph as JSON in networkx' node-link form."""
    data = networkx_or_error().node_link_data(graph, **_KEYS)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, f"{json.dumps(data, ensure_ascii=False)}\n".encode())


def load(path: Path) -> MultiDiGraph:
    """Read a graph that `save` wrote. Raises DataError for anything else."""
    try:
        data = parse_json(read_text(path), str(path))
        graph = networkx_or_error().node_link_graph(data, directed=True, multigraph=True, **_KEYS)
        for node in graph:
            entity_at(graph, node)
        for _, _, edge in graph.edges(data=True):
            Relation.model_validate(edge)
        TypeAdapter(dict[str, int]).validate_python(graph.graph.get(DROPPED, {}))
    except ValidationError as error:
        raise DataError(f"{path}: not a graph of entities: {error.errors()[0]['msg']}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: not a graph of entities: {error!r}") from None
    return graph


def _leaders(
    by_name: Mapping[str, Sequence[Mention]], embedder: Embedder, cache: Cache, threshold: float
) -> dict[str, str]:
    """Return for each folded name the one that stands for its entity: the closest of those that are mentioned
    more often, or itself. A name that joined another stands for none, so that no chains arise."""
    names = sorted(by_name, key=lambda name: (-len(by_name[name]), name))
    near: dict[int, list[tuple[float, int]]] = defaultdict(list)
    for value, first, second in close_pairs(names, embedder, cache, threshold):
        near[second].append((-value, first))
    kinds = {name: _kind(mentions) for name, mentions in by_name.items()}
    found: dict[str, str] = {}
    for at, name in enumerate(names):
        leads = (names[other] for _, other in sorted(near[at]) if found[names[other]] == names[other])
        same = (lead for lead in leads if len({kinds[lead], kinds[name]} - {"other"}) < 2)
        found[name] = next(same, name)
    return found


def _kind(mentions: Sequence[Mention]) -> str:
    """Return the most frequent kind, "other" only where there is no other."""
    counts = Counter(one.kind for one in mentions if one.kind != "other")
    return counts.most_common(1)[0][0] if counts else "other"


def _entity(mentions: Sequence[Mention]) -> Entity:
    """Return the entity that these mentions name."""
    names = Counter(one.name for one in mentions)
    return Entity(
        kind=_kind(mentions), names=tuple(name for name, _ in names.most_common()), mentions=tuple(mentions)
    )


def _unique(
    relations: Iterable[Relation], leader: Mapping[str, str], dropped: Counter[str]
) -> list[tuple[str, str, Relation]]:
    """Return the relations that lead to one target, with their two nodes, and count the others."""
    ends = []
    targets: dict[tuple[str, str], set[str]] = defaultdict(set)
    for one in relations:
        source, target = leader[plain(one.source)], leader[plain(one.target)]
        if source == target:
            dropped[ITSELF] += 1
            continue
        targets[source, plain_relation(one.relation)].add(target)
        ends.append((source, target, one))
    unique = [
        end for end in dict.fromkeys(ends) if len(targets[end[0], plain_relation(end[2].relation)]) == 1
    ]
    if several := len(dict.fromkeys(ends)) - len(unique):
        dropped[SEVERAL] += several
    return unique


def networkx_or_error() -> Any:
    """Return networkx. Raises MissingExtraError without it."""
    try:
        import networkx
    except ImportError:
        raise MissingExtraError("networkx", "build", "making multi-hop questions") from None
    return networkx
