"""Runs that only searched: a record with neither an answer nor an error is a question that was only searched
for."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from fathoms.compare.compare import compare
from fathoms.compare.question_scores import default_metrics, read_scores
from fathoms.errors import UsageError
from fathoms.report.ending import ending
from fathoms.report.question import question_panel
from fathoms.report.terminal import leaderboard_panel, summary_panel
from fathoms.report.write import write_report
from fathoms.runner.reopen import unanswered
from fathoms.runs.run import Run
from fathoms.runs.writing import new_run
from fathoms.scoring import score_run
from fathoms.types import Chunk, Evidence, Failure, Hit, Question, Record, Reply

GOLD = Evidence(document="mill.pdf", page=2)
QUESTIONS = [
    Question(id="a1", text="What does the door cost?", category="A", answers=(("41.5",),), evidence=(GOLD,)),
    Question(id="a2", text="And the gate?", category="A", evidence=(GOLD,)),
    Question(id="a3", text="And the roof?", category="A", answers=(("7",),), evidence=(GOLD,)),
]


def hit(text: str, page: int, rank: int = 1) -> Hit:
    chunk = Chunk(id=f"mill.pdf:{page}", document="mill.pdf", pages=(page,), text=text)
    return Hit(chunk=chunk, score=1 / rank, rank=rank)


def searched(question: Question, *hits: Hit) -> Record:
    return Record(question=question, hits=hits, timings={"retrieve": 0.5}, attempts=0, finished="2026-01-02")


RECORDS = [
    searched(QUESTIONS[0], hit("The blue door costs 41.5 crowns.", 2)),
    searched(QUESTIONS[1]),
    Record(question=QUESTIONS[2], error=Failure(kind="ModelError", message="the reranker is gone")),
]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run of three questions: one found, one with no hit, and one of which the search failed."""
    one_run = new_run(
        tmp_path,
        "search",
        "0" * 16,
        {"model": None, "config": {}, "retrieval_only": True, "data": {"name": "d", "asked": 3}},
    )
    one_run.records.append(RECORDS)
    return one_run


def test_searched_questions_are_records_that_resuming_does_not_ask_again(run: Run) -> None:
    assert run.records.contents().flaws == []
    assert run.records.all() == RECORDS
    assert [turn.question.id for turn in unanswered(run, QUESTIONS, 1)] == ["a3"]


def test_metrics_of_answers_do_not_apply_and_figures_of_retrieval_do(run: Run) -> None:
    summary = score_run(run).plain()
    assert summary["retrieval_only"] is True
    counts = summary["counts"]
    assert (counts["searched"], counts["answered"], counts["errors"], counts["unanswered"]) == (2, 0, 1, 0)
    figures = summary["profiles"]["fathoms"]
    overall = figures["overall"]
    assert (overall["correctness"], overall["hallucination"], overall["abstention"]) == (None, None, None)
    assert (overall["n"], overall["hallucination_n"], overall["errors"]) == (0, 0, 1)
    assert figures["abstention_rates"]["coverage"] is None
    # a1 has the phrase, a2 has none, and a3 found nothing because its search failed
    retrieved, answer = (figures["funnel"]["overall"][stage] for stage in ("retrieved", "answer"))
    assert (retrieved["recall"], retrieved["n"]) == (0.5, 2)
    assert (answer["recall"], answer["n"], answer["lost"]) == (None, 0, None)
    assert summary["seconds"]["retrieve"] == 0.5
    assert summary["metrics"]["truthfulness"]["overall"]["value"] is None
    assert not any("failed" in warning for warning in summary["warnings"])


def test_imported_searches_need_no_word_in_the_manifest(tmp_path: Path) -> None:
    run = new_run(tmp_path, "hits", "0" * 16, {"data": {"name": "d"}})
    run.records.append(RECORDS[:2])
    assert score_run(run).plain()["retrieval_only"] is True
    # one answer among them makes it a run of answers, in which the others are no failures
    run.records.append([Record(question=QUESTIONS[2], answer=Reply(text="7"))])
    summary = score_run(run).plain()
    assert summary["retrieval_only"] is False
    overall = summary["profiles"]["fathoms"]["overall"]
    assert (overall["correctness"], overall["n"], overall["errors"]) == (1.0, 1, 0)


def printed(*parts: object) -> str:
    console = Console(width=80, record=True, file=StringIO())
    console.print(*parts, sep="\n")
    return console.export_text()


def test_reports_show_figures_of_retrieval_alone(run: Run, tmp_path: Path) -> None:
    score_run(run)
    view = Run.scored(run.path)
    shown = printed(*summary_panel(view))
    assert "retrieval only: nobody was asked for an answer" in shown
    assert "2 only searched for, 1 failed" in shown
    assert "recall-in-retrieved" in shown
    assert "the reranker is gone" in shown
    for word in ("correctness", "hallucination", "abstained", "answered", "in the answer"):
        assert word not in shown.replace("where answers were lost", ""), shown
    write_report([view], tmp_path / "report", html=True)
    written = {path.name: path.read_text("utf-8") for path in (tmp_path / "report").iterdir()}
    assert sorted(written) == ["report.html", "report.json", "report.md", "scores.csv", "table.tex"]
    for name in ("report.md", "table.tex"):
        assert "orrectness" not in written[name]
        assert "recall-in-retrieved" in written[name].replace("{-}", "-")
        assert "truthfulness" not in written[name]
    assert ",ModelError," in written["scores.csv"]
    said = ending(view.manifest, view.summary, "OK", 3, 3).line
    assert said == "search: retrieval only (3 questions, 0 failed), cost not known, time not known: OK"
    question = printed(*question_panel(next(iter(view.questions()))))
    assert "only searched for: nobody was asked for an answer" in question
    assert "correct" not in question


def test_searches_stand_beside_answers_and_are_compared_by_their_own_metrics(
    run: Run, tmp_path: Path
) -> None:
    other = new_run(tmp_path, "answers", "0" * 16, {"model": "m", "config": {}, "data": {"name": "d"}})
    found = (hit("The blue door costs 41.5 crowns.", 2),)
    other.records.append(
        Record(question=wanted, hits=found, answer=Reply(text="41.5")) for wanted in QUESTIONS
    )
    for each in (run, other):
        score_run(each)
    shown = printed(*leaderboard_panel([Run.scored(run.path), Run.scored(other.path)]))
    board, _, searches = shown.partition("retrieval only")
    assert "answers" in board
    assert "search" not in board
    assert run.id in searches
    scores = [read_scores(each) for each in (run, other)]
    assert default_metrics(scores) == ("recall@10", "ndcg@10")
    test, _ = compare(scores, default_metrics(scores)).tests
    # both find page 2 for a1; the search found nothing for a2 and failed for a3, and the answers rest on it
    assert (test.overall.first, test.overall.second) == (1 / 3, 1.0)
    with pytest.raises(UsageError, match="only searched and has no metric 'correctness'"):
        compare(scores, ["correctness"])
