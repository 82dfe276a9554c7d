"""The table of MMDocRAG with 20 quotes, from released answers and from files with other names and faults."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fathoms.cli import main
from fathoms.extras.papers.quotes import setting_of
from fathoms.extras.papers.tables import QuotesTable, load_table
from tests.support.mmdocrag import GRADES, write

TABLE = "mmdocrag/quotes20"
GOOD = dict.fromkeys(GRADES, 4)
TOY = {
    **{"table": "T", "paper": "P", "results": "mmdocrag", "compare": {"printed": "released"}},
    "columns": {"quote F1": {"metric": "mmdocrag.overall-f1"}},
    "rows": [
        {"row": name, "model": name.lower(), "mode": "pure-text", "printed": {"printed": [100.0]}}
        for name in ("Grok-3-beta", "GPT-4.1")
    ],
}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    write(tmp_path / "gold_quotes.jsonl", [{"q_id": n, "gold_quotes": ["image1", "text2"]} for n in range(2)])
    answers = [{"q_id": n, "response": "<think>[9]</think>\n\n[2] ![a](image1)"} for n in range(2)]
    write(tmp_path / "responses" / "Grok-3-Beta_pure-text_quotes20_response.jsonl", answers)
    write(tmp_path / "responses" / "qwen3-4b_multimodal_response_quotes20.jsonl", answers[:1])
    write(tmp_path / "responses" / "grok-3-beta_pure-text_quotes15_response.jsonl", answers)
    grades = [{"q_id": 0, "response": GOOD}, {"q_id": 1, "response": {**GOOD, "Fluency": None}}]
    write(tmp_path / "judge" / "grok-3-beta_pure-text_response_quotes20.jsonl_evaluation.jsonl", grades)
    return tmp_path


def reproduced(capsys: pytest.CaptureFixture[str], results: Path, *more: str) -> tuple[int, Any, str]:
    code = main(["reproduce", TABLE, "--results", str(results), *more, "--json"])
    shown = capsys.readouterr()
    return code, json.loads(shown.out) if shown.out else None, shown.err


def test_files_are_found_by_model_mode_and_number_of_quotes(
    results: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, done, said = reproduced(capsys, results)
    assert code == 1  # the figures are not those of the printed row
    assert [(run["row"], run["mode"], run["judge"] is None) for run in done["runs"]] == [
        ("Grok-3-beta", "pure-text", False),
        ("qwen3-4b (MM)", "multimodal", True),
    ]
    first, other = done["runs"]
    assert first["metrics"]["mmdocrag.overall-f1"] == other["metrics"]["mmdocrag.overall-f1"] == 1
    assert first["metrics"]["mmdocrag.fluency"] == 4
    assert first["metrics"]["mmdocrag.fluency-released"] == 2
    assert first["counts"] == {
        **{"questions": 2, "answers": 2, "failed": 0, "rows_left_out": 0},
        **{"grades": 2, "unread_grades": 0},
    }
    assert (other["counts"]["answers"], "mmdocrag.fluency" in other["metrics"]) == (1, False)
    assert "qwen3-4b_multimodal_response_quotes20.jsonl: 1 of 2 questions have no answer: 1" in said
    assert "qwen3-4b_multimodal_response_quotes20.jsonl: there is no file of grades for it" in said
    (last,) = (row for row in done["rows"] if row["row"] == "qwen3-4b (MM)")
    cells = {cell["column"]: (cell["paper"], cell["ours"], cell["status"]) for cell in last["cells"]}
    assert cells["quote F1"] == ("n/a", "100.0", "not compared")
    assert cells["quality"] == ("n/a", None, "not compared")
    assert [cell["column"] for cell in done["differs"]] == ["quote F1", "quality"]

    monkeypatch.setenv("COLUMNS", "120")
    assert main(["reproduce", TABLE, "--results", str(results), "--row", "Grok-3-beta"]) == 1
    shown = capsys.readouterr().out
    assert re.search(r"ours +100.0 +100.0 +100.0 +100.0 +100.0 +100.0 +100.0! +2.00 +4.00", shown)
    assert "Grok-3-beta, printed, quote F1: printed 57.9, ours 100.0: DIFFERS" in shown
    assert "1 of 1 rows compared; of their printed cells 0 the same, 2 differ" in shown


def test_what_was_not_compared_is_no_success(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The one file left is of no printed row; then a row that agrees, chosen beside one without answers."""
    (grok,) = (results / "responses").glob("Grok*")
    text = grok.read_text()
    grok.unlink()
    code, done, _ = reproduced(capsys, results)
    assert (code, done["compared"], done["differs"]) == (1, 0, [])
    code, _, said = reproduced(capsys, results, "--row", "Grok-3-beta")
    assert code == 1
    assert "has no answers of the row 'Grok-3-beta', so it was not compared" in " ".join(said.split())

    grok.write_text(text)
    table = results / "mine.yaml"
    table.write_text(json.dumps(TOY))
    shown = ["reproduce", str(table), "--results", str(results), "--row"]
    assert main([*shown, "Grok-3-beta"]) == 0
    empty = results / "responses" / "gpt-4.1_pure-text_quotes20_response.jsonl"
    empty.touch()
    capsys.readouterr()
    assert main([*shown, "Grok-3-beta"]) == 1
    said = capsys.readouterr()
    assert "1 of 1 rows compared" in said.out
    assert f"left out: {empty}" in said.err.replace("\n", " ")
    empty.unlink()
    assert main([*shown, "Grok-3-beta", "--row", "GPT-4.1"]) == 1


def test_a_folder_that_lacks_something_says_what(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reproduced(capsys, results, "--live")[0] == 2
    (results / "gold_quotes.jsonl").unlink()
    assert "contains no gold quotes: expected a file gold*.jsonl" in reproduced(capsys, results)[2]
    write(tmp_path / "empty" / "gold.jsonl", [{"q_id": 0, "gold_quotes": []}])
    assert "contains no answers with 20 quotes" in reproduced(capsys, tmp_path / "empty")[2]


def test_one_bad_pair_leaves_out_only_itself(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Equal files under an old and a new name are one run; files that differ are named, and no more."""
    (grok,) = (results / "responses").glob("Grok*20*")
    old = grok.with_name("grok-3-beta_pure-text_response_quotes20.jsonl")
    old.write_text(grok.read_text())
    assert [run["row"] for run in reproduced(capsys, results)[1]["runs"]] == ["Grok-3-beta", "qwen3-4b (MM)"]
    old.write_text("{}")
    code, done, said = reproduced(capsys, results)
    assert (code, [run["row"] for run in done["runs"]]) == (1, ["qwen3-4b (MM)"])
    assert f"left out: these files are of one model and mode, and differ: {grok}, {old}" in said
    old.unlink()
    (judge,) = (results / "judge").glob("*20*")
    (results / "judge" / "grok-3-beta_pure-text_quotes20_llm-judge.jsonl").write_text("{}")
    code, done, said = reproduced(capsys, results)
    assert (code, [run["judge"] for run in done["runs"]]) == (1, [None, None])
    assert f", {judge}\n" in said


def test_runs_on_ocr_text_are_rows_of_their_own_beside_those_on_descriptions(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of two questions, OCR misses the pictures: the F1 of both kinds falls from 1 to 2/3."""
    answers = [{"q_id": n, "response": "[2]"} for n in range(2)]
    write(results / "responses" / "Grok-3-beta_pure-text_ocr_quotes20_response.jsonl", answers)
    _, done, _ = reproduced(capsys, results)
    found = {run["row"]: run for run in done["runs"]}
    assert (found["Grok-3-beta (OCR)"]["mode"], found["Grok-3-beta (OCR)"]["judge"]) == (
        "pure-text-ocr",
        None,
    )
    assert main(["reproduce", "mmdocrag/ocr", "--results", str(results), "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    rows = {
        row["row"]: {(cell["metric"], cell["column"]): cell for cell in row["cells"]} for row in done["rows"]
    }
    model = rows["Grok-3-Beta"]
    shown = [model[name, "quote F1"]["ours"] for name in ("described", "OCR", "gain")]
    assert shown == ["100.0", "66.7", "33.3"]
    assert model["OCR", "quality"]["ours"] is None
    mean = rows["mean of the models"]["gain", "quote F1"]
    assert (mean["paper"], mean["ours"], mean["status"]) == ("6.5", "33.3", "documented")
    assert "the mean over 1 model whose two runs are at hand" in mean["why"]


def test_a_table_without_printed_figures_shows_what_comes_out(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", "mmdocrag/quotes15", "--results", str(results)]) == 0
    assert "1 run; our sources have no printed figures of this table" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("qwen2.5-72b_pure-text_ocr_quotes20_response.jsonl", ("qwen2572b", "pure-text-ocr", 20)),
        ("gpt-4.1_pure-text_quotes20_response.jsonl", ("gpt41", "pure-text", 20)),
        ("gpt-4.1_pure-text_quotes20_llm-judge.jsonl", ("gpt41", "pure-text", 20)),
        ("claude-3.5-sonnet_multimodal_response_quotes15.jsonl", ("claude35sonnet", "multimodal", 15)),
        ("deepseek-v3_ocr_pure-text_response_quotes20.jsonl", ("deepseekv3", "pure-text-ocr", 20)),
        ("Qwen2.5-72B-Instruct_pure-text_quotes20_response.jsonl", ("qwen2572b", "pure-text", 20)),
        ("mine_response.jsonl", ("mine", "unknown", None)),
    ],
)
def test_what_a_file_name_says(name: str, expected: tuple[str, str, int | None]) -> None:
    found = setting_of(Path(name))
    assert (*found.key, found.quotes) == expected


@pytest.mark.long  # six thousand answers with all their figures
def test_the_released_runs_give_the_published_cells(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, done, said = reproduced(capsys, shared / "mmdocrag")
    assert (code, done["compared"], done["reproduced"]) == (0, 3, True)
    rows = {row["row"]: {cell["column"]: cell for cell in row["cells"]} for row in done["rows"]}
    seven = ("image P", "image R", "image F1", "text P", "text R", "text F1", "quote F1")
    ours = [rows["GPT-4.1"][column]["ours"] for column in seven]
    assert ours == ["77.8", "80.9", "79.3", "42.2", "59.4", "49.4", "68.3"]
    grades = [
        rows["GPT-4.1"][name]["ours"] for name in ("fluency", "citation", "coherence", "logic", "factuality")
    ]
    assert grades == ["4.56", "3.74", "4.15", "3.98", "3.92"]
    assert [rows[name]["quote F1"]["ours"] for name in ("DeepSeek-V3", "Qwen2.5-72B-Inst")] == [
        "61.1",
        "59.1",
    ]
    assert [cell["ours"] for row in rows.values() for cell in row.values() if cell["column"] == "quality"][
        :3
    ] == [*("4.07", "3.75", "3.74")]
    default = {run["row"]: run["metrics"] for run in done["runs"]}["GPT-4.1"]
    names = (
        "fluency",
        "citation-quality",
        "text-image-coherence",
        "reasoning-logic",
        "factuality",
        "answer-quality",
    )
    assert [f"{default[f'mmdocrag.{name}']:.2f}" for name in names] == [
        "4.57",
        "3.75",
        "4.15",
        "3.98",
        "3.93",
        "4.08",
    ]
    assert "2 replies have no grades that can be read: 414, 440" in said


def test_the_cells_are_those_of_the_summary(shared: Path) -> None:
    """Every printed quote F1 and mean grade stands beside its model in the text."""
    text = (shared.parent / "papers" / "mmdocrag-summary.txt").read_text()
    table = load_table(TABLE)
    assert isinstance(table, QuotesTable)
    columns = list(table.columns)
    for row in table.rows:
        (cells,) = row.printed.values()
        f1, quality = cells[columns.index("quote F1")], cells[columns.index("quality")]
        name = re.sub(r" FT| \(MM\)|Qwen2.5-(?=7B)", "", row.row).replace("7B-Inst", "LLM")
        lines = [line for line in text.splitlines() if name in line]
        assert any(str(f1) in line and (quality is None or f"{quality:.2f}" in line) for line in lines), (
            row.row
        )
