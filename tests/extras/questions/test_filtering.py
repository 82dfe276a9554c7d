"""What a model knows without documents and what is easiest is dropped with its reason, worked out by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from fathoms.errors import UsageError
from fathoms.extras.questions.filtering import (
    EASY,
    IN_QUESTION,
    SOLVED,
    Known,
    filtered,
    known_without_documents,
    stated_confidence,
)
from fathoms.metrics.profiles import profile_named
from fathoms.runs.run import Run
from fathoms.runs.writing import new_run
from fathoms.scoring import score_run
from fathoms.types import Chunk, Evidence, Hit, Question, Record, Reply
from tests.support.project import Project

FATHOMS = profile_named("fathoms")
KNOWS = ["It is 41 m."] * 10
GUESSES = ["It is 41 m."] * 9 + ["It is 40 m."]


def question_of(name: str, text: str = "How tall is it?", **more: object) -> Question:
    return Question(id=name, text=text, category="A", answers=(("41 m",),), **more)  # type: ignore[arg-type]


def run_of(
    folder: Path, answers: Mapping[str, Sequence[str]], questions: Sequence[Question], *, hits: int = 0
) -> Run:
    """A scored run with these answers to each question, one a repeat."""
    run = new_run(folder, "closed", "0" * 16, {"config": {}, "data": {"name": "d"}})
    found = tuple(
        Hit(chunk=Chunk(id=str(n), document="a.pdf", pages=(1,), text="41 m"), score=1.0, rank=n)
        for n in range(1, hits + 1)
    )
    run.records.append(
        [
            Record(question=question, repeat=repeat, hits=found, answer=Reply(text=text))
            for question in questions
            for repeat, text in enumerate(answers.get(question.id, ()))
        ]
    )
    score_run(run)
    return Run.scored(run.path)


def test_the_answer_in_the_question_and_what_is_known_with_confidence(tmp_path: Path) -> None:
    questions = [
        question_of("given", "Is it 41 m or 42 m tall?"),
        question_of("known"),
        question_of("guessed"),  # nine of ten are right, which is not more than .9
        question_of("wrong"),
        question_of("unsure"),
        question_of("sure"),
        question_of("open"),
        Question(id="none", text="Is it 41 m tall?", category="A", answerable=False),
        Question(id="yes", text="Does it say yes?", category="A", answers=(("yes",),)),
    ]
    answers = {
        "known": KNOWS,
        "guessed": GUESSES,
        "wrong": ["It is 40 m. Confidence: 1.0"] * 10,  # confident and wrong stays
        "unsure": ["It is 41 m. Confidence: 0.9"] * 10,
        "sure": ["It is 41 m.\nConfidence: 95 %"] * 10,
    }
    known = known_without_documents(run_of(tmp_path, answers, questions), FATHOMS)
    assert known["guessed"] == Known(0.9, 10, None)
    assert known["sure"] == Known(1.0, 10, 0.95)
    found = filtered(questions, FATHOMS, closed_book=known, easiest=0)
    assert [(drop.question.id, drop.reason) for drop in found.dropped] == [
        ("given", IN_QUESTION),
        ("known", SOLVED),
        ("sure", SOLVED),
    ]
    assert [one.id for one in found.remaining] == ["guessed", "wrong", "unsure", "open", "none", "yes"]
    assert found.dropped[2].detail == "right in 100 % of 10 answers, stating a confidence of 0.95"


def test_a_run_that_cannot_tell_is_refused(tmp_path: Path) -> None:
    questions = [question_of("q")]
    with pytest.raises(UsageError, match="--repeats 5 or more"):
        known_without_documents(run_of(tmp_path / "a", {"q": ["41 m"] * 4}, questions), FATHOMS)
    wrong = run_of(tmp_path / "wrong", {"q": ["Confidence: 0 Answer: 40 m"]}, questions)
    assert known_without_documents(wrong, FATHOMS)["q"].right == 0, "it tells, and knows nothing"
    with pytest.raises(UsageError, match="retrieved texts for question q"):
        known_without_documents(run_of(tmp_path / "b", {"q": KNOWS}, questions, hits=1), FATHOMS)


def test_the_easiest_of_each_category_by_hops_modality_and_baselines(tmp_path: Path) -> None:
    """Hardness, with the share of failures: a 0 + 0 + 0, b 0 + 0 + 1, c 1/2 + 0 + 0, d 0 + 1 + 0."""
    table = (Evidence(document="a.pdf", page=1, modality="table"),)
    questions = [
        question_of("d", evidence=table),
        question_of("c", hops=2),
        question_of("b"),
        question_of("a"),
    ]
    run = run_of(tmp_path, {"a": ["41 m"], "b": ["40 m"], "c": ["41 m"], "d": ["41 m"]}, questions)

    def dropped(share: float) -> list[str]:
        found = filtered(questions, FATHOMS, baselines=[run], easiest=share)
        assert {drop.reason for drop in found.dropped} <= {EASY}
        return sorted(drop.question.id for drop in found.dropped)

    assert dropped(0.2) == []
    assert dropped(0.25) == ["a"]
    assert dropped(0.5) == ["a", "c"]


@pytest.mark.parametrize(
    ("answer", "confidence"),
    [
        ("41 m.\nConfidence: 0.95", 0.95),
        ("Confidence: 3 of 10? No, my confidence is 80%.", 0.8),
        ("Confidence: 1", 1),
        ("Confidence: 7", 0.07),
        ("Confidence: 0,95", 0.95),
        ("Confidence: 9/10", 0.9),
        ("Confidence: 950 %", None),
        ("I am sure.", None),
    ],
)
def test_the_confidence_that_an_answer_states(answer: str, confidence: float | None) -> None:
    assert stated_confidence(answer) == confidence


@pytest.mark.slow
def test_the_command_writes_both_sets_and_reasons(project: Project) -> None:
    closed = "name: closed\ndata: {questions: questions.json}\nretrieve: {kind: none}\n"
    project.write(
        "closed.yaml",
        f"{closed}prompt: {{template: closed-book-confidence}}\n"
        "generate: {kind: scripted, replies: {tall: 'Confidence: 1.0 Answer: 41.5 m'}}\n",
    )
    questions = json.loads((project.path / "questions.json").read_text())
    for rows in questions.values():
        for row in rows:
            row["files"] = []
    (project.path / "questions.json").write_text(json.dumps(questions))
    assert project.fathoms("run", "closed.yaml").returncode == 0
    process = project.fathoms(
        "questions", "filter", "questions.json", "left.json", "--closed-book", "closed", "--dry-run"
    )
    assert process.returncode == 0, process.stderr
    assert "3 of 4 questions stay (1 solved without documents)" in process.stdout
    assert not (project.path / "left.json").exists()
    done = project.fathoms("questions", "filter", "questions.json", "left.json", "--closed-book", "closed")
    assert done.returncode == 0, done.stderr
    left, full = (
        [row for rows in json.loads((project.path / name).read_text()).values() for row in rows]
        for name in ("left.json", "left-full.json")
    )
    assert (len(left), len(full)) == (3, 4)
    [gone] = [row for row in full if "dropped" in row.get("metadata", {})]
    assert gone["metadata"] == {
        "dropped": "solved without documents",
        "dropped_detail": "right in 100 % of 1 answer, stating a confidence of 1.00",
    }
    assert project.fathoms("run", "closed.yaml", "--set", "data.questions=left-full.json").returncode == 0
    [report] = project.json("report", "latest")
    [both] = report["filtered"]["runs"]
    correct = {
        name: both["metrics"]["correctness"][name]["value"] for name in ("full", "filtered", "dropped")
    }
    assert correct == {"full": 1 / 3, "filtered": 0, "dropped": 1}  # one of four has no answer
    assert (both["full"], both["filtered"], both["reasons"]) == (4, 3, {"solved without documents": 1})
    project.write(
        "others.json", json.dumps([{"id": "x", "question": "Who?", "answers": ["I"], "category": "A"}])
    )
    other = project.fathoms("questions", "filter", "others.json", "none.json", "--baseline", "closed")
    assert (other.returncode, "closed has none of these questions" in other.stderr) == (2, True)
