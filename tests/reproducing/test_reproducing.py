"""Published tables beside our figures: one of one's own, the paper's from the released files, and live."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from support import Project

from fathoms.errors import ConfigError, DataError, UsageError
from fathoms.metrics import Scoring
from fathoms.reproducing import Table, compare, find_results, load_table, released_figures, table_names

TABLE: dict[str, Any] = {
    "table": "Table 1",
    "paper": "A paper",
    "columns": {"Overall": None, "A": "Text-Only", "B": "Tables"},
    "compare": {"correctness": "paper", "hallucination": "released"},
    "rows": [
        {
            "row": "tiny",
            "words": ["tiny:1b", "RAG"],
            "config": "tiny.yaml",
            "printed": {"correctness": [0.12, 0.12, 0.12], "hallucination": [0.5, 1, 0]},
        },
        {
            "row": "other",
            "words": ["other"],
            "config": "tiny.yaml",
            "printed": {"correctness": [0.5, None, 0.5], "hallucination": [0.5, None, 0.5]},
        },
    ],
}


def response(category: str, flag: bool, found: int) -> dict[str, Any]:
    return {
        "category": category,
        "question": f"{category}?",
        "required_files": ["a.pdf"],
        "pred_answer": " ".join(f"w{number}" for number in range(found)),
        "ground_truth": [[f"w{number}" for number in range(8)]],
        "correctness_score": found / 8,
        "suspected_hallucination": flag,
    }


def write_results(folder: Path, *names: str) -> Path:
    """Correctness 0.125 in both categories, which prints as 0.12: it is exact in binary, and even wins."""
    folder.mkdir(exist_ok=True)
    responses = [response("Text-Only", True, 1), response("Tables", False, 1)]
    for name in names:
        data = {"model": "m", "api_model": "tiny:1b", "responses": responses}
        (folder / name).write_text(json.dumps(data))
    return folder


def table(**changes: Any) -> Table:
    return Table.model_validate({**TABLE, **changes})


def test_cells_compare_as_they_are_printed(tmp_path: Path) -> None:
    results, strays = find_results(table(), write_results(tmp_path, "tiny-1b__RAG.json", "else.json"))
    assert list(results) == ["tiny"]
    assert strays == (f"{tmp_path / 'else.json'} is of no row of Table 1, or of several",)
    found = compare(table(), released_figures(table(), results, Scoring()))
    assert {(cell.paper, cell.ours) for cell in found.rows[0].cells} == {
        ("0.12", "0.12"),
        ("0.50", "0.50"),
        ("1.00", "1.00"),
        ("0.00", "0.00"),
    }
    assert [row.compared for row in found.rows] == [True, False]
    assert found.reproduced
    assert {cell.status for cell in found.rows[1].cells} == {"not compared"}


def test_a_difference_counts_unless_it_is_known_to_the_digit(tmp_path: Path) -> None:
    printed = {"correctness": [0.12, 0.13, 0.12], "hallucination": [0.5, 1, 0]}
    rows = [{**TABLE["rows"][0], "printed": printed}, TABLE["rows"][1]]
    known = {"row": "tiny", "metric": "correctness", "column": "A", "ours": 0.12, "why": "rounding"}
    results, _ = find_results(table(), write_results(tmp_path, "tiny-1b RAG.json"))
    statuses = []
    for differences in ([], [known], [{**known, "ours": 0.11}]):
        wanted = table(rows=rows, differences=differences)
        found = compare(wanted, released_figures(wanted, results, Scoring()))
        statuses.append((found.rows[0].cells[1].status, found.reproduced))
    assert statuses == [("differs", False), ("documented", True), ("differs", False)]


def test_results_that_cannot_be_told_apart_or_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="two files are of the row 'tiny'"):
        find_results(table(), write_results(tmp_path / "two", "tiny-1b_RAG.json", "tiny_1b RAG.json"))
    with pytest.raises(DataError, match="holds no result file of Table 1"):
        find_results(table(), write_results(tmp_path / "none", "else.json"))
    with pytest.raises(UsageError, match="no such folder"):
        find_results(table(), tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"columns": {"Overall": None}}, "correctness has 3 cells for 1 columns"),
        (
            {"differences": [{"row": "x", "metric": "correctness", "column": "A", "ours": 0, "why": "?"}]},
            "there is no cell x, A",
        ),
        ({"colums": {}}, "unknown key 'colums'"),
    ],
)
def test_a_table_that_is_wrong_is_refused(tmp_path: Path, changes: dict[str, Any], complaint: str) -> None:
    path = tmp_path / "table.yaml"
    path.write_text(yaml.safe_dump({**TABLE, **changes}))
    with pytest.raises(ConfigError, match=complaint):
        load_table(str(path))


def test_names() -> None:
    assert table_names() == ("fathoms-rag/table-2",)
    with pytest.raises(UsageError, match="did you mean 'fathoms-rag/table-2'"):
        load_table("fathoms-rag/table2")
    with pytest.raises(UsageError, match="did you mean 'tiny'"):
        table().select(("tinny",))


def test_table_2_is_the_papers(shared: Path) -> None:
    """Every cell, against the text of the paper itself."""
    text = (shared.parent / "papers" / "fathoms-rag.txt").read_text()
    lines = text[text.index("TABLE II") :].splitlines()
    printed = [line.split("\t") for line in lines if line.count("\t") == 12 and "0." in line]
    paper = load_table("fathoms-rag/table-2")
    ours = [
        [value for pair in zip(*row.printed.values(), strict=True) for value in pair] for row in paper.rows
    ]
    assert ours == [[float(cell) for cell in line[1:]] for line in printed]
    assert [row.row.split()[-1] for row in paper.rows] == [line[0] for line in printed]
    assert len(ours) == 16


@pytest.mark.slow
def test_the_released_files_give_table_2(shared: Path, root: Path, tmp_path: Path) -> None:
    project = Project(tmp_path)
    results = str(shared / "fathoms-rag" / "results")
    done = project.json("reproduce", "fathoms-rag/table-2", "--results", results)
    assert (done["compared"], done["of"], done["reproduced"], done["differs"]) == (8, 16, True, [])
    cells = [cell for row in done["rows"] for cell in row["cells"]]
    known = [(cell["row"], cell["column"], cell["ours"]) for cell in cells if cell["status"] == "documented"]
    assert known == [("gpt_4o", "Overall", "0.72"), ("gpt_4o", "Images", "0.71")]
    assert sum(cell["status"] == "same" for cell in cells) == 94

    text = (root / "fathoms/reproducing/tables/fathoms-rag/table-2.yaml").read_text()
    changed = text.replace("[0.79, 0.90, 0.92, 0.79, 0.72, 0.64]", "[0.79, 0.90, 0.92, 0.79, 0.73, 0.64]")
    assert changed != text
    project.write("changed.yaml", changed)
    failed = project.fathoms("reproduce", "changed.yaml", "--results", results)
    assert failed.returncode == 1
    assert "gpt_4_1, correctness, MM: printed 0.73, ours 0.72: DIFFERS" in failed.stdout
    assert failed.stdout.splitlines()[-1] == (
        "8 of 16 rows compared; of their cells 93 the same, 2 differ as known, 1 differ"
    )


@pytest.mark.slow
def test_live_runs_the_pipelines(project: Project) -> None:
    """By hand, as in the flow: Text-Only (1 + 0) / 2, Tables 0 / 1, macro 0.25."""
    project.write("table.yaml", yaml.safe_dump(TABLE))
    arguments = ("reproduce", "table.yaml", "--live", "--row", "tiny", "--configs", ".")
    done = project.fathoms(*arguments)
    assert done.returncode == 0, done.stderr
    assert "corr. live" in done.stdout
    assert [path.name.split("_")[1] for path in project.runs()] == ["tiny"]
    live = project.json(*arguments)["rows"][0]["live"]
    assert live["metrics"]["correctness"] == {"Overall": 0.25, "A": 0.5, "B": 0.0}
    assert project.fathoms("reproduce", "table.yaml").returncode == 2

    project.write(
        "tiny.yaml", project.config.read_text().replace("  default:", "  fail_on: {ore: broken}\n  default:")
    )
    assert project.fathoms(*arguments).returncode == 1
