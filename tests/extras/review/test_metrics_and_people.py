"""Scores of any tool against people's ratings and preferences, from files: `fathoms agree --people`."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import pearsonr, spearmanr

from fathoms.cli import main
from fathoms.corpora import read_questions
from fathoms.importers.mirage_release import find_release
from tests.support.project import Project

Rows = list[dict[str, Any]]
SCORES = [
    {"question": topic, "system": system, "f1": f1, "length": length}
    for topic, system, f1, length in (
        ("q1", "one", 0.1, 5),
        ("q1", "two", 0.5, 5),
        ("q2", "one", 0.3, 9),
        ("q2", "two", 0.2, 1),
    )
]


def written(path: Path, rows: Rows) -> Path:
    """Write rows as the file's name asks for."""
    if path.suffix == ".csv":
        with path.open("w", newline="") as file:
            table = csv.DictWriter(file, rows[0], delimiter=";")
            table.writeheader()
            table.writerows(rows)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        path.write_text(json.dumps(rows))
    return path


def agreed(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> dict[str, Any]:
    code = main(["agree", *map(str, arguments), "--json"])
    shown = capsys.readouterr()
    assert code == 0, shown.err
    found: dict[str, Any] = json.loads(shown.out)
    return found


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "json"])
def test_ratings_are_compared_within_topics_by_hand(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """People prefer `two` in q1, as f1 does, and in q2, where f1 prefers `one`; length orders only q2."""
    scores = written(tmp_path / f"scores.{suffix}", SCORES)
    rated = [
        {"question": topic, "system": system, "annotator": person, "quality": grade}
        for topic, system, person, grade in (
            ("q1", "one", "a", 1),
            ("q1", "one", "b", 3),
            ("q1", "two", "a", 4),
            ("q2", "one", "a", 2),
            ("q2", "two", "a", 3),
            ("q3", "one", "a", 3),
        )
    ]
    people = written(tmp_path / f"people.{suffix}", rated)
    found = agreed(capsys, scores, "--people", people)
    f1, length = found["agreement"]
    assert (f1["metric"], f1["people"], f1["tau"]["value"], f1["topics"]) == ("f1", "quality", 0, 2)
    assert (f1["accuracy"]["value"], f1["pairs"], f1["tied_by_people"], f1["tied_by_metric"]) == (
        0.5,
        2,
        0,
        0,
    )
    assert (length["tau"]["value"], length["topics_without_order"]) == (-0.5, 1)
    assert (length["accuracy"]["value"], length["tied_by_metric"]) == (0.25, 1)
    assert found["notes"][0] == "f1 has no score for 1 of 5 rated answers of quality"
    assert main(["agree", str(scores), "--people", str(people), "--reviewer", "b"]) == 1  # b saw one answer


def test_raters_who_saw_a_pair_in_either_order_are_averaged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = [
        {"question": "q1", "first": "one", "second": "two", "better": "two"},
        {"question": "q1", "first": "two", "second": "one", "better": "first"},
        {"question": "q2", "first": "one", "second": "two", "better": "tie"},
    ]
    scores = written(tmp_path / "scores.csv", SCORES)
    found = agreed(capsys, scores, "--people", written(tmp_path / "people.json", said))
    f1 = found["agreement"][0]
    assert (f1["kind"], f1["accuracy"]["value"], f1["pairs"], f1["tied_by_people"]) == (
        "preferences",
        1,
        1,
        1,
    )
    assert main(["agree", str(scores), "--people", str(tmp_path / "people.json")]) == 0
    assert "better, as people see it (preferences on 2 topics)" in capsys.readouterr().out


def test_what_cannot_be_compared_is_refused_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scores = written(tmp_path / "scores.csv", SCORES)

    def refused(rows: Rows) -> str:
        people = written(tmp_path / "people.json", rows)
        assert main(["agree", str(scores), "--people", str(people)]) == 1
        return capsys.readouterr().err

    pair = {"question": "q1", "first": "one", "second": "two"}
    assert "row 1: there is no topic" in refused([{"system": "one", "quality": 1}])
    assert "row 1: there is no system" in refused([{"question": "q1", "quality": 1}])
    assert "has no figures" in refused([{"question": "q1", "system": "one", "quality": "good"}])
    assert "no answers in common" in refused([{"question": "x", "system": "one", "quality": 1}])
    assert "does 1 in 'better' mean" in refused([{**pair, "better": 1}, {**pair, "better": 2}])
    assert "both answers are of one" in refused([{**pair, "second": "one", "better": 1}])


@pytest.mark.slow
def test_a_tau_of_mirages_table_1_comes_out_of_its_files(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """ROUGE-L against the first person's quality judgements: 55.8 is printed."""
    release = shared / "mirage"
    if not release.is_dir():
        pytest.skip("the released files of MiRAGE are not there")
    ratings = find_release(release).ratings(1)
    assert ratings is not None
    ending = "_relevant_citations_rouge"
    rows = [
        {"topic": topic, "system": f"{system}{ending}", "quality": grade}
        for topic, by_system in ratings.items()
        for system, grade in by_system.items()
    ]
    files = sorted((release / "model_preds" / "metric_outputs" / "rouge").glob("*.json"))
    found = agreed(capsys, *files, "--people", written(tmp_path / "people.csv", rows))
    by_metric = {row["metric"]: row for row in found["agreement"]}
    assert round(100 * by_metric["rougeL"]["tau"]["value"], 1) == 55.8


def test_ragcheckers_scores_are_compared_with_the_preferences_that_were_released(
    shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The correlations of the differences of both answers' scores with the mean of two people's labels."""
    scores, people = (
        shared / "ragchecker" / name
        for name in ("baseline_ragchecker_sample.json", "human_labeled_sample.json")
    )
    if not people.is_file():
        pytest.skip("the released files of RAGChecker are not there")
    found = agreed(capsys, scores, "--people", people)["agreement"]
    assert len(found) == 9
    labels: dict[int, list[int]] = {}
    for row in json.loads(people.read_text()):
        labels.setdefault(row["instance_id"], []).append(row["overall_label"])
    differences, means = [], []
    for row in json.loads(scores.read_text()):
        one, other = (row[model]["ragchecker"]["overall_label"] for model in ("model1", "model2"))
        differences.append(other - one)
        means.append(sum(labels[row["instance_id"]]) / len(labels[row["instance_id"]]))
    overall = found[-1]
    assert (overall["metric"], overall["people"]) == ("ragchecker.overall_label", "overall_label")
    coefficient: Callable[..., Any]
    for name, coefficient in (("pearson", pearsonr), ("spearman", spearmanr)):
        assert overall[name]["value"] == pytest.approx(float(coefficient(differences, means).statistic))
    assert overall["pairs"] + overall["tied_by_people"] == 40


@pytest.mark.slow
def test_of_runs_lower_is_better_where_the_metric_says_so_and_names_must_differ(
    project: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first run invents every answer, the second abstains from all: people like the second."""
    monkeypatch.chdir(project.path)
    for name, reply in (("bold", "It is blue."), ("shy", "I do not know.")):
        said = f"generate={{kind: scripted, default: {reply}}}"
        assert main(["run", "tiny.yaml", "--set", f"name={name}", "--set", said]) == 0
    questions = [question.id for question in read_questions(Path("questions.json")).questions]
    rows = [
        {"question": id, "system": system, "quality": grade}
        for id in questions
        for system, grade in (("bold", 1), ("shy", 5))
    ]
    people = written(Path("people.csv"), rows)
    capsys.readouterr()
    found = {row["metric"]: row for row in agreed(capsys, "bold", "shy", "--people", people)["agreement"]}
    assert found["hallucination"]["accuracy"]["value"] == 1
    assert main(["agree", "bold", "bold", "--people", str(people)]) == 2
    assert "two runs are called bold" in capsys.readouterr().err
