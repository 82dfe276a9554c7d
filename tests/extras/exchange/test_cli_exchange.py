"""What another retriever found, from the shell: in, scored, out, and in again."""

from __future__ import annotations

import json
import random
import re
from math import log2
from pathlib import Path
from typing import Any

import pytest

from fathoms.runs.run import Run
from tests.support.otlp_receiver import otlp_receiver
from tests.support.project import Project

SAMPLES = Path(__file__).parent / "samples"
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
AT = {
    "hit@1": "Success@1",
    "hit@3": "Success@3",
    "hit@5": "Success@5",
    "recall@10": "R@10",
    "mrr@10": "RR@10",
    "ndcg@10": "nDCG@10",
}


@pytest.fixture
def found(project: Project) -> Project:
    """A project with questions and hits."""
    for name, rows in (("questions.jsonl", QUESTIONS), ("hits.jsonl", HITS)):
        project.write(name, "".join(json.dumps(row) + "\n" for row in rows))
    return project


@pytest.mark.slow
def test_hits_go_in_and_out(found: Project) -> None:
    done = found.fathoms("import", "hits", "hits.jsonl", "--questions", "questions.jsonl")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("hits: 2 of 2 questions: OK\n")
    # the gold page is first for one of the two questions; all metrics of retrieval stand in their group
    assert re.search(r"recall@1 .*\nhits +0.50 \[0.03, 0.97\] +2 ", done.stdout)
    assert "hit@1" in found.fathoms("show", "hits", "--only", "metrics").stdout
    (row,) = found.json("report", "latest")
    # the gold page is second for one question, and first for the other
    assert {name: row["metrics"][name]["overall"]["value"] for name in AT} == pytest.approx(
        {
            "hit@1": 0.5,
            "hit@3": 1,
            "hit@5": 1,
            "recall@10": 1,
            "mrr@10": 0.75,
            "ndcg@10": (1 + 1 / log2(3)) / 2,
        }
    )

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


@pytest.mark.slow
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
    assert done.stdout.endswith("ragas: 3 of 3 questions, and 1 row without use: PARTIAL\n")


@pytest.mark.slow
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


def random_rows(count: int) -> tuple[list[Any], list[Any]]:
    """Questions with up to four gold pages of different relevance, and their hits.

    There are several chunks of a page, chunks on two pages, hits without a page (never all of them, because
    the figures of pages are then unknown), and questions that found nothing. No two scores are equal.
    """
    draw = random.Random(21)
    documents = ["a log.pdf", "papers/b.pdf", "c#1.pdf"]
    questions, rows = [], []
    for number in range(count):
        gold = {(draw.choice(documents), draw.randint(1, 12)) for _ in range(draw.randint(1, 4))}
        evidence = [
            {"document": document, "page": page, "relevance": draw.randint(1, 3)}
            for document, page in sorted(gold)
        ]
        questions.append({"id": f"q {number}", "question": f"What is {number}?", "evidence": evidence})
        scores = sorted(draw.sample(range(10_000), draw.randint(0, 12)), reverse=True)
        hits = []
        for score in scores:
            page = draw.randint(1, 12)
            pages = draw.choice(([page], [page], [page, page + 1], [])) if hits else [page]
            hits.append({"document": draw.choice(documents), "pages": pages, "score": score / 7})
        rows.append({"id": f"q {number}", "hits": hits})
    return questions, rows


@pytest.mark.slow
def test_a_random_run_has_the_figures_of_ir_measures(found: Project) -> None:
    """The files are read by ir_measures itself. Chunks on two pages give both the score of one hit, so ranks
    stand for scores."""
    import ir_measures  # which imports pandas

    for name, rows in zip(("questions.jsonl", "hits.jsonl"), random_rows(2000), strict=True):
        found.write(name, "".join(json.dumps(row) + "\n" for row in rows))
    done = found.fathoms("import", "hits", "hits.jsonl", "--questions", "questions.jsonl")
    assert done.returncode == 0, done.stderr
    figures = json.loads((found.runs()[-1] / "summary.json").read_text())["metrics"]
    done = found.fathoms("export", "trec", "latest", "--to", "trec", "--rank-scores")
    assert done.returncode == 0, done.stderr
    run = list(ir_measures.read_trec_run(str(found.path / "trec" / "run.trec")))
    qrels = list(ir_measures.read_trec_qrels(str(found.path / "trec" / "qrels.trec")))
    measures = {name: ir_measures.parse_measure(theirs) for name, theirs in AT.items()}
    theirs = ir_measures.calc_aggregate(list(measures.values()), qrels, run)
    assert len({judged.query_id for judged in qrels}) == figures["hit@1"]["micro"]["n"] == 2000
    for name, measure in measures.items():
        ours = figures[name]["micro"]["value"]
        assert 0.05 < ours < 0.9
        assert ours == pytest.approx(theirs[measure], abs=1e-9), name


@pytest.mark.slow
def test_traces_of_an_application_are_scored_like_the_run_that_they_are_of(project: Project) -> None:
    """A run is sent to a collector as spans with their texts, and read back from its file: the same
    questions, contexts and answers, and the same figures of a metric that needs no gold answer."""
    project.write("judge.yaml", "kind: scripted\n")
    judged = ("--metric", "faithfulness", "--judge", "judge.yaml")
    assert project.fathoms("run", "tiny.yaml").returncode == 0
    assert project.fathoms("score", "latest", *judged).returncode == 0
    with otlp_receiver() as received:
        done = project.fathoms("export", "otel", "tiny", "--content", "--endpoint", received.address)
        assert done.returncode == 0, done.stderr
        project.write("traces.jsonl", received.lines())

    done = project.fathoms("import", "otel", "traces.jsonl")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("traces: 4 of 4 questions: OK\n")
    done = project.fathoms("score", "traces", *judged)
    assert done.returncode == 0, done.stderr
    before, after = (answers_of(run) for run in project.runs())
    assert before == after
    assert len(before) == 4
    assert before["How tall is the Varn tower?"][-1] == 1.0  # the context says so, word by word


def answers_of(run: Path) -> dict[str, Any]:
    """The hits, the answer and its faithfulness by the text of the question."""
    found = {}
    for view in Run.scored(run).questions():
        (repeat,) = view.repeats
        hits = [(hit.document, hit.pages, hit.text, hit.score) for hit in repeat.hits or ()]
        assert repeat.answer is not None
        found[view.question.text] = (hits, repeat.answer.text, repeat.metrics["faithfulness"]["value"])
    return found
