"""What is said of one question: its outcome, where it was lost, its gold pages, its place in the list."""

from __future__ import annotations

from typing import Any

import pytest

from fathoms.report.html.detail import is_gold
from fathoms.report.html.questions import natural
from fathoms.report.html.reading import lost_at, outcome, spread
from fathoms.types import Question
from fathoms.types.run.rows import AnswerScores, ScoredQuestion

ANSWER = {"answer": {"text": "so"}}
REFUSED = {"answer": {"text": "", "refusal": "policy"}}
FAILED = {"error": {"kind": "Timeout", "message": ""}}


def scored(correctness: float | None, abstained: bool | None = False) -> dict[str, Any]:
    """The scores of one repeat."""
    return {"correctness": correctness, "abstained": abstained}


@pytest.mark.parametrize(
    ("said", "answerable", "repeats", "scores"),
    [
        ("correct", True, [ANSWER], [scored(1.0)]),
        ("correct", True, [ANSWER], [scored(1.0, True)]),  # the answer stands in an abstention: it counts
        ("partial", True, [ANSWER], [scored(0.5)]),
        ("partial", True, [ANSWER, ANSWER], [scored(1.0), scored(0.0)]),
        ("partial", True, [ANSWER, FAILED], [scored(1.0), scored(0.0, None)]),
        ("wrong", True, [ANSWER], [scored(0.0)]),
        ("wrong", True, [ANSWER] * 3, [scored(0.0), scored(0.0), scored(0.0, True)]),
        ("abstained", True, [ANSWER], [scored(0.0, True)]),
        ("abstained", True, [ANSWER] * 2, [scored(0.0), scored(0.0, True)]),
        ("abstained", True, [ANSWER, FAILED], [scored(0.0, True), scored(0.0, None)]),
        ("abstained", True, [ANSWER], [scored(None, True)]),
        ("not scored", True, [ANSWER], [scored(None, False)]),
        ("right to abstain", False, [ANSWER], [scored(None, True)]),
        ("answered the unanswerable", False, [ANSWER], [scored(None, False)]),
        ("refused", True, [REFUSED], [scored(0.0, None)]),
        ("refused", False, [REFUSED, FAILED], [scored(None, None)] * 2),
        ("wrong", True, [REFUSED, ANSWER], [scored(0.0, None), scored(0.0)]),
        ("error", True, [FAILED], [scored(0.0, None)]),
        ("not scored", True, [ANSWER], [scored(None, None)]),
        ("not scored", False, [ANSWER], [scored(None, None)]),
    ],
)
def test_outcomes(
    said: str, answerable: bool, repeats: list[dict[str, Any]], scores: list[dict[str, Any]]
) -> None:
    question = {"id": "q", "text": "?", "category": "c", "answerable": answerable}
    view = ScoredQuestion.model_validate({"question": question, "repeats": repeats})
    assert outcome(view, [AnswerScores.model_validate(row) for row in scores]) == said


def test_the_stage_that_lost_most() -> None:
    def rows(*found: dict[str, Any]) -> list[AnswerScores]:
        return [AnswerScores.model_validate(row) for row in found]

    two = rows(
        {"funnel": {"lost": {"documents": 0.25, "retrieved": 0.5, "answer": 0.0}}},
        {"funnel": {"lost": {"documents": 0.25, "retrieved": 0.0, "answer": 0.75}}},
    )
    assert lost_at(two) == "answer"
    assert lost_at(two[:1]) == "retrieved"
    assert lost_at(rows({"funnel": {"lost": {"documents": 0.5, "answer": 0.5}}})) == "documents"
    assert lost_at(rows({"funnel": {"lost": {"documents": 0.0}}}, {"funnel": None}, {})) is None


@pytest.mark.parametrize(
    ("evidence", "pages", "gold"),
    [
        ([{"document": "a.pdf", "page": 2}], [2, 3], True),
        ([{"document": "a.pdf", "page": 2}], [1], False),
        ([{"document": "a.pdf", "page": 2}], [], None),
        ([{"document": "a.pdf", "page": None}], [], True),
        ([{"document": "b.pdf", "page": 2}], [2], False),
        ([], [7], True),  # without evidence, the files that the question names
    ],
)
def test_gold_pages(evidence: list[dict[str, Any]], pages: list[int], gold: bool | None) -> None:
    question = {"id": "q", "text": "?", "category": "c", "evidence": evidence, "files": ["a.pdf"]}
    assert is_gold(Question.model_validate(question), "a.pdf", pages) is gold


def test_ids_are_sorted_as_people_count() -> None:
    assert sorted(["q10", "q9", "Q1", "q9b", "10", "9", "q²"], key=natural) == [
        "9", "10", "Q1", "q9", "q9b", "q10", "q²"
    ]  # fmt: skip


def test_quantiles_are_those_of_numpy() -> None:
    # numpy.quantile([1, 2, 4, 8, 16], [0.5, 0.95]) is [4, 14.4]
    assert spread([16.0, 1.0, 8.0, 2.0, 4.0]) == {"mean": 6.2, "p50": 4.0, "p95": 14.4, "n": 5}
    assert spread([3.0]) == {"mean": 3.0, "p50": 3.0, "p95": 3.0, "n": 1}
    assert spread([]) is None
