"""The page of a graph: everything is escaped, nothing is loaded, and it is the same each time."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import networkx

from fathoms.extras.questions.making.graph import Entity
from fathoms.extras.questions.making.graph_page import MOST, graph_page
from fathoms.extras.questions.making.relations import Mention, Relation

EVIL = "<script>alert(1)</script>\"' & {{ 7 * 7 }}"


def graph_of(number: int, *, evil: bool = False) -> networkx.MultiDiGraph:
    """A ring of entities, of which the first stands in two documents."""
    graph = networkx.MultiDiGraph()
    graph.graph["dropped"] = {EVIL if evil else "relation with several targets": 2}
    for at in range(number):
        name = f"{EVIL} {at}" if evil else f"Entity {at}"
        documents = ("a.pdf", "b.pdf") if at == 0 else ("a.pdf",)
        mentions = tuple(
            Mention(name=name, kind="other", document=one, page=1, component="c") for one in documents
        )
        graph.add_node(f"n{at}", **Entity(kind="other", names=(name,), mentions=mentions).model_dump())
    for at in range(number):
        text = EVIL if evil else "leads to"
        relation = Relation(
            source="s", relation=text, target="t", quote=text, document="a.pdf", page=at + 1, component="c"
        )
        graph.add_edge(f"n{at}", f"n{(at + 1) % number}", **relation.model_dump())
    return graph


class Tags(HTMLParser):
    """The tags of a page with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.found)


def test_the_page_shows_entities_and_relations() -> None:
    page = graph_page(graph_of(5))
    tags = Tags(page)
    assert (tags.count("circle"), tags.count("line"), tags.count("tr")) == (5, 5, 6)
    assert "5 entities, 5 relations, 2 documents. Left out: 2 x relation with several targets." in page
    assert sum("linking" in (attributes.get("class") or "") for _, attributes in tags.found) == 1
    assert page == graph_page(graph_of(5))
    points = [(float(a["cx"] or 0), float(a["cy"] or 0)) for tag, a in tags.found if tag == "circle"]
    assert all(0 < x < 1000 and 0 < y < 700 for x, y in points)
    assert len(set(points)) == 5


def test_whatever_documents_say_is_escaped_and_nothing_is_loaded() -> None:
    page = graph_page(graph_of(3, evil=True))
    tags = Tags(page)
    assert tags.count("script") == 1
    assert "{{ 7 * 7 }}" in page
    assert not any(key in attributes for _, attributes in tags.found for key in ("src", "href", "onload"))
    assert re.search(r"script-src 'sha256-[\w+/]{43}='", page)


def test_only_the_best_connected_are_drawn_and_all_are_in_the_table() -> None:
    tags = Tags(graph_page(graph_of(MOST + 50)))
    assert (tags.count("circle"), tags.count("tr")) == (MOST, MOST + 51)


def test_an_empty_graph_is_a_page_too() -> None:
    assert "0 entities, 0 relations, 0 documents." in graph_page(networkx.MultiDiGraph())
