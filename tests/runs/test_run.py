"""One object for a run: its manifest, records, questions and summary."""

from __future__ import annotations

from pathlib import Path

import pytest

import fathoms
from fathoms.errors import StoreError, UsageError
from fathoms.runs.run import Run
from fathoms.runs.writing import new_run, write_summary
from fathoms.scoring import score_run
from fathoms.types import Question, Record, Reply


def one_run(out: Path, answer: str = "41 m") -> Run:
    question = Question(id="q1", text="How tall?", category="Text", answers=(("41 m",),))
    run = new_run(out, "tower", "abcdef12", {"model": "m", "data": {"name": "d", "asked_ids": ["q1"]}})
    run.records.append([Record(question=question, answer=Reply(text=answer))])
    return run


def test_a_run_is_opened_by_its_path_its_id_and_its_name(tmp_path: Path) -> None:
    first, second = one_run(tmp_path), one_run(tmp_path, "nobody knows")
    score_run(first)
    score_run(second)
    for reference in (str(first.path), first.id, "tower~1"):
        run = fathoms.Run.open(reference, tmp_path)
        assert run.manifest.model == "m"
        assert [record.answer and record.answer.text for record in run.records] == ["41 m"]
        assert run.figures().overall.correctness == 1.0
        assert [one.question.id for one in run.questions()] == ["q1"]
    assert Run.open("latest", tmp_path).figures().overall.correctness == 0.0
    with pytest.raises(UsageError, match=r"no run 'towr' \(did you mean 'tower'"):
        Run.open("towr", tmp_path)


def test_a_run_is_read_again_once_it_was_written(tmp_path: Path) -> None:
    run = one_run(tmp_path)
    assert not run.is_scored
    with pytest.raises(StoreError, match=r"has no summary\.json: run 'fathoms score"):
        run.summary.plain()
    score_run(run)
    assert run.scores.failed == 0
    assert run.summary.name == "tower"
    write_summary(run, run.summary.model_copy(update={"name": "bridge"}))
    assert run.name == "bridge"
    assert run.altered(grouped_by="year").name == "bridge"
