"""Verdicts of a run as labelled claims: where they come from, and what is on which side of the split."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from fathoms.errors import DataError
from fathoms.extras.exchange.writing.verdicts import SPLITS, verdicts_of, write_verdicts
from fathoms.importers import Imported, keep
from fathoms.judges.imported import ImportedJudge, ImportedVerdicts
from fathoms.judges.people import read_labels
from fathoms.judges.scripted import ScriptedJudge
from fathoms.metrics.claims.ragchecker import Precision, Recall
from fathoms.runs.run import Run
from fathoms.runs.writing import new_run
from fathoms.scoring import judged_by
from fathoms.types import Claim, Evidence, Judgement, Question, Record, Reply, Verdict
from tests.support.project import Project

LABELS = ("entailment", "entailment", "neutral", "contradiction", "unparsed")
TOPICS = 6


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Six questions of two documents; each answer makes five claims, one for each of the labels."""
    claims, verdicts, records = {}, {}, []
    for number in range(TOPICS):
        question = Question(
            id=f"q{number}",
            text=f"What is said of tower {number}?",
            category="towers",
            reference=f"Tower {number} is tall.",
            evidence=(Evidence(document=f"{number % 2}.pdf", page=1),),
        )
        answer = f"Much is said of tower {number}."
        items = tuple(
            Claim(text=f"Claim {at} of tower {number}.", context=answer) for at in range(len(LABELS))
        )
        claims[answer, question.text] = items
        for claim, label in zip(items, LABELS, strict=True):
            judgement = Judgement(claim=claim.text, premise=question.reference or "", context=answer)
            verdicts[judgement] = Verdict(claim=claim.text, premise=judgement.premise, label=label, p=0.5)
        records.append(Record(question=question, answer=Reply(text=answer), hits=None))
    judged = ImportedVerdicts(ImportedJudge(by="hand"), claims, verdicts)
    questions = tuple(record.question for record in records)
    imported = Imported(
        "mine", None, tuple(records), questions, judged=judged, metrics=("ragchecker.precision",)
    )
    return keep(imported, "towers", tmp_path / "runs")


def test_a_run_without_answers_has_no_verdicts(run: Run, tmp_path: Path) -> None:
    judge, metrics = judged_by(run)
    assert judge is not None
    empty = new_run(tmp_path / "runs", "empty", "0" * 8, {"name": "empty", "folder": ".", "data": {}})
    with pytest.raises(DataError, match="holds no answers"):
        verdicts_of(empty, judge, metrics)


def test_topics_stay_on_one_side_and_labels_are_balanced(run: Run, tmp_path: Path) -> None:
    judge, metrics = judged_by(run)
    assert judge is not None
    found = verdicts_of(run, judge, metrics)
    # 6 topics: at least one for validation and test; of each topic one row of each of the three labels
    assert {name: len(found.rows[name]) for name in SPLITS} == {"train": 12, "validation": 3, "test": 3}
    topics = [{row["group"] for row in found.rows[name]} for name in SPLITS]
    assert set.union(*topics) == {f"q{number}" for number in range(TOPICS)}
    assert sum(map(len, topics)) == TOPICS
    for name in SPLITS:
        counts = Counter(row["label"] for row in found.rows[name])
        assert len(set(counts.values())) == 1
        assert set(counts) == {"entailment", "neutral", "contradiction"}
    assert found.warnings == (
        "left out: 6 verdicts that could not be read",
        "left out: 6 rows of the more frequent labels, to balance them",
    )
    paths = write_verdicts(found, tmp_path / "out")
    assert [path.name for path in paths] == ["train.jsonl", "validation.jsonl", "test.jsonl"]
    assert [row.group for row in read_labels(paths[2])] == [row["group"] for row in found.rows["test"]]
    row = json.loads(paths[0].read_text().splitlines()[0])
    assert (row["judge"], row["prompt"], row["run"]) == ("kept verdicts of hand", None, run.id)
    assert row["premise"] == f"Tower {row['group'][1:]} is tall."


def test_questions_on_one_document_are_one_topic(run: Run) -> None:
    judge, metrics = judged_by(run)
    assert judge is not None
    found = verdicts_of(run, judge, metrics, "document", balanced=False, binary=True)
    assert {row["group"] for rows in found.rows.values() for row in rows} == {"q0", "q1"}
    assert Counter(row["label"] for rows in found.rows.values() for row in rows) == {
        "supported": 2 * TOPICS,
        "unsupported": 2 * TOPICS,
    }
    assert "there are too few topics for 'test'" in found.warnings


def test_verdicts_of_another_judge_are_none_of_its_own(run: Run) -> None:
    with pytest.raises(DataError, match="holds no verdicts of scripted"):
        verdicts_of(run, ScriptedJudge(), [Precision(), Recall()])


@pytest.mark.slow
def test_the_command_exports_what_was_released(tmp_path: Path, shared: Path) -> None:
    project = Project(tmp_path)
    released = str(shared / "ragchecker" / "checking_outputs.json")
    assert project.fathoms("import", "ragchecker", released).returncode == 0
    done = project.fathoms("export", "verdicts", "latest", "--to", "rows", "--unbalanced")
    assert done.returncode == 0, done.stderr
    rows: list[Any] = [
        json.loads(line) for path in (tmp_path / "rows").iterdir() for line in path.read_text().splitlines()
    ]
    # 217 different pairs of claim and text in the released file
    assert (len(rows), sum(row["label"] == "entailment" for row in rows)) == (217, 64)
    assert project.fathoms("export", "verdicts", "latest", "--by", "tower").returncode == 2
