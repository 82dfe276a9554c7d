"""What people read: the order of categories, the ids of runs, and the rates by answerability."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.project import Project, write_project

pytestmark = pytest.mark.slow  # real commands in terminals of several widths

TALL = {"files": ["varn.pdf"], "answers": [["41.5"]]}
MINE: dict[str, Any] = {"files": ["varn.pdf"], "answers": [], "answerable": False}
FIELDS = {
    "Zebra": [{"question": f"How tall is tower {n}?", **TALL} for n in range(3)],
    "Mountains": [{"question": "How tall is the mast?", **TALL}, {"question": "Who owns the mine?", **MINE}],
    "Alpha": [{"question": f"Who owns pit {n}?", **MINE} for n in range(2)],
}
ORDER = list(FIELDS)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Two runs whose categories are not in the order of the alphabet; the second answers everything."""
    project = write_project(tmp_path_factory.mktemp("presentation"))
    project.write("questions.json", json.dumps(FIELDS))
    text = project.config.read_text().split("generate:")[0]
    for name, said in (("before", "The document does not say."), ("after", "It is owned by Ada Brandt.")):
        replies = f"{{tall: The tower is 41.5 m tall., owns: '{said}'}}"
        project.write(
            f"{name}.yaml",
            text.replace("tiny", name) + f"generate: {{kind: scripted, replies: {replies}}}\n",
        )
        done = project.fathoms("run", f"{name}.yaml")
        assert done.returncode == 0, done.stderr
    done = project.fathoms("score", "before", "after", "--metric", "abstention-f1")
    assert done.returncode == 0, done.stderr
    done = project.fathoms("report", "before", "after", "--to", str(project.path / "both"))
    assert done.returncode == 0, done.stderr
    return project


def order_in(text: str) -> list[str]:
    """The categories in the order in which a text names them."""
    return list(dict.fromkeys(re.findall("|".join(ORDER), text)))


@pytest.mark.parametrize(
    "command",
    [
        ("score", "after", "--all"),
        ("report", "after", "--all"),
        ("report", "before", "after", "--all"),
        ("compare", "before", "after", "--all"),
        ("compare", "before", "after", "--metric", "hallucination", "--all"),
        ("gate", "after", "--baseline", "before", "--metric", "hallucination", "--by-category", "--all"),
    ],
)
def test_categories_keep_their_order_on_the_terminal(two: Project, command: tuple[str, ...]) -> None:
    assert order_in(two.fathoms(*command).stdout) == ORDER


@pytest.mark.parametrize("name", ["report.md", "table.tex", "report.json", "scores.csv", "report.html"])
def test_categories_keep_their_order_in_files(two: Project, name: str) -> None:
    assert order_in((two.path / "both" / name).read_text()) == ORDER


def test_categories_keep_their_order_in_the_summary_and_the_radar(two: Project) -> None:
    run = two.runs()[-1]
    summary = json.loads((run / "summary.json").read_text())
    for figures in (summary["profiles"]["fathoms"], summary["metrics"]["truthfulness"]):
        assert list(figures["categories"]) == ORDER
    assert two.fathoms("report", run.name, "--to", str(two.path / "plots")).returncode == 0
    assert order_in((two.path / "plots" / "radar-correctness.svg").read_text()) == ORDER


def test_categories_keep_their_order_where_answers_came_in_another(two: Project) -> None:
    """The journal is turned round, as if the last question had been answered first."""
    run = two.runs()[-1]
    journal = run / "journal.jsonl"
    text = journal.read_text()
    try:
        journal.write_text("".join(reversed(text.splitlines(keepends=True))))
        assert two.fathoms("score", "after").returncode == 0
        (found,) = two.json("report", "after")
        assert list(found["categories"]) == ORDER
        assert list(found["metrics"]["truthfulness"]["categories"]) == ORDER
        assert list(found["funnel"]["categories"]) == ORDER
    finally:
        journal.write_text(text)
        assert two.fathoms("score", "after").returncode == 0


@pytest.mark.parametrize(
    "command", [("compare", "before", "after", "--all"), ("report", "before", "after", "--all")]
)
def test_ids_of_runs_are_never_broken(
    two: Project, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    for columns in ("80", "30"):
        monkeypatch.setenv("COLUMNS", columns)
        shown = two.fathoms(*command).stdout
        assert all(run.name in shown for run in two.runs()), shown


def test_runs_are_listed_by_names_that_commands_know(
    two: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Of two runs of one name, the older one has a number, at any width."""
    out = ("--out", str(tmp_path))
    before, after = two.runs()
    for run in (before, after):
        shutil.copytree(run, tmp_path / run.name)
    shutil.copytree(before, tmp_path / before.name.replace("_before_", "_after_"))
    for columns in ("40", "60", "80"):
        monkeypatch.setenv("COLUMNS", columns)
        lines = two.fathoms("ls", *out).stdout.splitlines()
        assert [line.split()[0] for line in lines[1:4]] == ["after~1", "before", "after"]
        assert max(map(len, lines)) <= int(columns)
    assert two.json("show", "after~1", *out)["manifest"]["name"] == "before"


def test_the_hallucination_rates_stand_on_the_terminal_and_in_markdown(two: Project) -> None:
    """By hand: 4 answerable questions are answered rightly, 3 unanswerable ones are answered: 3 of 7."""
    shown = two.fathoms("score", "after", "--only", "abstention").stdout
    rows = {" ".join(line.split()) for line in shown.splitlines()}
    assert {
        "answerable 4 (1.00) 0 (0.00) 0.00 (4)",
        "unanswerable 3 (1.00) 0 (0.00) 1.00 (3)",
        "all 7 (1.00) 0 (0.00) 0.43 (7)",
    } <= rows
    report = (two.path / "both" / "report.md").read_text()
    assert "| after | all | 7 (1.00) | 0 (0.00) | 0.43 (7) |" in report


@pytest.mark.parametrize("profile", ["paper", "released-code"])
def test_the_profiles_of_the_paper_have_no_such_rates(two: Project, profile: str) -> None:
    assert (
        "unanswerable questions" not in two.fathoms("score", "before", "--profile", profile, "--all").stdout
    )
    assert two.fathoms("score", "before", "--profile", "fathoms").returncode == 0


def test_the_paper_s_scale_is_an_option(two: Project, tmp_path: Path) -> None:
    for scale, label in (("plain", ">1.00<"), ("paper", ">100 %<")):
        done = two.fathoms("report", "before", "after", "--to", str(tmp_path), "--radar-scale", scale)
        assert done.returncode == 0, done.stderr
        assert label in (tmp_path / "radar-correctness.svg").read_text()
        # Alpha has no answerable question, so there is no correctness to draw
        assert (tmp_path / "radar-correctness.svg").read_text().count(">no value<") == 2
    done = two.fathoms("report", "before", "after", "--radar-scale", "large")
    assert done.returncode == 2
    assert "is not one of 'plain', 'paper'" in done.stderr
