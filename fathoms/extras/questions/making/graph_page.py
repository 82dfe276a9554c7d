"""The graph as a page: a picture of the entities with the most relations, and a table that can be searched.

The page is one file without links to others. Whatever documents or models said is escaped.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathoms.extras.questions.making.graph import DROPPED, Entity, entity_at, networkx_or_error
from fathoms.safety.scripts import script_hash

if TYPE_CHECKING:
    from networkx import MultiDiGraph

MOST = 300
"""The most entities in the picture."""
WIDTH, HEIGHT, MARGIN = 1000, 700, 40
_LABEL = 28


def graph_page(graph: MultiDiGraph) -> str:
    """Return the page as HTML."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    folder = Path(__file__).parent
    script = (folder / "graph_page.js").read_text(encoding="utf-8")
    entities = {node: entity_at(graph, node) for node in graph}
    places = _places(graph)
    environment = Environment(loader=FileSystemLoader(folder), autoescape=True, undefined=StrictUndefined)
    return environment.get_template("graph_page.html").render(
        script=Markup(script),
        script_hash=script_hash(script),
        entities=len(entities),
        documents=len(frozenset().union(*(one.documents for one in entities.values()))),
        dropped=sorted(graph.graph.get(DROPPED, {}).items()),
        nodes=[_node(graph, node, entities[node], places[node]) for node in places],
        edges=[
            {**_line(places[source], places[target]), "title": f"{data['relation']}: {data['quote']}"}
            for source, target, data in graph.edges(data=True)
            if source in places and target in places
        ],
        rows=[
            {**data, "source": entities[source].names[0], "target": entities[target].names[0]}
            for source, target, data in graph.edges(data=True)
        ],
    )


Point = tuple[float, float]


def _places(graph: MultiDiGraph) -> dict[str, Point]:
    """Return where the entities with the most relations stand in the picture, which is the same each time."""
    ranked = sorted((node for node in graph if graph.degree(node)), key=lambda node: -graph.degree(node))
    if not ranked:
        return {}
    networkx = networkx_or_error()
    drawn = networkx.Graph()
    drawn.add_nodes_from(ranked[:MOST])
    drawn.add_edges_from(ends for ends in graph.edges() if set(ends) <= set(ranked[:MOST]))
    found = networkx.spring_layout(drawn, seed=0, k=1.5 / len(drawn) ** 0.5)
    return {node: (_scaled(x, WIDTH), _scaled(y, HEIGHT)) for node, (x, y) in found.items()}


def _scaled(value: float, size: int) -> float:
    """Return a coordinate from -1 to 1 in the picture."""
    return round(MARGIN + (float(value) + 1) / 2 * (size - 2 * MARGIN), 1)


def _node(graph: MultiDiGraph, node: str, entity: Entity, place: Point) -> dict[str, Any]:
    """Return the drawing of an entity; the more relations it has, the larger it is."""
    name = entity.names[0]
    where = ", ".join(sorted({f"{one.document} p. {one.page}" for one in entity.mentions})[:10])
    return {
        "x": place[0],
        "y": place[1],
        "r": min(12, 3 + graph.degree(node)),
        "label": name if len(name) <= _LABEL else f"{name[: _LABEL - 1]}\u2026",
        "title": f"{', '.join(entity.names)} ({entity.kind}): {where}",
        "linking": len(entity.documents) > 1,
    }


def _line(one: Point, other: Point) -> dict[str, float]:
    """Return the ends of a line."""
    return {"x1": one[0], "y1": one[1], "x2": other[0], "y2": other[1]}
