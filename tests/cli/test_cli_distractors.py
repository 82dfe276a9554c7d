"""`fathoms run --settings gold,gold+distractors,distractors`: readers of which every figure is known."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.project import Project, write_pdf
from tests.support.report_page import unpacked

pytestmark = pytest.mark.slow  # a matrix of runs for each test

# Each question has one gold page and two others that share more words with it and do not answer it.
GOLD = {"tower": "Varn tower: 41.5 m.", "door": "Varn door: green.", "ore": "Lune ore: 17 crowns."}
DECOYS = {
    "tower": "How tall is the Varn tower, and how tall was the tower before?",
    "door": "Which colour has the Varn door, and which colour had the door?",
    "ore": "What does the ore of Lune cost, and what did the ore cost then?",
}
FIELDS = {
    "tower": ("How tall is the tower?", "41.5"),
    "door": ("Which colour has the door?", "green"),
    "ore": ("What does the ore cost?", "17 crowns"),
}
CONFIG = """\
name: tiny
data: {questions: questions.jsonl, documents: pdfs}
chunk: {kind: page}
retrieve: {kind: distractors, retriever: {kind: bm25}, distractors: 2}
generate: {kind: scripted, replies: {REPLIES}}
"""
READS = {answer: f"It is {answer}." for _, answer in FIELDS.values()}
SETTINGS = "gold,gold+distractors,distractors"


@pytest.fixture
def robust(project: Project) -> Project:
    """Three documents of three pages: a decoy, the gold, and another decoy."""
    questions = []
    for name, (text, answer) in FIELDS.items():
        write_pdf(project.path / "pdfs" / f"{name}.pdf", [DECOYS[name], GOLD[name], DECOYS[name] + " No."])
        evidence = [{"document": f"{name}.pdf", "page": 2}]
        questions.append({"id": name, "question": text, "answers": [[answer]], "evidence": evidence})
    project.write("questions.jsonl", "\n".join(map(json.dumps, questions)))
    return project


def run(project: Project, replies: dict[str, str], *arguments: str) -> dict[str, Any]:
    """Run the settings with a model of these replies; returns the table of the report."""
    project.write("tiny.yaml", CONFIG.replace("{REPLIES}", json.dumps(replies)))
    done = project.fathoms("run", "tiny.yaml", *arguments)
    assert done.returncode == 0, done.stderr
    latest = json.loads((project.runs()[-1] / "manifest.json").read_text())["sweep"]["id"]
    sweep = [path for path in project.runs() if latest in (path / "manifest.json").read_text()]
    report = project.json("report", *(path.name for path in sweep))
    return {"shown": " ".join(done.stdout.split()), **report[0]}


def shares(table: dict[str, Any]) -> dict[str, float]:
    return {row["setting"]: row["correct"]["value"] for row in table["rows"] if row["group"] == "all"}


def test_a_reader_of_gold_is_not_distracted_and_abstains_without_it(robust: Project) -> None:
    report = run(robust, READS, "--settings", SETTINGS)
    table = report["settings"]
    assert shares(table) == {"gold": 1, "gold+distractors": 1, "distractors": 0}
    assert (table["gap"]["value"], table["gap"]["n"]) == (0, 3)
    assert table["gap"]["low"] < 0 < table["gap"]["high"], "three questions show little"
    assert table["abstained_under_distractors"]["value"] == 1
    assert "GPD - GO gap: 0.00 [" in report["shown"]
    assert "abstained with distractors alone: 1.00 [" in report["shown"]
    manifests = [json.loads((path / "manifest.json").read_text()) for path in robust.runs()]
    assert [one["distractors"]["mode"] for one in manifests] == [
        "gold-only",
        "gold-plus-distractors",
        "distractors-only",
    ]
    assert [one["distractors"]["number"] for one in manifests] == [0, 2, 2]
    [markdown] = robust.path.glob("runs/reports/*/report.md")
    assert "2 distractors a question, the most similar chunks without gold by bm25" in markdown.read_text()


def test_a_reader_that_believes_the_decoys(robust: Project) -> None:
    """It answers by a decoy wherever it sees one, so that all is lost that gold alone wins."""
    fooled = {"before?": "It is 99 m.", "had the door": "Red.", "cost then": "9 crowns.", **READS}
    table = run(robust, fooled, "--settings", SETTINGS)["settings"]
    assert shares(table) == {"gold": 1, "gold+distractors": 0, "distractors": 0}
    assert table["gap"]["value"] == -1
    bounded = robust.json("gate", "latest", "--min", "gpd-go-gap=-0.1", code=100)
    assert [(one["found"], one["questions"]) for one in bounded["limits"]] == [(-1.0, 3)]
    assert table["abstained_under_distractors"]["value"] == 0
    judged, plain = (path.name for path in robust.runs()[1:])
    first = robust.runs()[0].name
    robust.write("judge.yaml", '{kind: scripted, labels_by: {It is: "9"}}')
    judging = ("--metric", "correctness-judged", "--judge", "judge.yaml")
    assert robust.fathoms("score", first, judged, *judging).returncode == 0
    bounded = robust.json("gate", plain, "--min", "gpd-go-gap=-0.1", code=100)
    assert bounded["limits"][0]["found"] == -1, "a run without grades of the judge has the gap by phrases"


def test_a_retriever_is_put_into_the_settings_or_refused(robust: Project) -> None:
    table = run(robust, READS, "--set", "retrieve={kind: bm25}", "--settings", "gold,gold+distractors")
    assert table["settings"]["gap"]["value"] == 0
    assert table["settings"]["abstained_under_distractors"] is None
    graded = "retrieve={kind: rerank, first: {kind: bm25}, by: {kind: llm, generate: {kind: scripted}}}"
    again = run(robust, READS, "--set", graded, "--settings", "gold,distractors")
    assert shares(again["settings"]) == {"gold": 1, "distractors": 0}
    refused = robust.fathoms("run", "tiny.yaml", "--set", "retrieve={kind: none}", "--settings", "gold")
    assert refused.returncode == 2
    assert "a retriever that ranks all chunks" in " ".join(refused.stderr.split())


FIRST = {  # what stands first in the context is all that it reads
    f"Context:\n[{name}.pdf, page 2]": f"It is {answer}." for name, (_, answer) in FIELDS.items()
}


def positions(project: Project, replies: dict[str, str], *arguments: str) -> dict[str, Any]:
    return run(project, replies, "--matrix", "retrieve.position=first,middle,last,shuffled", *arguments)


def test_a_reader_of_the_first_context_has_a_position_gap_of_one(robust: Project) -> None:
    report = positions(robust, FIRST, "--set", "retrieve.seed=1")
    found = report["positions"]
    correct = {row["position"]: row["correct"]["value"] for row in found["rows"]}
    assert correct.pop("shuffled") < 1
    assert correct == {"first": 1, "middle": 0, "last": 0}
    gap = found["position-gap"]["2"]
    assert (gap["value"], gap["n"], gap["chosen"]) == (1, 1, ["first", "middle"])
    assert "position-gap with 2 distractors: +1.00 [" in report["shown"]
    first, *_, last = (path.name for path in robust.runs())
    bounded = robust.json("gate", last, "--max-rate", "position-gap=0.2", code=100)
    assert [(one["found"], one["questions"]) for one in bounded["limits"]] == [(1.0, 1)]
    broken = robust.path / "runs" / "20200101T000000000Z_broken_0123456"
    broken.mkdir()
    (broken / "manifest.json").write_text("{")
    [test] = robust.json("compare", first, last, "--metric", "position-gap")["tests"]
    assert (test["overall"]["first"], test["overall"]["second"]) == (1.0, 1.0), "one figure of four runs"


def test_a_reader_of_all_contexts_has_no_position_gap(robust: Project) -> None:
    gap = positions(robust, READS)["positions"]["position-gap"]["2"]
    assert (gap["value"], gap["low"] < 0 < gap["high"]) == (0, True)
    bounded = robust.json("gate", "latest", "--max-rate", "position-gap=0.2")
    assert [one["found"] for one in bounded["limits"]] == [0.0]
    alone = robust.fathoms("gate", "latest", "--min", "gpd-go-gap=0")
    assert alone.returncode == 2
    assert "--settings gold,gold+distractors" in " ".join(alone.stderr.split())


def test_curves_over_the_number_of_contexts(robust: Project) -> None:
    """The reader of the first context sees gold alone, and then whatever stands first."""
    matrix = ["--matrix", "retrieve.position=first,last", "--matrix", "retrieve.distractors=0,1,2"]
    report = run(robust, FIRST, *matrix)
    rows = [(r["position"], r["distractors"], r["correct"]["value"]) for r in report["positions"]["rows"]]
    assert rows == [
        *[("first", 0, 1), ("last", 0, 1)],
        *[("first", 1, 1), ("last", 1, 0)],
        *[("first", 2, 1), ("last", 2, 0)],
    ]
    assert {n: gap["value"] for n, gap in report["positions"]["position-gap"].items()} == {
        "1": 1,
        "2": 1,
    }
    [page] = robust.path.glob("runs/reports/*/report.html")
    [chart] = [one["chart"] for one in unpacked(page.read_text())[0]["sections"]]
    assert chart["axis"] == "Distractors beside the gold"
    assert {
        name: [points[t]["value"] for t in chart["ticks"]] for name, points in chart["lines"].items()
    } == {
        "gold first": [1, 1, 1],
        "gold last": [1, 0, 0],
    }


def test_gold_that_is_cut_off_is_said(robust: Project) -> None:
    """With room for two chunks, the gold that stands last is not in the prompt."""
    matrix = ["--matrix", "retrieve.position=first,last", "--set", "generate.context_window=314"]
    report = run(robust, READS, *matrix)
    assert "the gold stands in fewer prompts of some runs than of others" in report["shown"]
