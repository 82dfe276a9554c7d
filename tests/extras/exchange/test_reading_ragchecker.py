"""Files of RAGChecker: its own claims and labels are kept, and its eleven metrics come out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fathoms.errors import DataError
from fathoms.extras.exchange.reading.ragchecker import read_ragchecker
from tests.support.project import Project

DATA = Path(__file__).parents[4] / "shared" / "data" / "ragchecker"
PRINTED = {
    "precision": 76.4,
    "recall": 62.5,
    "f1": 68.3,
    "claim-recall": 61.4,
    "context-precision": 87.5,
    "context-utilisation": 87.5,
    "noise-relevant": 19.1,
    "noise-irrelevant": 0.0,
    "hallucination": 4.5,
    "self-knowledge": 27.3,
    "faithfulness": 68.2,
}
RESULT: dict[str, Any] = {
    "query_id": 7,
    "query": "How tall is the mast?",
    "gt_answer": "It is 41.5 m tall.",
    "response": "The mast is 41 m tall and of pine.",
    "retrieved_context": [{"doc_id": "000", "text": "The mast is 41.5 m tall."}],
    "response_claims": [["mast", "height", "41 m"], "The mast is of pine."],
    "gt_answer_claims": [["mast", "height", "41.5 m"]],
    "answer2response": ["Contradiction", None],
    "response2answer": ["Neutral"],
    "retrieved2response": [["Contradiction"], ["No idea"]],
    "retrieved2answer": [["Entailment"]],
}


def write(folder: Path, *results: dict[str, Any]) -> Path:
    path = folder / "outputs.json"
    path.write_text(json.dumps({"results": results}))
    return path


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason=f"needs RAGChecker's released files in {DATA}")
def test_the_released_metrics_come_out_and_no_judge_is_asked(tmp_path: Path) -> None:
    project = Project(tmp_path)
    done = project.fathoms("import", "ragchecker", str(DATA / "checking_outputs.json"))
    assert done.returncode == 0, done.stderr
    for which, end in (("ragchecker", ""), ("ragchecker-released", "-released")):
        assert project.fathoms("score", "latest", "--metric", which).returncode == 0
        (shown,) = project.json("report", "latest")
        found = {
            name: round(100 * shown["metrics"][f"ragchecker.{name}{end}"]["overall"]["value"], 1)
            for name in PRINTED
        }
        assert found == PRINTED
        assert "parts" not in shown["metrics"][f"ragchecker.f1{end}"]  # both have rows of their own
        judging = json.loads((project.runs()[0] / "summary.json").read_text())["judging"]
        assert (judging["asked"], judging["failed"]) == (0, 0)


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason=f"needs RAGChecker's released files in {DATA}")
def test_inputs_have_no_verdicts_and_need_a_judge(tmp_path: Path) -> None:
    project = Project(tmp_path)
    assert project.fathoms("import", "ragchecker", str(DATA / "checking_inputs.json")).returncode == 0
    refused = project.fathoms("score", "latest", "--metric", "ragchecker")
    assert refused.returncode == 2
    assert "ragchecker.precision needs a judge" in refused.stderr
    project.write("judge.yaml", "kind: scripted\nlabels: three-way\nlabels_by: {Nile: entailment}\n")
    judged = project.fathoms("score", "latest", "--metric", "ragchecker", "--judge", "judge.yaml")
    assert judged.returncode == 0, judged.stderr
    (shown,) = project.json("report", "latest")
    assert shown["metrics"]["ragchecker.recall"]["overall"]["n"] == 2


def test_labels_of_every_kind_are_kept(tmp_path: Path) -> None:
    found = read_ragchecker(write(tmp_path, RESULT))
    assert found.judged is not None
    (claims,) = found.judged.claims.values()
    assert [claim.text for claim in claims] == ["mast height 41 m", "The mast is of pine."]
    labels = {(one.claim, one.premise): one.label for one in found.judged.verdicts.values()}
    assert labels == {
        ("mast height 41 m", "It is 41.5 m tall."): "contradiction",
        ("mast height 41.5 m", "The mast is 41 m tall and of pine."): "neutral",
        ("mast height 41 m", "The mast is 41.5 m tall."): "contradiction",
        ("The mast is of pine.", "The mast is 41.5 m tall."): "unparsed",
        ("mast height 41.5 m", "The mast is 41.5 m tall."): "entailment",
    }


def test_what_does_not_fit_is_said_with_its_place(tmp_path: Path) -> None:
    short = {**RESULT, "query_id": "8", "retrieved2response": [["Neutral", "Neutral"], ["Neutral"]]}
    twice = {
        **RESULT,
        "query_id": "9",
        "response_claims": ["It is tall.", "It is tall."],
        "answer2response": ["Entailment", "Neutral"],
    }
    found = read_ragchecker(write(tmp_path, RESULT, short, twice, {"query_id": "10"}))
    assert [record.question.id for record in found.records] == ["7", "9"]
    said = "\n".join(found.warnings)
    assert "result 2: left out: Value error, 'retrieved2response[0]' has 2 labels for 1 passage" in said
    assert "result 4: left out: Field required" in said
    assert "labels that contradict an earlier one of the same claim and text, which counts: 2" in said
    with pytest.raises(DataError, match="this is no file of RAGChecker"):
        read_ragchecker(_list(tmp_path))


def _list(folder: Path) -> Path:
    path = folder / "list.json"
    path.write_text("[]")
    return path
