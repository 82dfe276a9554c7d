"""`gate` and `compare` see a service that begins to answer what has no answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.project import Project, write_project

pytestmark = pytest.mark.slow  # two runs

WANTED = [
    *(
        {"question": f"How tall is tower {n}?", "files": ["varn.pdf"], "answers": [["41.5"]]}
        for n in range(10)
    ),
    *(
        {"question": f"Who owns mine {n}?", "files": ["varn.pdf"], "answers": [], "answerable": False}
        for n in range(10)
    ),
]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Two runs of one pipeline that differ only in what the model says where there is no answer."""
    project = write_project(tmp_path_factory.mktemp("unanswerable"))
    project.write("questions.json", json.dumps({"Text-Only": WANTED}))
    for name, said in (("before", "The document does not say."), ("after", "It is owned by Ada Brandt.")):
        text = project.config.read_text().split("generate:")[0]
        replies = f"{{tall: The tower is 41.5 m tall., owns: '{said}'}}"
        project.write(
            f"{name}.yaml",
            text.replace("tiny", name) + f"generate: {{kind: scripted, replies: {replies}}}\n",
        )
        done = project.fathoms("run", f"{name}.yaml")
        assert done.returncode == 0, done.stderr
    return project


@pytest.mark.parametrize(
    "metric", ["truthfulness", "hallucination", "answered-unanswerable", "abstention-f1"]
)
def test_the_gate_fails(two: Project, metric: str) -> None:
    done = two.fathoms("gate", "after", "--baseline", "before", "--metric", metric)
    assert "FAIL" in done.stdout
    assert done.returncode not in (0, 2), done.stderr


def test_compare_shows_the_loss(two: Project) -> None:
    # half of the questions fall from 1 to -1
    (test,) = two.json("compare", "before", "after", "--metric", "truthfulness")["tests"]
    assert test["overall"]["difference"] == -1


def test_abstention_f1_is_compared_by_the_counts_of_all_questions(two: Project) -> None:
    """By hand: all 10 abstentions are right before (F1 1), and none is made after (F1 0)."""
    (test,) = two.json("compare", "before", "after", "--metric", "abstention-f1")["tests"]
    assert (test["overall"]["first"], test["overall"]["second"]) == (1, 0)
    assert test["overall"]["difference"] == pytest.approx(-1)
    assert -1 <= test["overall"]["low"] <= -1 < test["overall"]["high"] < 0
    assert (test["wins"], test["losses"], test["ties"]) == (0, 10, 10)
    assert test["p"] < 0.05
    (turned,) = two.json("compare", "after", "before", "--metric", "abstention-f1")["tests"]
    assert (turned["wins"], turned["losses"]) == (10, 0)
    assert turned["overall"]["low"] == pytest.approx(-test["overall"]["high"])
    shown = two.fathoms("compare", "before", "after", "--metric", "abstention-f1", "--all")
    assert "text-only-11 1.00 to 0.00" in shown.stdout


def test_the_gate_passes_a_run_by_abstention_f1_within_the_margin(two: Project) -> None:
    done = two.fathoms(
        "gate", "before", "--baseline", "after", "--metric", "abstention-f1", "--by-category", "--all"
    )
    assert "PASS" in done.stdout, done.stdout + done.stderr
    assert done.stdout.count("+1.000") >= 2


def test_a_baseline_keeps_the_counts(two: Project) -> None:
    saved = two.fathoms("gate", "before", "--save-baseline", "before.json")
    assert saved.returncode == 0, saved.stderr
    done = two.fathoms("gate", "after", "--baseline", "before.json", "--metric", "abstention-f1")
    assert "FAIL" in done.stdout


def test_the_other_rates_are_compared(two: Project) -> None:
    for metric, difference in (("answered-unanswerable", 1), ("abstained-answerable", 0)):
        (test,) = two.json("compare", "before", "after", "--metric", metric)["tests"]
        assert test["overall"]["difference"] == pytest.approx(difference)
        assert test["overall"]["n"] == 10


def test_the_leaderboard_shows_it(two: Project, tmp_path: Path) -> None:
    shown = two.fathoms("report", "before", "after", "--to", str(tmp_path / "both"), "--all")
    assert shown.returncode == 0, shown.stderr
    # a narrow table folds the name, and its arrow stands beside the last word
    assert shown.stdout.count("truthfulness") == shown.stdout.count("1) ↑") == 2, shown.stdout
    for name in ("report.md", "table.tex", "scores.csv", "report.html"):
        assert "truthfulness" in (tmp_path / "both" / name).read_text(), name


def test_the_rate_has_its_denominators_in_the_json(two: Project) -> None:
    (shown,) = two.json("report", "after")
    assert shown["overall"]["hallucination_over"] == {
        "all": {"value": 0.5, "n": 20},
        "answerable": {"value": 0, "n": 10},
        "unanswerable": {"value": 1, "n": 10},
    }
