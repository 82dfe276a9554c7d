"""The JUnit file, and the line of the morning."""

from __future__ import annotations

import dataclasses
import xml.etree.ElementTree as ET

import pytest

from fathoms.report.ending import Ending, cause_of, ending
from fathoms.report.junit import Case, Suite, category_cases, junit, question_cases
from fathoms.runs.run import Run
from fathoms.text.amounts import dollars, duration, figure
from fathoms.types import Failure
from fathoms.types.run.manifest import Data, Ingest, IngestTime, Manifest, Totals
from fathoms.types.run.summary import JudgingFigures, Summary
from tests.support.run_in_memory import changed


def test_the_line_of_the_morning() -> None:
    end = Ending("demo", "OK", 50, 50, 1, correctness=0.19, cost=0.42, seconds=185)
    assert end.line == "demo: correctness 0.19 (50 questions, 1 failed), $0.42, 3:05: OK"
    unknown = Ending("x\ny", "FAILED", 1, 1, 1)
    assert unknown.line == "x y: no answers (1 question, 1 failed), cost not known, time not known: FAILED"
    stopped = Ending("demo", "STOPPED", 100, 17, 0, repeats=2, correctness=1.0, cost=0.0, seconds=3725)
    assert (
        stopped.line == "demo: correctness 1.00 (17 of 100 questions, 0 failed), $0.00, 1 h 02 min: STOPPED"
    )
    repeated = Ending("demo", "OK", 100, 100, 0, repeats=2, correctness=0.5, cost=12.5, seconds=59.6)
    assert repeated.line == "demo: correctness 0.50 (50 questions x 2, 0 failed), $12.50, 1:00: OK"


def test_the_line_of_the_morning_has_the_causes_of_failures() -> None:
    one = Ending("demo", "FAILED", 15, 15, 5, causes=(("HTTP 500", 5),), correctness=0.4, cost=0, seconds=5)
    assert one.line == "demo: correctness 0.40 (15 questions, 5 failed: HTTP 500), $0.00, 5 s: FAILED"
    two = dataclasses.replace(one, causes=(("HTTP 500", 3), ("timeout", 2)))
    assert "5 failed: 3 HTTP 500, 2 timeout)" in two.line


@pytest.mark.parametrize(
    ("failure", "cause"),
    [
        (Failure(kind="ModelError", message="it answers with status 500: oops", status=500), "HTTP 500"),
        (Failure(kind="Timeout", message="no answer within 5 s"), "timeout"),
        (
            Failure(kind="NoAnswerError", message="http://127.0.0.1:9: no service is there"),
            "could not reach 127.0.0.1:9",
        ),
        (
            Failure(kind="NoAnswerError", message="no connection, or it broke off (ConnectionRefusedError)"),
            "connection refused",
        ),
        (
            Failure(kind="ModelError", message="its answer is not JSON but '<!doctype html>'"),
            "HTML instead of JSON",
        ),
        (
            Failure(kind="ModelError", message=r"its answer is not JSON but '\n <html>'"),
            "HTML instead of JSON",
        ),
        (Failure(kind="ModelError", message="its answer is not JSON but 'Hello <b>'"), "no JSON"),
        (Failure(kind="KeyError", message="the server was busy"), "the server was busy"),
    ],
)
def test_the_cause_of_a_failure_in_a_few_words(failure: Failure, cause: str) -> None:
    assert cause_of(failure) == cause


def test_what_a_partial_run_lacks() -> None:
    end = Ending("demo", "PARTIAL", 20, 20, 0, 2, left_out=3, unread=("a.pdf",), unjudged=4)
    assert end.missing == (
        "3 of 13 questions were left out because documents or answers are missing; documents were not read:"
        " a.pdf; 4 answers are judged only in part"
    )


@pytest.mark.parametrize(
    ("cost", "shown"),
    [(0.0, "$0.00"), (0.42, "$0.42"), (0.05, "$0.050"), (0.00123, "$0.0012"), (1234.5, "$1234.50")],
)
def test_small_sums_say_something(cost: float, shown: str) -> None:
    assert dollars(cost) == shown


def test_times_and_scores() -> None:
    assert [duration(s) for s in (0.2, 12, 59.6, 185, 3599, 7500)] == [
        "200 ms",
        "12 s",
        "1:00",
        "3:05",
        "59:59",
        "2 h 05 min",
    ]
    assert [figure(s) for s in (0.0, 0.194, 1.0)] == ["0.00", "0.19", "1.00"]


def test_the_end_of_a_run_that_was_not_scored() -> None:
    found = ending(Manifest(name="n", totals=Totals(errors=2, seconds=1.0)), None, "OK", 5, 5)
    assert (found.failed, found.correctness, found.cost) == (2, None, None)


@pytest.mark.parametrize(
    ("embedding", "judging", "says"),
    [
        (0.25, None, "$0.75"),
        (0.25, JudgingFigures(judge="llm x", total_cost=0.5), "$1.25"),
        (None, None, "cost not known"),
        (0.0, JudgingFigures(judge="llm x"), "cost not known"),
        (0.0, JudgingFigures(judge="nli"), "$0.50"),
    ],
)
def test_the_cost_at_the_end_has_embeddings_and_the_judge(
    embedding: float | None, judging: JudgingFigures | None, says: str
) -> None:
    times = {"embed questions": IngestTime(calls=1, cost=embedding), "parse": IngestTime(made=3)}
    data = Data(ingest=Ingest(times=times))
    manifest = Manifest(name="n", data=data, totals=Totals(cost=0.5, seconds=1.0))
    assert f", {says}, 1 s: OK" in ending(manifest, Summary(judging=judging), "OK", 5, 5).line


def test_a_local_model_with_a_paid_judge_is_not_free() -> None:
    manifest = Manifest(name="n", config={"generate": {"kind": "embedded"}}, totals=Totals(cost=0.0))
    assert "local model" in ending(manifest, Summary(), "OK", 5, 5).line
    paid = Summary(judging=JudgingFigures(judge="llm x", total_cost=0.5))
    assert "$0.50" in ending(manifest, paid, "OK", 5, 5).line
    unknown = Summary(judging=JudgingFigures(judge="llm x"))
    assert "cost not known" in ending(manifest, unknown, "OK", 5, 5).line


def test_a_file_with_every_kind_of_case() -> None:
    """A gate will be one more case: a judgement that went wrong is a failure, what broke is an error."""
    cases = [
        Case("Text-Only", 1.5, said="correctness 0.50"),
        Case("Tables", 0.25, error=("failed", 'a "quoted" <tag> & \x00')),
        Case("gate", failure=("worse", "correctness fell by .10")),
    ]
    root = ET.fromstring(junit([Suite("demo", cases, "2026-11-22T03:00:00.123+00:00"), Suite("other", [])]))
    assert root.attrib == {"tests": "3", "failures": "1", "errors": "1", "time": "1.750"}
    demo, other = root.findall("testsuite")
    assert (demo.get("name"), demo.get("timestamp"), other.get("tests")) == (
        "demo",
        "2026-11-22T03:00:00",
        "0",
    )
    assert [case.get("name") for case in demo] == ["Text-Only", "Tables", "gate"]
    error, failure = demo.find("testcase/error"), demo.find("testcase/failure")
    assert error is not None
    assert error.get("message") == 'a "quoted" <tag> & \ufffd'
    assert failure is not None
    assert failure.get("type") == "worse"
    assert demo.findtext("testcase/system-out") == "correctness 0.50"


def test_a_case_a_category(run_dir) -> None:
    """The run of the fixtures: two questions in each of two categories, one of Images failed."""
    view = Run.scored(run_dir)
    allowed = list(category_cases(view, too_many_failed=False))
    assert [(case.name, case.error) for case in allowed] == [("Tables", None), ("Images", None)]
    assert allowed[0].said == "correctness 0.75 (2 of 2 answers, 0 failed)"
    _, images = category_cases(view, too_many_failed=True)
    assert images.error == (
        "failed",
        "1 of 2 questions failed (Timeout 1); the first: no answer within 300 s",
    )


def test_a_case_a_question(run_dir) -> None:
    view = Run.scored(run_dir)
    data = {"asked_categories": {"Tables": 2, "Images": 2, "Text-Only": 3}}
    view = changed(view, manifest={**view.manifest.plain(), "data": data})
    cases = list(question_cases(view, too_many_failed=True))
    assert len(cases) == 5
    assert "correctness 1.00, hallucination 0.00 (1 of 1 answers, 0 failed)" in {case.said for case in cases}
    assert {case.name.partition(":")[0]: case.error for case in cases if case.error} == {
        "Images": ("failed", "1 of 1 answers failed (Timeout 1); the first: no answer within 300 s"),
        "Text-Only": ("incomplete", "3 of 3 questions have no answer yet"),
    }
    assert not any(case.error for case in question_cases(Run.scored(run_dir), too_many_failed=False))


def test_a_category_that_lacks_answers_is_in_error(run_dir) -> None:
    view = Run.scored(run_dir)
    data = {"asked_categories": {"Tables": 2, "Images": 5, "Text-Only": 3}}
    view = changed(view, manifest={**view.manifest.plain(), "data": data})
    cases = {case.name: case.error for case in category_cases(view, too_many_failed=False)}
    assert cases == {
        "Tables": None,
        "Images": ("incomplete", "3 of 5 questions have no answer yet"),
        "Text-Only": ("incomplete", "3 of 3 questions have no answer yet"),
    }
