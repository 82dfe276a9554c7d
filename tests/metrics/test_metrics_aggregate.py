"""Scores and means worked by hand on a run of a few records."""

from __future__ import annotations

import pytest

from fathoms.metrics.aggregate import summarise
from fathoms.metrics.hallucination import hallucination
from fathoms.metrics.score_records import Scoring, score
from fathoms.types import Failure, Question, Record, Reply


def question(name: str, category: str, phrase: str = "paris", *, answerable: bool = True) -> Question:
    answers = ((phrase,),) if answerable else ()
    return Question(id=name, text="?", category=category, answers=answers, answerable=answerable)


def said(question: Question, text: str, repeat: int = 0) -> Record:
    return Record(question=question, repeat=repeat, answer=Reply(text=text))


def failed(question: Question, repeat: int = 0) -> Record:
    error = Failure(kind="ModelError", message="timed out: paris")
    return Record(question=question, repeat=repeat, error=error)


RIGHT, WRONG, SILENT = "It is Paris.", "It is Rome.", "The document does not say."
A1, A2, A3 = question("a1", "A"), question("a2", "A"), question("a3", "A")
B1 = question("b1", "B")
U1, U2, U3 = (question(f"u{number}", "A", answerable=False) for number in (1, 2, 3))


@pytest.mark.parametrize(
    ("label", "correctness", "expected"),
    [
        ("statement", 1.0, 0),
        ("statement", 0.5, 1),
        ("statement", 0.0, 1),
        ("abstention", 0.0, 0),
        ("abstention", 1.0, 0),
        ("empty", 0.0, 0),
        (None, 0.0, None),
        ("statement", None, None),
        ("abstention", None, None),
    ],
)
def test_hallucination(label: str | None, correctness: float | None, expected: int | None) -> None:
    assert hallucination(label, correctness) == expected


def test_one_record_of_each_kind() -> None:
    records = [said(A1, RIGHT), said(A1, WRONG), said(A1, SILENT), said(A1, " "), failed(A1), said(U1, RIGHT)]
    rows = [row["fathoms"] for row in score(records, Scoring()).rows]
    assert [row.correctness for row in rows] == [1, 0, 0, 0, 0, None]
    assert [row.hallucination for row in rows] == [0, 1, 0, None, None, 1]
    assert [row.abstention for row in rows] == [
        "statement", "statement", "abstention", "empty", None, "statement",
    ]  # fmt: skip
    assert [row.abstained for row in rows] == [False, False, True, None, None, False]
    assert [row.matched for row in rows] == [("paris",), (), (), (), (), ()]
    assert [row.missed for row in rows] == [(), *[("paris",)] * 4, ()]
    assert [row.why is None for row in rows] == [False, False, False, True, True, False]


def test_a_question_without_a_phrase_has_no_correctness() -> None:
    bare = Question(id="x", text="?", category="A", answers=((),))
    row = score([said(bare, WRONG)], Scoring()).rows[0]["fathoms"]
    assert (row.correctness, row.hallucination, row.abstained) == (None, None, False)


def test_profiles_stand_side_by_side_and_released_only_where_it_came() -> None:
    record = said(question("a", "A", "1"), "10")
    rows = score([record], Scoring()).rows
    assert {name: row.correctness for name, row in rows[0].items()} == {
        "paper-by-words": 1,
        "fathoms": 0,
    }
    imported = record.model_copy(update={"released": {"correctness": 0.25, "hallucination": 1.0}})
    rows = score([imported, record], Scoring()).rows
    assert (rows[0]["released"].correctness, rows[0]["released"].hallucination) == (0.25, 1)
    assert rows[1]["released"].correctness is None


def test_a_failed_call_keeps_its_released_score() -> None:
    record = failed(A1).model_copy(update={"released": {"correctness": 0.0, "hallucination": 1.0}})
    scores = score([record], Scoring())
    assert scores.rows[0]["released"].hallucination == 1
    assert scores.rows[0]["paper-by-words"].hallucination is None
    assert summarise([record], scores)["released"].overall.errors == 1


def test_means_by_hand() -> None:
    records = [
        *(said(A1, RIGHT, 0), said(A1, WRONG, 1)),  # correctness 1/2, hallucination 1/2
        *(said(A2, SILENT, 0), failed(A2, 1)),  # correctness 0, hallucination 0 of the one answer
        *(failed(A3, 0), failed(A3, 1)),  # correctness 0, no hallucination
        *(said(B1, RIGHT, 0), said(B1, RIGHT, 1)),
    ]
    figures = summarise(records, score(records, Scoring()))["fathoms"].plain()
    for cell in (figures["overall"], *figures["categories"].values()):
        del cell["hallucination_over"]
    intervals = figures["categories"]["A"].pop("intervals")
    assert [intervals[metric]["n"] for metric in ("correctness", "hallucination")] == [3, 2]
    assert figures["categories"]["A"] == {
        "correctness": pytest.approx(1 / 6),
        "hallucination": 0.25,
        "abstention": 0.5,
        "n": 3,
        "hallucination_n": 2,
        "errors": 3,
    }
    overall = figures["overall"]
    assert overall["correctness"] == pytest.approx((1 / 6 + 1) / 2)
    assert overall["micro_correctness"] == pytest.approx(1.5 / 4)
    assert overall["hallucination"] == pytest.approx((0.25 + 0) / 2)
    assert overall["micro_hallucination"] == pytest.approx(0.5 / 3)
    assert (overall["n"], overall["hallucination_n"], overall["errors"]) == (4, 3, 3)


def test_unanswerable_questions_count_in_the_abstention_table_alone() -> None:
    records = [
        said(U1, WRONG),
        said(U2, SILENT),
        said(U3, ""),
        failed(U3, 1),
        said(A1, SILENT),
        said(B1, RIGHT),
    ]
    figures = summarise(records, score(records, Scoring()))["fathoms"].plain()
    assert figures["abstention_table"] == {
        "answerable": {"answered": 1, "abstained": 1},
        "unanswerable": {"answered": 1, "abstained": 1},  # an empty answer is no decision
    }
    intervals = figures["abstention_rates"].pop("intervals")
    # the rates at which 1 in 2 is one of the likeliest 95 %: the chance of 1 or 2 is 1 - (1 - p)^2, so p is
    # 1 - sqrt(.95); for 1 in 1, the chance of 1 is p
    half, one = intervals["coverage"], intervals["selective_accuracy"]
    end = 1 - 0.95**0.5
    assert (half["low"], half["high"], half["n"]) == pytest.approx((end, 1 - end, 2))
    assert (one["low"], one["high"]) == pytest.approx((0.05, 1))
    assert figures["abstention_rates"] == {
        "answerable": {"answered": 0.5, "abstained": 0.5},
        "unanswerable": {"answered": 0.5, "abstained": 0.5},
        "coverage": 0.5,
        "selective_accuracy": 1,
        "coverage_n": 2,
        "selective_accuracy_n": 1,
    }


@pytest.mark.slow
def test_repeats_are_no_further_questions_for_the_interval_of_coverage() -> None:
    once = [said(A1, SILENT), said(B1, RIGHT)]
    thrice = [
        said(question, text, number) for number in range(3) for question, text in ((A1, SILENT), (B1, RIGHT))
    ]
    rates = [
        summarise(records, score(records, Scoring()))["fathoms"].plain()["abstention_rates"]
        for records in (once, thrice)
    ]
    assert [rate["coverage_n"] for rate in rates] == [2, 6]
    low, again = (rate["intervals"]["coverage"] for rate in rates)
    assert (low["low"], low["n"]) == (again["low"], again["n"])


def test_means_do_not_count_the_unanswerable() -> None:
    records = [said(U1, WRONG), said(U3, ""), failed(U3, 1), said(A1, SILENT), said(B1, RIGHT)]
    figures = summarise(records, score(records, Scoring()))["fathoms"].plain()
    assert figures["overall"]["n"] == 2
    assert figures["overall"]["correctness"] == 0.5
    assert figures["categories"]["A"]["abstention"] == 1
    assert figures["categories"]["A"]["errors"] == 1


def test_a_mean_over_nothing_is_none() -> None:
    records = [said(U1, SILENT)]
    overall = summarise(records, score(records, Scoring()))["paper-by-words"].plain()["overall"]
    assert (overall["correctness"], overall["hallucination"], overall["n"]) == (None, None, 0)
    assert summarise([], score([], Scoring())) == {}


def test_a_figure_says_how_it_was_made() -> None:
    records = [said(A1, RIGHT)]
    summary = summarise(records, score(records, Scoring()))
    result = {name: (figures.match, figures.hyphens) for name, figures in summary.items()}
    assert result == {
        "paper-by-words": ("substring", "both"),
        "fathoms": ("word", "both"),
    }
    assert summary["paper-by-words"].classifier["kind"] == "nearest-neighbour"
