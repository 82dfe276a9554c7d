"""Tables 9 and 2 of MiRAGE from the judgements of its people, as released."""

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


@pytest.mark.slow
def test_table_2_by_name_is_the_other_way_round(mirage: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, done, _ = reproduced(capsys, "mirage/table-2", "--results", str(mirage))
    cells = {cell["row"]: cell for row in done["rows"] for cell in row["cells"] if cell["column"] == "EQJ 1"}
    assert code == 0
    assert [(row, cell["status"]) for row, cell in cells.items()] == [
        ("ICJ 1", "same"),
        ("ICJ 2", "documented"),
        ("ICJ 3", "not compared"),
        ("GJ", "not compared"),
    ]
    assert (cells["ICJ 2"]["paper"], cells["ICJ 2"]["ours"]) == ("60.5", "65.3")
    assert "Table 2 prints this person as ICJ 3" in cells["ICJ 2"]["why"]


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
    kept = taken.read_bytes()
    taken.unlink()
    code, done, said = reproduced(capsys, "mirage/table-9", "--results", str(tmp_path))
    assert (code, statuses(done).count("same")) == (0, 18)
    assert f"files are absent: {taken.name}\n" in said
    taken.write_bytes(kept)
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
    table = load_table("mirage/table-9")
    for row in table.rows:
        cells = " ".join(f"{value:.1f}" for printed in row.printed.values() for value in printed)
        assert f"{row.row} {cells}\n" in text
    for row in load_table("mirage/table-2").rows[:3]:
        assert f"{row.row} {' '.join(f'{value:.1f}' for value in row.printed['F1'])}\n" in text
