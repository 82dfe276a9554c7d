"""The answers that MiRAGE released, with people's judgements as verdicts."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from statistics import fmean

import pytest

from fathoms.errors import DataError, UsageError
from fathoms.extras.exchange.reading.mirage import read_mirage
from fathoms.metrics.claims.gold_sources import Citing, gold_sources
from fathoms.metrics.claims.texts import answer_text
from tests.support.project import Project


@pytest.fixture
def mirage(shared: Path) -> Path:
    folder = shared / "mirage"
    if not folder.is_dir():
        pytest.skip("the released files of MiRAGE are not there")
    return folder


def share(said: list[bool | None]) -> float:
    return sum(one is True for one in said) / len(said)


def by_hand(folder: Path, system: str, person: int) -> tuple[float, float, float]:
    """InfoP, InfoR and InfoF1 against the reference, as means over topics of the released judgements."""
    of = f"{system}_annotator_{person}_DONE.json"
    answers, references = (
        json.loads((folder / "metric_preference" / f"metric_{side}_{of}").read_text())
        for side in ("prediction", "reference")
    )
    found = []
    for topic, answer in answers.items():
        said = [claim["judgment"] for claims in answer["claims"].values() for claim in claims]
        p, r = share(said), share([claim["judgment"] for claim in references[topic]["claims"]])
        found.append((p, r, 2 * p * r / (p + r) if p + r else 0.0))
    return tuple(map(fmean, zip(*found, strict=True)))  # type: ignore[return-value]


@pytest.mark.slow
def test_figures_come_from_the_judgements_of_people_and_no_judge_is_asked(
    mirage: Path, tmp_path: Path
) -> None:
    project = Project(tmp_path)
    done = project.fathoms("import", "mirage", str(mirage))
    assert done.returncode == 0, done.stderr
    assert "qwen_72b_cag annotator 1: 39 claims without a judgement" in done.stderr
    shown = project.json("report", *(path.name for path in project.runs()))
    runs = [(system, person) for system in ("qwen3_llm", "qwen_72b_cag", "qwen_72b_rag") for person in (1, 2)]
    assert len(shown) == len(runs)
    for run, (system, person) in zip(shown, runs, strict=True):
        names = [f"mirage.info-{name}-released" for name in ("p-reference", "r", "f1-reference")]
        values = [run["metrics"][name]["overall"]["value"] for name in names]
        assert values == pytest.approx(by_hand(mirage, system, person)), (system, person)

    first = project.runs()[::2]
    scored = json.loads((first[0] / "summary.json").read_text())
    assert scored["metrics"][names[0]]["checked"]["people"] is True
    assert "people" not in scored["metrics"][names[0]], "nobody has to check a person against people"
    ranking = project.json("agree", *(run.name for run in first), "--reviewer", "MiRAGE quality 1")[
        "quality"
    ]["ranking"]
    taus = [
        ranking[f"mirage.info-{name}-released"]["tau"]["value"]
        for name in ("f1-reference", "p-reference", "r")
    ]
    assert [round(100 * tau, 1) for tau in taus] == [49.0, 37.8, 40.8]  # Table 9, ICJ 1 against EQJ 1

    assert project.fathoms("score", "latest", "--metric", "mirage.info-p-reference").returncode == 0
    judging = json.loads((project.runs()[-1] / "summary.json").read_text())["judging"]
    assert (judging["asked"], judging["failed"]) == (0, 0)


def test_claims_and_citations_are_those_of_the_release(mirage: Path) -> None:
    runs = {run.name: run for run in read_mirage(mirage)}
    assert len(runs) == 6
    for name, claims in (("qwen3_llm_only", 259), ("qwen_72b_cag", 316), ("qwen_72b_rag", 389)):
        run = runs[f"{name} annotator 2"]
        assert run.judged is not None
        assert sum(map(len, run.judged.claims.values())) == claims
        assert sum(len(record.question.reference_claims) for record in run.records) == 316
        for record in run.records:  # every sentence cites a source of its topic
            sources = gold_sources(record.question, {})
            assert record.answer is not None
            text = answer_text(record)
            assert text is not None
            assert all(Citing(record, sources).by_claim(claim) for claim in run.judged.claims[text])


@pytest.mark.slow
def test_without_judgements_there_is_a_run_for_each_system(mirage: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mirage"
    shutil.copytree(mirage, folder)
    (folder / "metric_preference" / "metric_reference_qwen3_llm_annotator_2_DONE.json").unlink()
    one = read_mirage(folder)
    assert [run.name.rpartition(" ")[2] for run in one] == ["1", "1", "1"]
    assert "annotator 2 is left out, because files are absent: metric_reference_qwen3" in one[0].warnings[0]
    shutil.rmtree(folder / "metric_preference")
    assert [(run.name, run.judged) for run in read_mirage(folder)] == [
        ("qwen3_llm_only", None),
        ("qwen_72b_cag", None),
        ("qwen_72b_rag", None),
    ]
    shutil.rmtree(folder / "predictions")
    with pytest.raises(DataError, match="contains no files SYSTEM_relevant_citations"):
        read_mirage(folder)
    with pytest.raises(UsageError, match="does not exist"):
        read_mirage(tmp_path / "nowhere")
