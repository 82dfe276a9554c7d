"""The funnel from the shell: of a run, again without the parser, and of answers from elsewhere."""

from __future__ import annotations

import json

import jsonschema
import pytest

from tests.support.project import Project
from tests.support.schemas import schema

pytestmark = pytest.mark.slow  # processes of their own


def test_a_run_says_where_its_answers_were_lost(project: Project) -> None:
    """By hand: the documents hold all three answers; the price of ore was in the prompt and not in the
    answer; nobody can be asked who owns the mine."""
    done = project.fathoms("run", "tiny.yaml")
    assert "most at the model" in done.stdout
    (row,) = project.json("report", "tiny")
    funnel = row["funnel"]
    assert funnel["left_out"] == {"unanswerable": 1}
    assert funnel["overall"]["documents"] == {
        "recall": 1.0,
        "n": 3,
        "lost": 0.0,
        "gained": 0.0,
        "compared": 3,
        "categories": 2,
        "compared_categories": 2,
    }
    assert funnel["overall"]["answer"]["recall"] == row["overall"]["correctness"]
    assert funnel["categories"]["Tables"]["answer"]["lost"] == 1.0

    view = project.json("show", "tiny", "--question", "tables-01")
    assert view["repeats"][0]["scores"]["fathoms"]["funnel"]["missed"] == {"17 crowns": "answer"}
    shown = project.fathoms("show", "tiny", "--question", "tables-01")
    assert "17 crowns: answer" in " ".join(shown.stdout.split())

    before = json.loads((project.runs()[0] / "summary.json").read_text())
    for path in (project.path / "pdfs").iterdir():
        path.unlink()  # scoring needs neither parser nor PDF
    assert project.fathoms("score", "tiny").returncode == 0
    assert json.loads((project.runs()[0] / "summary.json").read_text()) == before


def test_answers_from_elsewhere_are_given_their_documents(project: Project) -> None:
    rows = [
        {"id": "text-only-01", "answer": "41.5 m", "contexts": ["The Varn tower is 41.5 m tall."]},
        {"id": "text-only-02", "answer": "Red.", "contexts": ["The Varn tower is 41.5 m tall."]},
    ]
    project.write("answers.jsonl", "\n".join(map(json.dumps, rows)))
    command = ("import", "answers", "answers.jsonl", "--questions", "questions.json", "--partial")
    assert project.fathoms(*command, "--documents", "pdfs").returncode == 0
    (row,) = project.json("report", "answers")
    stages = row["funnel"]["categories"]["Text-Only"]
    assert [(stages[name]["recall"], stages[name]["lost"]) for name in stages] == [
        (1.0, 0.0),
        (0.5, 0.5),
        (None, None),  # what of it was in the prompt is not known
        (0.5, 0.0),
    ]
    assert row["funnel"]["estimate"].startswith("pdfium (pypdfium2 ")

    wrong = project.fathoms(*command, "--documents", "pdfs", "--parser", "pdfum")
    assert (wrong.returncode, "did you mean 'pdfium'" in wrong.stderr) == (2, True)
    assert project.fathoms(*command, "--documents", "nowhere").returncode == 2


def test_a_pipeline_of_ones_own_has_the_stage_of_an_assumed_parser(project: Project) -> None:
    """By hand: of the answers "41.5", "green" and "17 crowns", the documents hold all, and the pipeline found
    the first. What pypdfium2 cannot read says nothing of what the pipeline reads."""
    found = {"text": "The Varn tower is 41.5 m tall.", "document": "varn.pdf", "page": 1}
    project.write("own.py", f"def answer(question):\n    return {{'answer': 'So.', 'contexts': [{found}]}}\n")
    questions = json.loads((project.path / "questions.json").read_text())
    questions["Tables"].append({"question": "What is scanned?", "files": ["bad.pdf"], "answers": [["ink"]]})
    project.write("questions.json", json.dumps(questions))
    project.write("pdfs/bad.pdf", "no PDF")
    data = "data: {questions: questions.json, documents: pdfs}"
    project.write("own.yaml", f"{data}\npipeline: {{kind: python, target: 'own:answer'}}\n")
    done = project.fathoms("run", "own.yaml")
    assert done.returncode == 0, done.stderr
    note = "parser: assumed pdfium (pypdfium2 "
    assert note in " ".join(done.stdout.split())
    (row,) = project.json("report", "own")
    text, tables = (row["funnel"]["categories"][name] for name in ("Text-Only", "Tables"))
    assert [(text[name]["recall"], text[name]["n"]) for name in ("documents", "retrieved")] == [
        (1.0, 2),
        (0.5, 2),
    ]
    assert (text["retrieved"]["lost"], tables["documents"]["recall"], tables["documents"]["n"]) == (0.5, 1, 1)
    (run,) = project.runs()
    manifest = json.loads((run / "manifest.json").read_text())
    jsonschema.validate(manifest, schema("manifest"))
    (said,) = manifest["data"]["ingest"]["warnings"]["bad.pdf"]
    assert said.startswith("the assumed parser cannot read it: ")
    before = (run / "summary.json").read_bytes()
    for path in (project.path / "pdfs").iterdir():
        path.unlink()  # scoring parses nothing
    assert project.fathoms("score", "own").returncode == 0
    assert (run / "summary.json").read_bytes() == before
    for name in ("report.md", "report.html"):
        assert note in (run / name).read_text()


def test_the_first_stage_is_what_ingest_measures(project: Project) -> None:
    """One implementation, two ways to it; and what `max_chars` cuts off is a loss of the prompt."""
    project.write(
        "whole.yaml",
        "data: sample\nretrieve: {kind: whole-document, max_chars: 3000}\n"
        "generate: {kind: scripted, echo: true}\n",
    )
    recall = project.json("ingest", "whole.yaml", "--recall")["recall"]
    assert project.fathoms("run", "whole.yaml").returncode == 0
    funnel = project.json("report", "whole")[0]["funnel"]
    assert recall["overall"]["n"] > 30
    stages = {"Overall": funnel["overall"], **funnel["categories"]}
    for name, figures in {"Overall": recall["overall"], **recall["categories"]}.items():
        found = stages[name]
        assert (found["documents"]["recall"], found["documents"]["n"]) == (figures["recall"], figures["n"])
    assert (funnel["left_out"], funnel["chance"]) == (recall["left_out"], recall["chance"])
    assert funnel["overall"]["retrieved"]["lost"] == 0.0
    assert funnel["overall"]["prompt"]["lost"] > 0.2
