"""Figures by a key of the metadata: worked by hand, and equal to those by category where the key is one."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from fathoms.api import Result
from fathoms.errors import UsageError
from fathoms.report.as_csv import report_csv
from fathoms.report.as_json import report_json
from fathoms.report.grouping import grouped, label
from fathoms.report.latex import report_latex
from fathoms.report.markdown import report_markdown
from fathoms.runs.run import Run
from tests.support.project import CONFIG, PAGES, QUESTIONS, Project, write_pdf
from tests.support.run_in_memory import RunInMemory

METADATA: tuple[dict[str, Any], ...] = (
    {"language": "en", "length": 10, "kind": "Text-Only"},
    {"language": "de", "length": 9, "kind": "Text-Only", "scan": True},
    {"language": "en", "length": 9, "kind": "Tables"},
    {"length": 10, "kind": "Tables"},
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The small project with metadata: the first question is answered, the others are not."""
    project = Project(tmp_path_factory.mktemp("grouped"))
    project.write("tiny.yaml", CONFIG)
    rows = [row for rows in QUESTIONS.values() for row in rows]
    highlighted = iter([row | {"metadata": more} for row, more in zip(rows, METADATA, strict=True)])
    project.write(
        "questions.json",
        json.dumps({name: [next(highlighted) for _ in rows] for name, rows in QUESTIONS.items()}),
    )
    (project.path / "pdfs").mkdir()
    for name, pages in PAGES.items():
        write_pdf(project.path / "pdfs" / name, pages)
    done = project.fathoms("run", "tiny.yaml")
    assert done.returncode == 0, done.stderr
    return Run.scored(project.runs()[0])


@pytest.mark.slow
def test_the_figures_of_the_groups(run: Run) -> None:
    """By hand: of the two English questions one is answered; the German one is not; the question without a
    language is unanswerable, and has no correctness."""
    (found,) = report_json([grouped(run, "language")])
    assert found["by"] == "language"
    figures = {name: (group["correctness"], group["n"]) for name, group in found["categories"].items()}
    assert figures == {"en": (0.5, 2), "de": (0.0, 1), "(none)": (None, 0)}
    assert found["overall"]["correctness"] == 0.25  # the mean of the groups
    assert found["overall"]["micro_correctness"] == pytest.approx(1 / 3)  # of the questions, as before
    assert grouped(run, "language").summary.categories == ("de", "en", "(none)")


def test_a_key_that_is_the_category_changes_no_figure(run: Run) -> None:
    regrouped = grouped(run, "kind")
    assert json.loads(json.dumps(regrouped.summary.plain()["profiles"])) == run.summary.plain()["profiles"]


def test_further_metrics_are_grouped_too(run: Run) -> None:
    """By hand: the answers have 7, 7, 3 and 3 words."""
    regrouped, whole = (one.summary.plain()["metrics"] for one in (grouped(run, "kind"), run))
    # a metric that adds up counts has no categories where a run is grouped
    assert regrouped == {**whole, "abstention-f1": {**whole["abstention-f1"], "categories": {}}}
    tokens = grouped(run, "language").metrics()["completion-tokens"]
    values = {name: figure.value for name, figure in tokens.categories.items()}
    assert values == {"en": 5, "de": 7, "(none)": 3}
    assert tokens.overall.value == 20 / 4


def test_numbers_are_sorted_by_size_and_truth_values_have_names(run: Run) -> None:
    assert grouped(run, "length").summary.categories == ("9", "10")
    assert grouped(run, "scan").summary.categories == ("true", "(none)")
    assert [label(value) for value in (1, 1.5, False, "", " x")] == ["1", "1.5", "false", "(none)", " x"]


def test_every_table_shows_the_groups(run: Run, tmp_path: Path) -> None:
    regrouped = grouped(run, "language")
    for text in (report_markdown([regrouped], tmp_path), report_latex([regrouped])):
        assert "Grouped by the metadata language instead of the category." in text
        assert "de" in text
        assert "Text-Only" not in text
    rows = csv.DictReader(io.StringIO(report_csv([regrouped]), newline=""))
    assert [row["category"] for row in rows].count("en") == 2


def test_the_groups_from_python(run: Run) -> None:
    assert run.path is not None
    frame = Result(run.path).categories(by="length")
    assert frame["n"].to_dict() == {"Overall": 3, "9": 2, "10": 1}
    assert frame.loc["10", "correctness"] == 1.0


def test_unknown_keys_are_named(run: Run) -> None:
    with pytest.raises(
        UsageError, match=r"no metadata 'langage' \(did you mean 'language'\?\): the keys are"
    ):
        grouped(run, "langage")


def test_a_key_with_too_many_values(run: Run) -> None:
    (view, *_) = run.views()

    def views() -> list[Any]:
        return [{**view, "question": {**view["question"], "metadata": {"n": n}}} for n in range(51)]

    many = RunInMemory("many", run.manifest.plain(), run.summary.plain(), views)
    with pytest.raises(UsageError, match="'n' of many has 51 different values, and a report shows 50"):
        grouped(many, "n")


@pytest.mark.slow
def test_the_command_line(run: Run) -> None:
    assert run.path is not None
    project, before = Project(run.path.parent.parent), (run.path / "report.md").read_bytes()
    done = project.fathoms("report", "tiny", "--by", "language")
    assert done.returncode == 0, done.stderr
    assert "by language" in done.stdout
    assert (run.path / "report.md").read_bytes() == before  # the run's own report stays
    (folder,) = (project.path / "runs" / "reports").iterdir()
    assert folder.name.endswith("_by-language")
    assert json.loads((folder / "report.json").read_text())[0]["by"] == "language"
    shown = project.fathoms("show", "tiny", "--by", "language")
    assert "by language" in shown.stdout
    assert project.json("show", "tiny", "--by", "language")["summary"]["categories"] == ["de", "en", "(none)"]
    refused = project.fathoms("show", "tiny", "--by", "nothing")
    assert (refused.returncode, "has no metadata 'nothing'" in refused.stderr) == (2, True)
