"""Figures of a judge, corrected by the labels that people gave to claims of some answers."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fathoms.runs.people import LABELS_FILE, SAMPLES_FILE, ClaimLabel, DrawnSample, append_said
from fathoms.stats.prediction_powered import Stratum, prediction_powered_mean
from fathoms.stats.weighted_sample import WeightedStratum, weighted_mean
from tests.support.project import Project

pytestmark = pytest.mark.slow  # a run of a hundred answers, scored three times

ANSWERS, LABELLED = 100, 60
SUPPORTED = {number: number % 5 != 0 for number in range(ANSWERS)}
"""What the judge says of the one claim of each answer; people disagree about every seventh."""
PEOPLE = {number: supported != (number % 7 == 0) for number, supported in SUPPORTED.items()}
DRAWN = sorted(random.Random(2).sample(range(ANSWERS), LABELLED))


def claim(number: int) -> str:
    return f"Lamp {number} is red."


def premise(number: int) -> str:
    return claim(number) if SUPPORTED[number] else "Nothing is known of any lamp."


def label(number: int, reviewer: str, supported: bool, metric: str | None = None) -> ClaimLabel:
    return ClaimLabel(
        claim=claim(number),
        context=claim(number),
        premise=premise(number),
        label="supported" if supported else "unsupported",
        group=f"q{number}",
        run="lamps",
        question=f"q{number}",
        reviewer=reviewer,
        metric=metric,
        seed=0,
        time="2026-01-01T00:00:00+00:00",
    )


@pytest.fixture(scope="module")
def lamps(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Path]:
    """A run of answers with one claim each, in two categories, and its directory."""
    project = Project(tmp_path_factory.mktemp("lamps"))
    questions: dict[str, list[object]] = {"even": [], "odd": []}
    for number in range(ANSWERS):
        item = {"id": f"q{number}", "question": f"Which colour has lamp {number}?", "answers": [["red"]]}
        questions["odd" if number % 2 else "even"].append(item)
    project.write("questions.json", json.dumps(questions))
    rows = [
        {"id": f"q{n}", "answer": claim(n), "contexts": [{"document": "a.pdf", "text": premise(n)}]}
        for n in range(ANSWERS)
    ]
    project.write("answers.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    project.write("judge.yaml", "kind: scripted\n")
    done = project.fathoms(
        "import", "answers", "answers.jsonl", "--questions", "questions.json", "--name", "lamps"
    )
    assert done.returncode == 0, done.stderr
    (run,) = project.runs()
    return project, run


def scored(project: Project, run: Path) -> tuple[dict[str, Any], str]:
    """What the labels make of the figures, and what is printed."""
    done = project.fathoms("score", "lamps", "--metric", "faithfulness", "--judge", "judge.yaml", "--all")
    assert done.returncode == 0, done.stderr
    summary = json.loads((run / "summary.json").read_text())
    return summary["metrics"]["faithfulness"]["people"], " ".join(done.stdout.split())


def test_labels_of_people_correct_the_mean_and_the_rate(lamps: tuple[Project, Path]) -> None:
    project, run = lamps
    for number in DRAWN[:49]:
        append_said(run / LABELS_FILE, label(number, "ann", PEOPLE[number]))
    found, shown = scored(project, run)
    why = "people have labelled answers to 49 of 100 questions; 50 are needed"
    assert found == {"labels": 49, "answers": 100, "why": why}
    assert f"; {why}" in shown.partition("faithfulness: judged by scripted")[2]
    view = json.loads((run / "questions" / f"q{DRAWN[0]}.json").read_text())
    assert view["repeats"][0]["claims"]["judging"]["verdicts"] == 1  # that of the judge, not those of people

    for number in DRAWN[49:]:
        append_said(run / LABELS_FILE, label(number, "ann", PEOPLE[number]))
    shown = scored(project, run)[1]
    assert (
        "people have labelled answers to 60 of 100 questions; if they had labelled all, the mean would be"
        in shown
    )
    (row,) = project.json("report", "lamps")
    found = row["metrics"]["faithfulness"]["people"]
    people = np.array([float(PEOPLE[number]) for number in DRAWN])
    judge = np.array([float(SUPPORTED[number]) for number in DRAWN])
    others = np.array([float(SUPPORTED[number]) for number in SUPPORTED if number not in DRAWN])
    expected = prediction_powered_mean([Stratum(people, judge, others)], [1])
    for name in ("value", "low", "high", "weight"):
        assert found["micro"][name] == pytest.approx(getattr(expected, name))
    assert (found["micro"]["labels"], found["micro"]["unlabelled"]) == (60, 40)
    assert found["overall"]["value"] == pytest.approx(found["micro"]["value"], abs=0.03)
    rate, yes, no = others.mean(), judge[people == 1].mean(), 1 - judge[people == 0].mean()
    corrected = found["corrected"]
    assert corrected["value"] == pytest.approx((rate + no - 1) / (yes + no - 1))
    assert (corrected["sensitivity"], corrected["specificity"]) == pytest.approx((yes, no))
    assert corrected["positives"] + corrected["negatives"] == 60
    assert "Rogan-Gladen, with sensitivity" in (run / "report.html").read_text()
    shown = " ".join(project.fathoms("show", "lamps").stdout.split())
    bounds = ", ".join(f"{found['overall'][end]:.3f}" for end in ("low", "high"))
    assert f"{found['overall']['value']:.3f} [{bounds}] if corrected by the labels of people" in shown


def test_tables_have_the_corrected_figure_and_notes_say_whose_labels_are_meant(
    lamps: tuple[Project, Path],
) -> None:
    project, run = lamps
    (run / LABELS_FILE).unlink(missing_ok=True)
    for number in DRAWN:
        append_said(run / LABELS_FILE, label(number, "ann", PEOPLE[number]))
    found = scored(project, run)[0]["overall"]
    files = ("answers.jsonl", "--questions", "questions.json", "--name", "unlabelled")
    assert project.fathoms("import", "answers", *files).returncode == 0
    judged = ("--metric", "faithfulness", "--judge", "judge.yaml")
    assert project.fathoms("score", "unlabelled", *judged).returncode == 0
    assert project.fathoms("report", "lamps", "unlabelled", "--only", "metrics").returncode == 0
    (folder,) = (project.path / "runs" / "reports").iterdir()
    with (folder / "tables" / "metrics.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["metric"].startswith("faithfulness")]
    shown = "{value:.2f} [{low:.2f}, {high:.2f}]".format(**found)
    assert [(row["run"], row["PPI++"]) for row in rows] == [("lamps", shown), ("unlabelled", "")]
    notes = (folder / "report.md").read_text().splitlines()
    (none,) = (note for note in notes if "people have labelled none of the answers" in note)
    assert none.startswith("faithfulness of unlabelled: judged by scripted")


def test_the_values_of_two_reviewers_are_averaged(lamps: tuple[Project, Path]) -> None:
    project, run = lamps
    (run / LABELS_FILE).unlink(missing_ok=True)
    for number in DRAWN:
        append_said(run / LABELS_FILE, label(number, "ann", True))
        append_said(run / LABELS_FILE, label(number, "ben", False))
    found, _ = scored(project, run)
    assert (found["labels"], found["micro"]["weight"]) == (60, 0)
    assert found["micro"]["value"] == 0.5
    assert found["why_not_corrected"].startswith("the judge is no better than chance")


def test_answers_that_were_drawn_with_different_chances_are_weighted(lamps: tuple[Project, Path]) -> None:
    """Labels of 60 answers of a sample that has odd ones twice as often, and of five others, which belong to
    no sample; then an answer is missing in the sample."""
    project, run = lamps
    (run / LABELS_FILE).unlink(missing_ok=True)
    sizes = {f"q{number}": 4 / 3 if number % 2 else 2 / 3 for number in range(ANSWERS)}
    sample = DrawnSample(run="lamps", metric="faithfulness", seed=0, time="2026-01-01T00:00:00", sizes=sizes)
    append_said(run / SAMPLES_FILE, sample)
    lots = random.Random(5)
    order = sorted(range(ANSWERS), key=lambda number: lots.random() / sizes[f"q{number}"])
    own, others = order[:LABELLED], order[LABELLED:][:5]
    for number in own:
        append_said(run / LABELS_FILE, label(number, "ann", PEOPLE[number], "faithfulness"))
    for number in others:
        append_said(run / LABELS_FILE, label(number, "ann", PEOPLE[number], "correctness-judged"))
    found, shown = scored(project, run)
    every = np.array([float(SUPPORTED[number]) for number in range(ANSWERS)])
    strata = []
    for parity in (0, 1):  # the categories, of which people have labelled all odd ones that were drawn
        some = [number for number in own if number % 2 == parity]
        people, judge = (np.array([float(said[number]) for number in some]) for said in (PEOPLE, SUPPORTED))
        # 50 answers of 4/3 and 50 of 2/3: of 60 labels, 40 and 20
        chances = np.full(len(some), 0.8 if parity else 0.4)
        strata.append(WeightedStratum(people, judge, chances, every[parity::2]))
    expected = weighted_mean(strata, [1 / 2, 1 / 2])
    for name in ("value", "low", "high", "weight"):
        assert found["overall"][name] == pytest.approx(getattr(expected, name))
    assert found["overall"]["judge"] == pytest.approx(0.8)
    assert (found["weighted"], found["labels"], found["drawn_otherwise"]) == (True, 60, 5)
    assert found["why_not_corrected"] == "the labelled answers were drawn with different chances"
    assert "instead of 0.800 by the judge alone" in shown
    assert "weighted by the chances with which they were drawn" in shown
    assert "labels on 5 more, which belong to another sample, do not count" in shown

    (run / SAMPLES_FILE).unlink()
    append_said(run / SAMPLES_FILE, sample.model_copy(update={"sizes": {f"q{n}": 1.1 for n in range(99)}}))
    found, _ = scored(project, run)
    assert found["why"].startswith("1 of the answers could not be drawn for this sample")
    (run / SAMPLES_FILE).unlink()
