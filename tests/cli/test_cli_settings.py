"""`fathoms run --settings`: one pipeline without context, with the gold pages and as it is, by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fathoms.pipeline.prompt import PromptBuilder
from fathoms.types import Reply
from tests.support.project import Project

# The model repeats its context, so an answer is as good as the pages that it was given.
CONFIG = """\
name: tiny
data: {questions: questions.jsonl, documents: pdfs}
chunk: {kind: page}
retrieve: {kind: bm25, top_k: 1}
generate: {kind: scripted, echo: true}
"""
VARN, LUNE = "varn.pdf", "lune.pdf"
QUESTIONS = [
    {
        "question": "How tall is the Varn tower?",
        "answers": [["41.5"]],
        "evidence": [{"document": VARN, "page": 1, "modality": "text"}],
        "metadata": {"language": "en"},
    },
    {
        "question": "Which colour is its door painted?",
        "answers": [["green"]],
        "evidence": [{"document": VARN, "page": 2}],
        "metadata": {"language": "fr"},
    },
    {  # BM25 finds the page of the second hop
        "question": "What does ore cost in Lune a ton, and which colour is the door?",
        "answers": [["17 crowns", "green"]],
        "evidence": [
            {"document": VARN, "page": 2, "step": 1},
            {"document": LUNE, "page": 1, "step": 2},
        ],
        "metadata": {"language": "en"},
    },
]
WRONG, RIGHT, HALF = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
ROWS = {
    ("all", "closed-book"): (WRONG, 3),
    ("all", "oracle"): (RIGHT, 3),
    ("all", "rag"): ((2 / 3, 1 / 3, 0.0), 3),
    ("single hop", "rag"): (RIGHT, 2),
    ("multi hop", "oracle"): (RIGHT, 1),
    ("multi hop", "rag"): (HALF, 1),
    ("language en", "rag"): ((0.5, 0.5, 0.0), 2),
    ("language fr", "closed-book"): (WRONG, 1),
    ("modality text", "rag"): (RIGHT, 1),
}


@pytest.fixture
def settings(project: Project) -> Project:
    project.write("questions.jsonl", "\n".join(map(json.dumps, QUESTIONS)))
    project.write("tiny.yaml", CONFIG)
    return project


@pytest.mark.slow
def test_the_table_of_three_settings(settings: Project) -> None:
    done = settings.fathoms("run", "tiny.yaml", "--settings", "closed-book,oracle,rag")
    assert done.returncode == 0, done.stderr
    assert "retrieval wins 0.67" in " ".join(done.stdout.split())
    assert "from closed-book (0.00) to oracle (1.00)" in " ".join(done.stdout.split())
    report = settings.json("report", *(run.name for run in settings.runs()))
    names = [run["name"] for run in report]
    assert names == ["tiny closed-book", "tiny oracle", "tiny rag"]
    table: dict[str, Any] = report[0]["settings"]
    rows = {(row["group"], row["setting"]): row for row in table["rows"]}
    assert len(rows) == 3 * 6  # all, two kinds of hops, two languages, one modality
    for key, (shares, n) in ROWS.items():
        row = rows[key]
        found = [row[kind]["value"] for kind in ("correct", "partial", "incorrect")]
        assert found == pytest.approx(shares), key
        assert row["correct"]["n"] == n
        assert row["correct"]["low"] <= shares[0] <= row["correct"]["high"]
    won = table["won_by_retrieval"]
    assert (won["value"], won["n"]) == (pytest.approx(2 / 3), 3)
    assert won["low"] < 2 / 3 < won["high"]
    [markdown] = settings.path.glob("runs/reports/*/report.md")
    (line,) = [line for line in markdown.read_text().splitlines() if line.startswith("| multi hop | rag |")]
    assert line.split("|")[3].startswith(" 0.00")


@pytest.mark.slow
def test_a_judge_grades_the_answers_of_all_settings(settings: Project) -> None:
    # the tower gets 6 of 10, which is partly correct, the door 10, and the third, which lacks a word, 0
    settings.write("tiny.yaml", CONFIG + "judge: {kind: scripted, labels_by: {'41.5': '6'}}\n")
    done = settings.fathoms("run", "tiny.yaml", "--settings", "closed-book,rag", "--limit", "3")
    assert done.returncode == 0, done.stderr
    table = settings.json("report", *(run.name for run in settings.runs()))[0]["settings"]
    shares = {
        row["setting"]: [row[kind]["value"] for kind in ("correct", "partial", "incorrect")]
        for row in table["rows"]
        if row["group"] == "all"
    }
    assert shares == {"closed-book": [0, 0, 1], "rag": pytest.approx([1 / 3, 1 / 3, 1 / 3])}
    assert table["won_by_retrieval"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--settings", "closed-book,orcale"], "there is no setting 'orcale' (did you mean 'oracle'?)"),
        (["--settings", "rag,rag"], "'rag' is named twice"),
        (["--settings", "rag", "--retrieval-only"], "use one of them"),
    ],
)
def test_settings_that_cannot_be(settings: Project, arguments: list[str], message: str) -> None:
    done = settings.fathoms("run", "tiny.yaml", *arguments)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())


def test_only_what_follows_the_mark_is_the_answer() -> None:
    builder = PromptBuilder(template="extract-then-answer")
    plain = PromptBuilder()
    thought = Reply(text="The tower: 41.5 m.\nFinal answer: 12?\nNo.\nFinal answer: 41.5 m")
    found = builder.answer_in(thought)
    assert (found.text, found.lacks_mark) == ("41.5 m", False)
    assert found.reasoning == "The tower: 41.5 m.\nFinal answer: 12?\nNo."
    assert plain.answer_in(thought) == thought
    unmarked = builder.answer_in(Reply(text="41.5 m"))
    assert (unmarked.text, unmarked.lacks_mark) == ("41.5 m", True)


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("Confidence: 0.9\nANSWER : 41.5 m", "41.5 m"),
        ("- **answer**: 41.5 m", "41.5 m"),
        ("**Answer:** 41.5 m", "41.5 m"),
        ("Answer: 41.5 m\nThe short answer: yes", "41.5 m\nThe short answer: yes"),  # as it is, first
        ("I cannot see an answer: the page is empty.", None),
        ("My answers: 41.5 m", None),
    ],
)
def test_a_mark_in_other_letters(said: str, answer: str | None) -> None:
    found = PromptBuilder(template="closed-book-confidence").answer_in(Reply(text=said))
    assert (found.text, found.lacks_mark) == (answer or said, answer is None)


@pytest.mark.slow
def test_replies_without_the_mark_are_counted(settings: Project) -> None:
    prompt = "prompt={template: extract-then-answer}"
    assert settings.fathoms("run", "tiny.yaml", "--set", prompt).returncode == 0
    [run] = settings.runs()
    (warning,) = json.loads((run / "summary.json").read_text())["warnings"]
    assert warning.startswith("3 of 3 replies lack the marks")
