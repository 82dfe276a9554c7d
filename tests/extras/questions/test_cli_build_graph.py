"""`fathoms build graph`: the graph of a question set in words, as JSON and as a page."""

from __future__ import annotations

import json
from pathlib import Path

import networkx
import pytest
import yaml

from fathoms.corpora import read_questions
from fathoms.extras.questions.making.graph import Entity, save
from fathoms.extras.questions.making.relations import Mention, Relation
from tests.extras.questions.building import recipe
from tests.support.project import Project, write_pdf
from tests.support.tower import BORN, COUNCIL, HOLM, ON, OSK, SCRIPT, TOWER


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


@pytest.mark.slow
def test_the_graph_of_a_set_is_shown_and_written_as_a_page(project: Project) -> None:
    done = project.fathoms("build", "graph", "set.json", "--html", "graph.html")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "3 entities, 1 of them in several documents; 2 relations",
        "      2 left out: relation with several targets",
        "  Holm: 2 relations",
        "  Osk: 1 relation",
        "  tower: 1 relation",
        "wrote graph.html",
    ]
    assert "<circle" in (project.path / "graph.html").read_text()
    again = project.fathoms("build", "graph", "set.json", "--html", "graph.html")
    assert again.returncode == 2
    assert "already exists" in again.stderr
    parsed = json.loads(project.fathoms("build", "graph", "set.build/graph.json", "--json").stdout)
    assert parsed == {
        "entities": 3,
        "relations": 2,
        "linking": 1,
        "most": {"Holm": 2, "Osk": 1, "tower": 1},
        "dropped": {"relation with several targets": 2},
    }


@pytest.mark.slow
def test_a_set_without_a_graph_says_how_to_get_one(project: Project) -> None:
    done = project.fathoms("build", "graph", "other.json")
    assert done.returncode == 2
    assert "there is no graph other.build/graph.json: a build makes one" in done.stderr


@pytest.mark.slow
def test_everything_else_makes_a_set(project: Project) -> None:
    for arguments in (
        ("--out", "set.json"),
        ("set", "a.pdf", "--out", "set.json"),
        ("a.pdf", "--out", "b.json"),
    ):
        done = project.fathoms("build", *arguments)
        assert done.returncode == 2, done.stderr
    assert "a model writes the questions: add --model" in done.stderr
    shown = project.fathoms("build", "--help").stdout
    assert "graph" in shown
    assert "What is made:" in shown


@pytest.mark.slow  # a whole build in a process of its own
def test_multi_hop_questions_are_made_of_pdfs_in_one_command(project: Project) -> None:
    """The graph leads from page to page over two documents; one question of two and one of three hops are
    wanted, and both are drafted from the entity with the most relations."""
    (project.path / "pdfs").mkdir()
    for name, pages in (("a.pdf", (TOWER, HOLM)), ("b.pdf", (OSK, COUNCIL))):
        write_pdf(project.path / "pdfs" / name, [page.replace("\n", " ") for page in pages])
    judged = {
        "need the answer of step": '{"reason": "", "needed": "yes"}',
        "Answer the question from": "I do not know. Confidence: 0.1",
    }
    found = {
        f"from these pages.*Question: {BORN}": "Osk",
        f"from these pages.*Question: {ON}": "the river Mell",
    }
    # each page gives the answers of the steps that it has the quotes of
    shown = r"\[(\d)\] Page [^[]*{}[^[]*.*Which of these.*Question: {}"
    said = r'{{"answers": [{{"passage": \1, "answer": "{}"}}]}}'
    fields = {
        shown.format("designed by Ada Holm", "Who designed"): said.format("Ada Holm"),
        shown.format("was born in Osk", "In which town"): said.format("Osk"),
        shown.format("Osk lies on", "On which river does Osk lie"): said.format("the river Mell"),
    }
    # the second sentence lacks the answer, so that question keeps the bare name
    long = {
        "born in Osk.*Write this answer as one full sentence": "Its architect, Ada Holm, was born in Osk.",
    }
    model = {
        "kind": "scripted",
        "patterns": long | found | fields,
        "replies": {**judged, **SCRIPT},
        "default": "?",
        "max_tokens": 1000,
    }
    settings = recipe(n=2, model=model, walks={"hops": [2, 3]}, unanswerable={"share": 0})
    project.write("recipe.yaml", yaml.safe_dump({"documents": ["pdfs"], **settings}, sort_keys=False))
    done = project.fathoms("build", "recipe.yaml", "--out", "made.json")
    assert done.returncode == 0, done.stderr
    result = {one.text: one for one in read_questions(project.path / "made.json").questions}
    assert set(result) == {BORN, ON}
    assert (result[BORN].short_answer, result[BORN].reference) == (
        "Osk",
        "Its architect, Ada Holm, was born in Osk.",
    )
    assert (result[ON].reference, result[ON].long_answer) == ("river Mell", None)
    assert [step.answer for step in result[ON].steps] == ["Ada Holm", "Osk", "river Mell"]
    assert [(one.document, one.page, one.step) for one in result[ON].evidence] == [
        ("a.pdf", 1, 1),
        ("a.pdf", 2, 2),
        ("b.pdf", 1, 3),
    ]
    graph = project.fathoms("build", "graph", "made.json")
    assert graph.stdout.startswith("8 entities, 2 of them in several documents; 7 relations")
