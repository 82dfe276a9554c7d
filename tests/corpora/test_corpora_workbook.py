"""Workbooks (.xlsx) as question files: cells as people see them, and limits for hostile ones."""

from __future__ import annotations

import datetime
import io
import zipfile
from pathlib import Path
from typing import Any

import pytest

from fathoms.cli import main
from fathoms.corpora import read_questions
from fathoms.corpora.questions import find_places
from fathoms.errors import DataError, QuestionsError

openpyxl = pytest.importorskip("openpyxl", reason="the extra xlsx is not installed")
HEADER = ["question", "answers", "category", "files"]


def workbook(path: Path, *rows: list[Any], formats: dict[str, str] | None = None) -> Path:
    one_workbook = openpyxl.Workbook()
    for row in rows:
        one_workbook.active.append(row)
    for cell, shown in (formats or {}).items():
        one_workbook.active[cell].number_format = shown
    one_workbook.save(path)
    return path


def changed(path: Path, member: str, old: str, new: str) -> Path:
    """The same workbook with a text of one of its files replaced."""
    with zipfile.ZipFile(path) as before:
        parts = {name: before.read(name) for name in before.namelist()}
    assert old.encode() in parts[member]
    parts[member] = parts[member].replace(old.encode(), new.encode())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as after:
        for name, data in parts.items():
            after.writestr(name, data)
    return path


def test_cells_are_read_as_people_see_them(tmp_path: Path) -> None:
    values = [
        (41.5, "41.5"),
        (3.0, "3"),
        (0.1 + 0.2, "0.3"),
        (0.415, "41.5%"),
        (datetime.datetime(2026, 11, 27), "2026-11-27"),
        (datetime.datetime(2026, 11, 27, 9, 30), "2026-11-27 09:30:00"),
        (True, "TRUE"),
        ("17 crowns | 17", None),
    ]
    rows = [[f"What is\nnumber {at}?", value, "A", "varn.pdf"] for at, (value, _) in enumerate(values)]
    path = workbook(tmp_path / "set.xlsx", HEADER, *rows, [None, None], formats={"B5": "0.0%"})
    file = read_questions(path)
    assert [one.answers for one in file.questions] == [
        *(((text,),) for _, text in values[:-1]),
        (("17 crowns",), ("17",)),
    ]
    assert file.questions[0].files == ("varn.pdf",)
    assert file.lines == tuple(range(2, 10))  # rows of the sheet, whatever lines its cells have
    assert find_places(path, file).lines == file.lines


def test_a_formula_is_its_stored_value_and_one_without_is_named(tmp_path: Path) -> None:
    path = workbook(
        tmp_path / "set.xlsx",
        HEADER,
        ["What is the sum?", "=40+1.5", "A"],
        ["What is more?", "x", "=A1"],
        ["And what?", "#N/A", "A"],
    )
    changed(path, "xl/worksheets/sheet1.xml", "<f>40+1.5</f><v></v>", "<f>40+1.5</f><v>41.5</v>")
    with pytest.raises(QuestionsError, match=":4: "):  # without an answer
        read_questions(path)
    path.unlink()
    workbook(path, HEADER, ["What is the sum?", "=40+1.5", "A"], ["What is more?", "x", "=A1"])
    changed(path, "xl/worksheets/sheet1.xml", "<f>40+1.5</f><v></v>", "<f>40+1.5</f><v>41.5</v>")
    file = read_questions(path)
    assert [one.answers for one in file.questions] == [(("41.5",),), (("x",),)]
    assert any("formulas without a stored value" in said and ":3" in said for said in file.warnings)


def test_columns_of_any_name_are_mapped_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    result = workbook(tmp_path / "set.xlsx", ["Frage", "Antwort", "Nr"], ["Wie hoch?", 41.5, 1])
    assert main(["questions", "convert", "set.xlsx", "set.json"]) == 2
    assert "they are Frage, Antwort, Nr" in capsys.readouterr().err
    assert (
        main(["questions", "convert", "set.xlsx", "set.json", "--map", "question=Frage,answer=Antwort"]) == 0
    )
    (question,) = read_questions(Path("set.json")).questions
    assert (question.text, question.answers) == ("Wie hoch?", (("41.5",),))
    assert "the column 'Nr' is left out" in capsys.readouterr().err
    assert main(["questions", "convert", "set.json", "new.xlsx"]) == 1
    assert "are read but not written" in capsys.readouterr().err
    assert result.exists()


def test_other_sheets_are_named_and_the_first_is_read(tmp_path: Path) -> None:
    one_workbook = openpyxl.Workbook()
    one_workbook.active.append(HEADER)
    one_workbook.active.append(["How tall?", 41.5])
    one_workbook.create_sheet("Old").append(["something"])
    one_workbook.save(tmp_path / "set.xlsx")
    file = read_questions(tmp_path / "set.xlsx")
    assert [one.text for one in file.questions] == ["How tall?"]
    assert any("sheets left out" in said and "Old" in said for said in file.warnings)


def _bomb(path: Path) -> Path:
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/media/zeros.bin", bytes(65 * 2**20))
    return path


def _far_away(path: Path) -> Path:
    """A few bytes for each of many rows of 16,384 cells."""
    rows = "".join(f'<row r="{at}"><c r="XFD{at}"><v>1</v></c></row>' for at in range(3, 1000))
    return changed(path, "xl/worksheets/sheet1.xml", "</sheetData>", f"{rows}</sheetData>")


def _deep(path: Path) -> Path:
    return changed(path, "xl/worksheets/sheet1.xml", "</sheetData>", '<row r="99999999"></row></sheetData>')


def _entities(path: Path) -> Path:
    names = "".join(f'<!ENTITY e{at} "{f"&e{at - 1};" * 10 if at else "a" * 100}">' for at in range(9))
    member = "xl/worksheets/sheet1.xml"
    changed(path, member, "<worksheet", f"<!DOCTYPE worksheet [{names}]><worksheet")
    return changed(path, member, "How tall?", "&e8;")


def _no_archive(path: Path) -> Path:
    path.write_bytes(b"\xd0\xcf\x11\xe0 a workbook with a password")
    return path


def _empty(path: Path) -> Path:
    path.write_bytes(b"")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "no workbook")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("harm", [_bomb, _far_away, _deep, _entities, _no_archive, _empty])
def test_hostile_workbooks_end_with_a_sentence(tmp_path: Path, harm: Any) -> None:
    path = tmp_path / "set.xlsx"
    one_workbook = openpyxl.Workbook()
    one_workbook.active.append(HEADER)
    one_workbook.active.append(["How tall?", 41.5])
    one_workbook.save(path)
    with pytest.raises(DataError, match=r"set\.xlsx"):
        read_questions(harm(path))


def test_the_old_formats_are_named(tmp_path: Path) -> None:
    (tmp_path / "set.xls").write_bytes(io.BytesIO(b"\xd0\xcf").getvalue())
    with pytest.raises(DataError, match=r"save the workbook as \.xlsx"):
        read_questions(tmp_path / "set.xls")
