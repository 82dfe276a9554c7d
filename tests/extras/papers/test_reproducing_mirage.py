"""Tables 1 to 9 of MiRAGE from the judgements of its people and the figures of its metrics, as released."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from fathoms.cli import main
from fathoms.extras.papers.tables import load_table


@pytest.fixture
def mirage(shared: Path) -> Path:
    folder = shared / "mirage"
    if not folder.is_dir():
        pytest.skip("the released files of MiRAGE are not there")
    return folder


def reproduced(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any], str]:
    code = main(["reproduce", *arguments, "--json"])
    shown = capsys.readouterr()
    return code, json.loads(shown.out), shown.err


def statuses(done: dict[str, Any]) -> list[str]:
    return [cell["status"] for row in done["rows"] for cell in row["cells"]]


@pytest.mark.slow
def test_18_of_18_taus_of_table_9_come_out(mirage: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, done, said = reproduced(capsys, "mirage/table-9", "--results", str(mirage.parent))
    assert (code, done["reproduced"], len(statuses(done))) == (0, True, 27)
    assert (statuses(done).count("same"), statuses(done).count("not compared")) == (18, 9)
    assert {cell["metric"] for row in done["rows"] for cell in row["cells"] if cell["ours"] is None} == {
        "ICJ 3"
    }
    assert "annotator 1: 40 of 1912 claims have no judgement" in said
    assert re.search("annotator 3 is left out.*metric_reference_qwen_72b_rag_annotator_3_DONE.json", said)
    first = done["agreement"][0]
    assert (first["topics"], first["pairs"], first["undefined"]) == (10, 30, 0)
    assert first["tau"]["low"] < first["tau"]["value"] < first["tau"]["high"]


# how many cells come out as printed, and how many differ for a known reason; a third person is not at hand
CELLS = {1: (52, 2), 2: (8, 1), 3: (23, 1), 4: (26, 4), 5: (28, 2), 6: (22, 2), 7: (10, 8), 8: (16, 2)}


@pytest.mark.parametrize(
    "number",
    [pytest.param(n, marks=[pytest.mark.slow if n in (1, 3, 7) else pytest.mark.long]) for n in CELLS],
)
def test_the_tables_of_metrics_and_people_come_out(
    number: int, mirage: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, done, _ = reproduced(capsys, f"mirage/table-{number}", "--results", str(mirage))
    found = statuses(done)
    assert (code, found.count("differs")) == (0, 0)
    assert (found.count("same"), found.count("documented")) == CELLS[number]


@pytest.mark.slow
def test_files_of_metrics_and_grounding_that_are_absent_or_damaged_are_named(
    mirage: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "mirage"
    shutil.copytree(mirage, results, copy_function=shutil.copyfile)
    (results / "model_preds/metric_outputs/rouge/qwen3_llm_only_relevant_citations_rouge.json").unlink()
    grounding = next(results.rglob("all_qwen_72b_cag_claims*.csv"))
    whole = grounding.read_text()
    grounding.unlink()
    row = ("--row", "GJ", "--row", "EQJ 1")
    code, done, said = reproduced(capsys, "mirage/table-1", "--results", str(results), *row)
    assert "metric_outputs/rouge has no file of qwen3_llm_only" in said
    assert "there are no grounding judgements of qwen_72b_cag" in said
    assert (code, statuses(done).count("same")) == (0, 8)
    grounding.write_text(whole.replace("[true,", "[maybe,", 1))
    assert main(["reproduce", "mirage/table-1", "--results", str(results)]) == 1
    assert re.search(r"all_qwen_72b_cag_claims.*csv: row \d+", capsys.readouterr().err)


@pytest.mark.slow
def test_a_third_person_is_compared_once_all_files_are_there(
    mirage: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second person's files under the third's names: in folders of their own, and first without one."""
    results = tmp_path / "any" / "folder"
    shutil.copytree(mirage, results)
    (tmp_path / "other").mkdir()
    for path in sorted(results.rglob("*annotator_2_DONE.json")):
        (tmp_path / "other" / path.name.replace("_2_", "_3_")).write_bytes(path.read_bytes())
    taken = tmp_path / "other" / "metric_prediction_qwen3_llm_annotator_3_DONE.json"
    content = taken.read_bytes()
    taken.unlink()
    code, done, said = reproduced(capsys, "mirage/table-9", "--results", str(tmp_path))
    assert (code, statuses(done).count("same")) == (0, 18)
    assert f"files are absent: {taken.name}\n" in said
    taken.write_bytes(content)
    code, done, _ = reproduced(capsys, "mirage/table-9", "--results", str(tmp_path))
    assert (code, statuses(done).count("differs"), statuses(done).count("same")) == (1, 9, 18)

    (results / "preference_json_5.json").write_text("{}")
    assert main(["reproduce", "mirage/table-9", "--results", str(tmp_path)]) == 1
    assert "two different files have one name" in capsys.readouterr().err


def test_what_cannot_be_read_is_named_with_its_place(
    mirage: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", "mirage/table-9", "--live"]) == 2
    (tmp_path / "empty").mkdir()
    assert main(["reproduce", "mirage/table-9", "--results", str(tmp_path / "empty")]) == 1
    assert "contains no preference_key.json" in capsys.readouterr().err
    shutil.copytree(mirage, tmp_path / "mirage")
    path = next((tmp_path / "mirage").rglob("metric_reference_qwen_72b_cag_annotator_1_DONE.json"))
    path.chmod(0o644)
    path.write_text(path.read_text().replace('"judgment": true', '"judgment": "maybe"', 1))
    assert main(["reproduce", "mirage/table-9", "--results", str(tmp_path)]) == 1
    assert re.search(
        r"annotator_1_DONE\.json: not a file as MiRAGE.*claims\.0\.judgment", capsys.readouterr().err
    )


def test_the_cells_are_the_papers(shared: Path) -> None:
    text = (shared.parent / "papers" / "mirage.txt").read_text()
    rows = {tuple(re.findall(r"-?\d+\.\d", line)) for line in text.splitlines()}
    for number in range(1, 10):
        for row in load_table(f"mirage/table-{number}").rows:
            cells = tuple(f"{value:.1f}" for printed in row.printed.values() for value in printed)
            assert cells in rows, (number, row.row)
