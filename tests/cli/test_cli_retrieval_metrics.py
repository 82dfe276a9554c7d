"""Retrieval metrics from the shell: of a run, of imported answers, with ids that match, and with others."""

from __future__ import annotations

import json

import pytest

from fathoms.metrics.registry import sets
from tests.support.project import QUESTIONS, Project

GOLD = {
    "How tall is the Varn tower?": 1,
    "Which colour is the Varn door?": 2,
    "What does ore cost in Lune?": 1,
}


def with_gold_pages(project: Project) -> None:
    result = {
        category: [
            {**row, "evidence": [{"document": row["files"][0], "page": GOLD[row["question"]]}]}
            for row in rows
            if row["question"] in GOLD
        ]
        for category, rows in QUESTIONS.items()
    }
    project.write("questions.json", json.dumps(result))


def imported(project: Project, contexts: list[list[dict[str, object]]]) -> dict[str, object]:
    ids = ("text-only-01", "text-only-02", "tables-01")
    rows = [
        {"id": name, "answer": "41.5", "contexts": [{"text": "words", **one} for one in own]}
        for name, own in zip(ids, contexts, strict=True)
    ]
    project.write("answers.jsonl", "\n".join(map(json.dumps, rows)))
    done = project.fathoms("import", "answers", "answers.jsonl", "--questions", "questions.json")
    assert done.returncode == 0, done.stderr
    (row,) = project.json("report", "answers")
    return row


@pytest.mark.slow
def test_every_run_with_gold_pages_has_the_set_retrieval(project: Project) -> None:
    with_gold_pages(project)
    done = project.fathoms("run", "tiny.yaml", "--all")
    assert "hit@1 ↑" in done.stdout
    (row,) = project.json("report", "tiny")
    assert {name for name in row["metrics"] if "@" in name} == set(sets()["retrieval"])
    scored = project.fathoms("score", "tiny", "--metric", "recall@2", "--metric", "document-mrr@5")
    assert scored.returncode == 0
    # what was asked for is shown, even if the run retrieved fewer hits
    assert {"recall@2", "document-mrr@5"} <= set(scored.stdout.split())
    (row,) = project.json("report", "tiny", "--metric", "recall@2")
    assert row["metrics"]["document-mrr@5"]["overall"]["n"] == 3
    assert "\n| recall&#64;2 ↑ |" in (project.runs()[0] / "report.md").read_text()
    project.write("none.yaml", project.config.read_text().replace("{kind: dense, top_k: 1}", "{kind: none}"))
    assert project.fathoms("run", "none.yaml", "--set", "name=closed").returncode == 0
    (row,) = project.json("report", "closed")
    assert not [name for name in row["metrics"] if "@" in name], "without a retriever, nothing is measured"
    refused = project.fathoms("score", "closed", "--metric", "hit@5")
    assert refused.returncode == 1
    assert "hit@5 needs retrieved chunks, which no record of this run has" in refused.stderr


@pytest.mark.slow
def test_imported_answers_are_measured_by_the_pages_of_their_contexts(project: Project) -> None:
    """By hand: the first question finds its page at rank 1, the second at rank 2, the third does not."""
    with_gold_pages(project)
    row = imported(
        project,
        [
            [{"document": "varn.pdf", "page": 1}],
            [{"document": "varn.pdf", "page": 1}, {"document": "varn.pdf", "page": 2}],
            [{"document": "varn.pdf", "page": 1}, {"document": "lune.pdf"}],
        ],
    )
    found = row["metrics"]["mrr@10"]
    assert (found["overall"]["value"], found["micro"]["value"]) == ((0.75 + 0) / 2, 1.5 / 3)
    assert row["metrics"]["hit@1"]["micro"]["value"] == 1 / 3
    assert found["counted"] == {"retrieved chunks without a page": 1}


@pytest.mark.slow
def test_ids_that_no_question_names_are_a_warning_and_no_silent_zero(project: Project) -> None:
    with_gold_pages(project)
    row = imported(project, [[{"document": f"chunk-{number}", "page": 1}] for number in range(3)])
    assert row["metrics"]["hit@5"]["overall"]["value"] == 0
    (run,) = project.runs()
    (warning,) = json.loads((run / "summary.json").read_text())["warnings"]
    assert "none of the 3 retrieved documents is one of the 2 that the questions name" in warning
    assert "the hits name 'chunk-0', the questions 'lune.pdf'" in warning
