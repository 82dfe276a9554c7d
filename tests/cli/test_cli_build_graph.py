"""`fathoms build graph`: the graph of a question set in words, as JSON and as a page."""

from __future__ import annotations

import json
from pathlib import Path

import networkx
import pytest

from fathoms.build.making.graph import Entity, save
from fathoms.build.making.relations import Mention, Relation
from tests.support.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A set whose graph leads from the tower to Holm, and from there to Osk, which two documents name."""
    graph = networkx.MultiDiGraph()
    graph.graph["dropped"] = {"relation with several targets": 2}
    for name, documents in (("tower", "a"), ("Holm", "a"), ("Osk", "ab")):
        mentions = tuple(
            Mention(name=name, kind="other", document=f"{one}.pdf", page=1, component="c")
            for one in documents
        )
        graph.add_node(name.lower(), **Entity(kind="other", names=(name,), mentions=mentions).model_dump())
    for source, target in (("tower", "Holm"), ("Holm", "Osk")):
        relation = Relation(
            source=source,
            relation="leads to",
            target=target,
            quote=target,
            document="a.pdf",
            page=1,
            component="c",
        )
        graph.add_edge(source.lower(), target.lower(), **relation.model_dump(mode="json"))
    save(graph, tmp_path / "set.build" / "graph.json")
    return Project(tmp_path)


def test_the_graph_of_a_set_is_shown_and_written_as_a_page(project: Project) -> None:
    done = project.fathoms("build", "graph", "set.json", "--html", "graph.html")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "3 entities, 1 of them in several documents; 2 relations",
        "      2 left out: relation with several targets",
        "      2 relations of Holm",
        "      1 relations of Osk",
        "      1 relations of tower",
        "wrote graph.html",
    ]
    assert "<circle" in (project.path / "graph.html").read_text()
    again = project.fathoms("build", "graph", "set.json", "--html", "graph.html")
    assert again.returncode == 2
    assert "already exists" in again.stderr
    told = json.loads(project.fathoms("build", "graph", "set.build/graph.json", "--json").stdout)
    assert told == {
        "entities": 3,
        "relations": 2,
        "linking": 1,
        "most": {"Holm": 2, "Osk": 1, "tower": 1},
        "dropped": {"relation with several targets": 2},
    }


def test_a_set_without_a_graph_says_how_to_get_one(project: Project) -> None:
    done = project.fathoms("build", "graph", "other.json")
    assert done.returncode == 2
    assert "there is no graph other.build/graph.json: a build makes one" in done.stderr


def test_everything_else_makes_a_set(project: Project) -> None:
    for arguments in (
        ("--out", "set.json"),
        ("set", "a.pdf", "--out", "set.json"),
        ("a.pdf", "--out", "b.json"),
    ):
        done = project.fathoms("build", *arguments)
        assert done.returncode == 2, done.stderr
    assert "a model writes the questions: add --model" in done.stderr
    assert "graph" in project.fathoms("build", "--help").stdout
