"""What another retriever found, from the shell: in, scored, out, and in again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.project import Project

SAMPLES = Path(__file__).parents[1] / "importers" / "samples"
QUESTIONS = [
    {"id": "q 1", "question": "How tall?", "evidence": [{"document": "a log.pdf", "page": 2}]},
    {"id": "q2", "question": "Who?", "evidence": [{"document": "b.pdf", "page": 1}]},
]
HITS = [
    {
        "id": "q 1",
        "hits": [{"document": "b.pdf", "page": 1, "score": 2.5}, {"document": "a log.pdf", "page": 2}],
    },
    {"id": "q2", "hits": [{"document": "b.pdf", "page": 1, "score": 0.5}]},
]


@pytest.fixture
def found(project: Project) -> Project:
    """A project with questions and hits."""
    for name, rows in (("questions.jsonl", QUESTIONS), ("hits.jsonl", HITS)):
        project.write(name, "".join(json.dumps(row) + "\n" for row in rows))
    return project


def test_hits_go_in_and_out(found: Project) -> None:
    done = found.fathoms("import", "hits", "hits.jsonl", "--questions", "questions.jsonl")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("hits: 2 of 2 questions: OK\n")

    done = found.fathoms("export", "trec", "latest", "--to", "trec")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["trec/run.trec", "trec/qrels.trec", "trec/questions.jsonl"]
    assert (found.path / "trec" / "run.trec").read_text().splitlines() == [
        "q%201 Q0 b.pdf#page=1 1 2.5 hits",
        "q%201 Q0 a%20log.pdf#page=2 2 0.5 hits",
        "q2 Q0 b.pdf#page=1 1 0.5 hits",
    ]
    assert found.fathoms("export", "trec", "latest", "--to", "trec").returncode == 2
    assert found.fathoms("export", "trec", "latest", "--level", "pages").returncode == 2

    done = found.fathoms("import", "trec", "trec/run.trec", "--qrels", "trec/qrels.trec")
    assert done.returncode == 0, done.stderr
    done = found.fathoms("export", "beir", "latest", "--to", "beir")
    assert json.loads((found.path / "beir" / "results" / "run.json").read_text()) == {
        "q%201": {"b.pdf#page=1": 2.5, "a%20log.pdf#page=2": 0.5},
        "q2": {"b.pdf#page=1": 0.5},
    }


def test_a_part_of_the_rows_ends_with_one(found: Project) -> None:
    found.write("hits.jsonl", json.dumps(HITS[0]))
    call = ("import", "hits", "hits.jsonl", "--questions", "questions.jsonl")
    done = found.fathoms(*call)
    assert done.returncode == 1
    assert done.stdout.endswith("hits: 1 of 2 questions: PARTIAL\n")
    assert "1 of 2 questions were not searched for: q2" in done.stderr
    assert found.fathoms(*call, "--partial").returncode == 0

    rows = (SAMPLES / "ragas-dataset.jsonl").read_text() + '{"user_input": []}\n'
    found.write("ragas.jsonl", rows)
    done = found.fathoms("import", "ragas", "ragas.jsonl")
    assert done.returncode == 1
    assert "ragas.jsonl:4: left out: 'user_input' is a conversation" in done.stderr
    assert done.stdout.endswith("ragas: 3 of 3 questions, and 1 rows without use: PARTIAL\n")


def test_results_of_other_tools_keep_their_scores(found: Project) -> None:
    done = found.fathoms("import", "promptfoo", str(SAMPLES / "promptfoo.json"))
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if "scores in the file" in line]
    assert lines == [
        f"promptfoo-{name}: scores in the file, as means over rows: {scores}"
        for name, scores in (
            ("echo", "has_number 1 (1), score 0.667 (3), success 0.667 (3), names_builder 0 (1)"),
            ("rag", "has_number 1 (1), score 0.5 (2), success 0.5 (2), names_builder 0 (1)"),
        )
    ]
    done = found.fathoms("import", "inspect", str(SAMPLES / "inspect.json"), "--name", "mock")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("mock: 2 of 2 questions: OK\n")
    assert found.fathoms("import", "inspect", "hits.jsonl", "--contexts", "$[").returncode == 2
