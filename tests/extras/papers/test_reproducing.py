"""Published tables beside our figures: one of one's own, the paper's from the released files, and live."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from fathoms.cli import main
from fathoms.errors import ConfigError, DataError, UsageError
from fathoms.extras.papers.beside import compare
from fathoms.extras.papers.display import contradictions, reproduced_panel
from fathoms.extras.papers.released import find_results, released_figures
from fathoms.extras.papers.tables import Table, load_table, table_names
from fathoms.metrics.score_records import Scoring
from tests.support.project import Project

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
    write_results(tmp_path, "tiny-1b__RAG.json", "else.json")
    (tmp_path / "cut-off.json").write_text('{"model": "m", "responses": [{')
    results, strays, [damaged] = find_results(table(), [tmp_path])
    assert list(results) == ["tiny"]
    assert damaged.startswith(f"left out: {tmp_path / 'cut-off.json'}")
    assert strays == (f"{tmp_path / 'else.json'} matches no row of Table 1, or more than one",)
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


@pytest.mark.slow
def test_a_difference_counts_unless_it_is_known_to_the_digit(tmp_path: Path) -> None:
    printed = {"correctness": [0.12, 0.13, 0.12], "hallucination": [0.5, 1, 0]}
    rows = [{**TABLE["rows"][0], "printed": printed}, TABLE["rows"][1]]
    known = {"row": "tiny", "metric": "correctness", "column": "A", "ours": 0.12, "why": "rounding"}
    results, *_ = find_results(table(), [write_results(tmp_path, "tiny-1b RAG.json")])
    statuses = []
    for differences in ([], [known], [{**known, "ours": 0.11}]):
        wanted = table(rows=rows, differences=differences)
        found = compare(wanted, released_figures(wanted, results, Scoring()))
        statuses.append((found.rows[0].cells[1].status, found.reproduced))
    assert statuses == [("differs", False), ("documented", True), ("differs", False)]


def test_results_that_cannot_be_told_apart_or_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="two files match the row 'tiny'"):
        find_results(table(), [write_results(tmp_path / "two", "tiny-1b_RAG.json", "tiny_1b RAG.json")])
    with pytest.raises(DataError, match="no result file of Table 1 is in"):
        find_results(table(), [write_results(tmp_path / "none", "else.json")])
    with pytest.raises(UsageError, match="the folder of results does not exist"):
        find_results(table(), [tmp_path / "nowhere"])


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


@pytest.mark.parametrize(
    ("changes", "key", "complaint"),
    [
        ({"compare": {"correctness": "papr"}}, "papr", r"no profile 'papr' \(did you mean 'paper'\?\)"),
        (
            {"compare": {"corectness": "paper"}},
            "corectness",
            r"no metric 'corectness' \(did you mean 'correctness'\?\)",
        ),
        ({"results": "fathom-rag"}, "results: fathom-rag", r"did you mean 'fathoms-rag'\?"),
        ({"compare": {"correctness": "paper"}}, None, "tiny: hallucination is printed"),
        ({"results": "answers"}, None, "'questions' names"),
        ({"questions": "q.json"}, None, "'questions' names"),
    ],
)
def test_a_wrong_name_is_told_at_its_place(
    tmp_path: Path, changes: dict[str, Any], key: str | None, complaint: str
) -> None:
    path = tmp_path / "table.yaml"
    path.write_text(yaml.safe_dump({**TABLE, **changes}))
    line = 1 + next((n for n, text in enumerate(path.read_text().splitlines()) if key and key in text), 0)
    with pytest.raises(ConfigError, match=rf"table\.yaml:{line}:\d+: .*{complaint}"):
        load_table(str(path))


def test_an_empty_cell_is_not_compared(tmp_path: Path) -> None:
    printed = {"correctness": [0.12, None, 0.12], "hallucination": [0.5, 1, None]}
    wanted = table(rows=[{**TABLE["rows"][0], "printed": printed}])
    results, *_ = find_results(wanted, [write_results(tmp_path, "tiny-1b RAG.json")])
    found = compare(wanted, released_figures(wanted, results, Scoring()))
    assert [cell.column for cell in found.cells("not compared")] == ["A", "B"]
    assert (found.cells("differs"), found.reproduced) == ([], True)
    empty = table(rows=[{**TABLE["rows"][0], "printed": {"correctness": [None] * 3}}])
    assert not compare(empty, released_figures(empty, results, Scoring())).reproduced


def test_another_papers_table_is_one_more_yaml(tmp_path: Path) -> None:
    """Answers with questions of one's own, percents, another metric; nothing stands in for released flags."""
    questions = [{"id": f"q{i}", "question": f"What is {i}?", "answers": [[f"n{i}"]]} for i in range(8)]
    (tmp_path / "questions.json").write_text(json.dumps({"Facts": questions}))
    rows = [{"id": f"q{i}", "answer": f"It is n{i}." if i < 7 else "I do not know."} for i in range(8)]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, rows)))
    text = {
        "table": "Table 3",
        "paper": "Another paper",
        "results": "answers",
        "questions": "questions.json",
        "columns": {"All": None},
        "compare": {"correctness": "fathoms", "abstention": "fathoms", "hallucination": "released"},
        "unit": "percent",
        "digits": 1,
        "rows": [
            {
                "row": "mine",
                "words": ["mine"],
                "config": "mine.yaml",
                "printed": {"correctness": [87.5], "abstention": [12.5], "hallucination": [40]},
            }
        ],
    }
    (tmp_path / "table.yaml").write_text(yaml.safe_dump(text))
    wanted = load_table(str(tmp_path / "table.yaml"))
    results, *_ = find_results(wanted, [tmp_path])
    found = compare(wanted, released_figures(wanted, results, Scoring()))
    cells = {cell.metric: (cell.paper, cell.ours, cell.status) for cell in found.rows[0].cells}
    assert cells == {
        "correctness": ("87.5", "87.5", "same"),
        "abstention": ("12.5", "12.5", "same"),
        "hallucination": ("40.0", None, "not compared"),
    }
    assert (found.reproduced, found.rows[0].ours) == (True, {"All": "0.0"})


def test_it_fits_80_columns_and_no_word_is_broken() -> None:
    paper = load_table("fathoms-rag/table-2")
    console = Console(width=80, record=True, color_system=None, file=io.StringIO())
    for part in reproduced_panel(paper, compare(paper, {}), {}):
        console.print(part)
    lines = console.export_text().splitlines()
    assert max(map(len, lines)) <= 80
    assert {"gpt_oss:120b", "claude-sonnet-4"} < set(" ".join(lines).split())
    assert lines[1].startswith("each cell")


def test_the_authors_folders_are_read_at_any_depth_and_several_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in their repository: a folder for each pipeline, beside JSON files that are no results."""
    write_results(tmp_path / "Results")
    write_results(tmp_path / "Results" / "LlamaIndex RAG", "tiny:1b__RAG.json")
    write_results(tmp_path / "closed", "other_api.json")
    for name in ("training.json", "notes.json"):
        (tmp_path / "Results" / name).write_text('{"statement": ["It is."]}')
    results, [stray], damaged = find_results(table(), [tmp_path / "Results", tmp_path / "closed"])
    assert (sorted(results), damaged) == (["other", "tiny"], ())
    assert (
        stray == f"{tmp_path / 'Results'}: 2 JSON files without results, left out: notes.json, training.json"
    )
    assert list(find_results(table(), [tmp_path / "closed", tmp_path / "closed"])[0]) == ["other"]
    with pytest.raises(DataError, match="two files match the row 'tiny'"):
        find_results(table(), [tmp_path / "Results", write_results(tmp_path / "again", "tiny:1b__RAG.json")])
    path = tmp_path / "table.yaml"
    path.write_text(yaml.safe_dump(TABLE, sort_keys=False))
    both = [f"--results={tmp_path / 'Results'}", f"--results={tmp_path / 'closed'}"]
    main(["reproduce", str(path), *both, "--json"])
    assert [row["compared"] for row in json.loads(capsys.readouterr().out)["rows"]] == [True, True]
    assert main(["reproduce", "mirage/table-9", *both]) == 2
    assert "mirage/table-9 takes one --results, not 2" in capsys.readouterr().err


def test_what_the_paper_says_otherwise_is_named(shared: Path) -> None:
    """Each such sentence is in the paper, and the figures of the table are its own."""
    text = (shared.parent / "papers" / "fathoms-rag.txt").read_text()
    paper = load_table("fathoms-rag/table-2")
    assert isinstance(paper, Table)
    for said in (
        "peaked at 0.33",
        "LlamaIndex to 0.29\N{EN DASH}0.36",
        "0.20\N{EN DASH}0.32",
        "0.90$  correctness",
        "80\\%$  correct",
    ):
        assert said in text, said
    of = {row.row: row.printed for row in paper.rows}
    overall = [printed["correctness"][0] for name, printed in of.items() if name.startswith("LlamaIndex")]
    images = [printed["correctness"][3] for name, printed in of.items() if name.startswith("Docling")]
    assert (max(filter(None, overall)), min(filter(None, images)), max(filter(None, images))) == (
        0.32,
        0.07,
        0.36,
    )
    assert (of["gpt_4o"]["correctness"][2], of["gpt_4o"]["hallucination"][:3:2]) == (0.77, (0.31, 0.23))
    shown = " ".join(contradictions(paper))
    assert [figure in shown for figure in ("0.33", "0.29 to 0.36", "0.77")] == [True] * 3


def test_an_unknown_row_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_results(tmp_path / "results", "tiny-1b RAG.json")
    path = tmp_path / "table.yaml"
    path.write_text(yaml.safe_dump(TABLE, sort_keys=False))
    arguments = ["reproduce", str(path), "--results", str(folder)]
    assert main([*arguments, "--row", "nonsense"]) == 2
    assert "has no row 'nonsense'" in capsys.readouterr().err
    assert main([*arguments, "--row", "tiny", "--json"]) == 0
    assert [row["row"] for row in json.loads(capsys.readouterr().out)["rows"]] == ["tiny"]
    assert main(["reproduce", str(path), "--live", "--configs", str(tmp_path / "none"), "--row", "tiny"]) == 2
    assert "--configs DIR names the folder that holds tiny.yaml" in capsys.readouterr().err


def test_names() -> None:
    mirage = (f"mirage/table-{number}" for number in range(1, 10))
    mmdocrag = (f"mmdocrag/{name}" for name in ("ocr", "quotes15", "quotes20", "retrieval"))
    mmdocir = ("mmdocir/table-5", "mmdocir/table-6")
    assert table_names() == ("fathoms-rag/table-2", *mirage, *mmdocir, *mmdocrag, "ragchecker/table-5")
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
    assert done["flags"]["of"] == 744
    assert done["flags"]["same"] / 744 == pytest.approx(0.86, abs=0.03)  # with hashed words or MiniLM
    exemplars = shared / "fathoms-rag" / "statement_abstention_training.json"
    assert Path(done["flags"]["exemplars"]) == exemplars.resolve()
    cells = [cell for row in done["rows"] for cell in row["cells"]]
    known = [(cell["row"], cell["column"], cell["ours"]) for cell in cells if cell["status"] == "documented"]
    assert known == [("gpt_4o", "Overall", "0.72"), ("gpt_4o", "Images", "0.71")]
    assert sum(cell["status"] == "same" for cell in cells) == 94

    text = (root / "fathoms/extras/papers/tables/fathoms-rag/table-2.yaml").read_text()
    changed = text.replace("[0.79, 0.90, 0.92, 0.79, 0.72, 0.64]", "[0.79, 0.90, 0.92, 0.79, 0.73, 0.64]")
    assert changed != text
    project.write("changed.yaml", changed)
    failed = project.fathoms("reproduce", "changed.yaml", "--results", results)
    assert failed.returncode == 1
    assert "gpt_4_1, correctness, MM: printed 0.73, ours 0.72: DIFFERS" in failed.stdout
    said = "8 of 16 rows compared; of their cells, 93 the same, 2 differ for a known reason, 1 differ"
    assert said in failed.stdout


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

    # a dollar a token: the first question is already too dear
    price = "  kind: scripted\n  price: {input: 1000000, output: 1}"
    project.write("tiny.yaml", project.config.read_text().replace("  kind: scripted", price))
    poor = project.fathoms(*arguments, "--max-cost", "0")
    assert (poor.returncode, "stopped by its budget" in poor.stderr) == (3, True), poor.stderr
    project.write(
        "tiny.yaml", project.config.read_text().replace("  default:", "  fail_on: {ore: broken}\n  default:")
    )
    assert project.fathoms(*arguments).returncode == 1
