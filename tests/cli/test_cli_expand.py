"""`retrieve: {kind: expand}` in whole commands: what is recorded, counted, warned of and estimated."""

from __future__ import annotations

import json

import pytest

from fathoms.runs.run import Run
from tests.support.project import Project
from tests.support.report_page import unpacked

pytestmark = pytest.mark.slow  # processes of their own

EXPANDED = (
    "retrieve={kind: expand, retriever: {kind: dense, top_k: 2}, top_k: 1, prompt: '{question}',"
    " generate: {kind: scripted, max_tokens: 9, price: {input: 1000, output: 5000},"
    " replies: {tall: '[\"painted green\"]'}, default: no idea}}"
)


def test_a_run_with_expansion(project: Project) -> None:
    done = project.fathoms("run", "tiny.yaml", "--set", EXPANDED)
    assert done.returncode == 0, done.stderr
    (path,) = project.runs()
    records = {record.question.text: record for record in Run(path).records.all()}
    tall = records["How tall is the Varn tower?"]
    assert [one.query for one in tall.rounds] == ["How tall is the Varn tower?", "painted green"]
    assert [one.calls for one in tall.rounds] == [1, 0]
    assert tall.rounds[1].hits[0].chunk.pages == (2,)
    assert list(tall.timings) == ["retrieve", "expand", "prompt", "generate"]
    ore = records["What does ore cost in Lune?"]
    assert ([one.query for one in ore.rounds], ore.calls[0].unread) == ([ore.question.text], True)
    assert ore.hits is not None
    assert ore.hits[0].chunk.document == "lune.pdf"
    summary = json.loads((path / "summary.json").read_text())
    warning = "the search texts for 3 of 4 answers could not be read from the reply of retrieve.generate"
    assert [line.partition(":")[0] for line in summary["warnings"]] == [warning]
    assert warning.split(" could")[0] in " ".join((done.stdout + done.stderr).split())
    # 6 + 6 + 6 + 5 words of questions; replies of 2 words each
    spent = summary["usage_by_purpose"]["expand"]
    assert (spent["calls"], spent["prompt_tokens"], spent["completion_tokens"]) == (4, 23, 8)
    assert spent["cost"] == pytest.approx(23 * 0.001 + 8 * 0.005)
    assert summary["seconds"]["expand"] >= 0
    planned = project.fathoms("run", "tiny.yaml", "--set", EXPANDED, "--dry-run")
    assert "  expand: 4 requests, about 59 tokens (23 of prompts, 36 of replies)" in planned.stdout
    searched = project.fathoms("run", "tiny.yaml", "--set", EXPANDED, "--retrieval-only")
    assert searched.returncode == 0, searched.stderr
    again = {record.question.text: record for record in Run(project.runs()[-1]).records.all()}
    assert again[tall.question.text].rounds == tall.rounds
    assert list(again[tall.question.text].timings) == ["retrieve", "expand"]
    limited = project.fathoms("run", "tiny.yaml", "--set", EXPANDED, "--max-cost", "0.01")
    assert "generate.price" in limited.stderr  # the price of the answering model is not known


def test_a_run_with_degraded_retrieval(project: Project) -> None:
    """Of two gold pages one is removed; a limit changes neither the hits nor what the manifest says."""
    questions = json.loads((project.path / "questions.json").read_text())
    del questions["Text-Only"][1]
    for question in (questions["Text-Only"][0], questions["Tables"][0]):
        question["evidence"] = [{"document": question["files"][0], "page": 1}]
    project.write("questions.json", json.dumps(questions))
    degraded = "retrieve={kind: degrade, recall: 0.5, retriever: {kind: dense, top_k: 1}}"
    for options in ((), ("--limit", "1"), ("--limit", "1", "--retrieval-only")):
        done = project.fathoms("run", "tiny.yaml", "--set", degraded, *options)
        assert done.returncode == 0, done.stderr
    whole, limited, searched = project.runs()
    manifests = [json.loads((path / "manifest.json").read_text()) for path in project.runs()]
    expected = {"wanted": 0.5, "before": 1.0, "reached": 0.5, "questions": 2}
    assert [one["degraded"] for one in manifests] == [expected] * 3
    hits = {record.question.id: record.hits for record in Run(whole).records.all()}
    for path in (limited, searched):
        (wanted,) = Run(path).records.all()
        assert wanted.hits == hits[wanted.question.id]
    said = "recall of gold pages over the 2 questions of the data set is 0.500, and 1.000 without"
    assert said in " ".join((done.stdout + done.stderr).split())
    assert said in (whole / "report.md").read_text()
    overview, _ = unpacked((whole / "report.html").read_text())
    assert said in json.dumps(overview)
