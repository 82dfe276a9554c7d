"""A full set beside what a filter keeps of it, worked out by hand."""

from __future__ import annotations

from pathlib import Path

from fathoms.report.filtered import filtered_section
from fathoms.report.markdown import report_markdown
from fathoms.runs.run import Run
from fathoms.runs.writing import new_run
from fathoms.scoring import score_run
from fathoms.types import Question, Record, Reply

REASONS = {"k0": None, "k1": None, "k2": None, "d0": "easy <b>", "d1": "solved"}
RIGHT = {"k0", "d0", "d1"}


def run_of(folder: Path, *, with_reasons: bool = True, variants: bool = False) -> Run:
    beside = [f"{id}~typos" for id in REASONS] if variants else []
    run = new_run(folder, "one", "0" * 16, {"config": {}, "data": {"name": "d", "variants": beside}})
    records = []
    for id, reason in REASONS.items():
        metadata = {"dropped": reason} if with_reasons and reason else {}
        question = Question(id=id, text="?", category="A", answers=(("green",),), metadata=metadata)
        records.append(Record(question=question, answer=Reply(text="green" if id in RIGHT else "red")))
        if variants:
            other = question.model_copy(
                update={"id": f"{id}~typos", "metadata": {**metadata, "variant": "typos", "variant_of": id}}
            )
            records.append(Record(question=other, answer=Reply(text="red")))
    run.records.append(records)
    score_run(run)
    return Run.scored(run.path)


def test_a_full_set_beside_the_filtered_one(tmp_path: Path) -> None:
    """3 of 5 are right, 1 of the 3 that are kept, and both that are dropped; variants change nothing."""
    for name, variants in (("plain", False), ("varied", True)):
        run = run_of(tmp_path / name, variants=variants)
        section = filtered_section([run])
        assert section is not None
        [found] = section.figures["runs"]
        correct = found["metrics"]["correctness"]
        assert [correct[key]["value"] for key in ("full", "filtered", "dropped")] == [0.6, 1 / 3, 1]
        assert correct["change"]["value"] == 1 / 3 - 1
        assert (found["full"], found["filtered"], found["reasons"]) == (5, 3, {"easy <b>": 1, "solved": 1})
    assert "3 of 5 questions are kept; dropped: 1 easy <b>; 1 solved" in section.notes[-1]
    assert "## The full set, and what a filter keeps of it" in report_markdown([run], tmp_path)


def test_a_run_of_unmarked_questions_has_no_such_table(tmp_path: Path) -> None:
    assert filtered_section([run_of(tmp_path, with_reasons=False)]) is None
