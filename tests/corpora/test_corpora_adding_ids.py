"""Ids are written into question files in place, and nothing else of them changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from fathoms.corpora import add_ids, read_questions
from fathoms.errors import DataError

FILES = {
    "pretty.json": (
        '{\n  "Text": [\n    {\n      "question": "One {?",\n      "answers": ["1"]\n    },\n'
        '    {"id": null, "question": "Two?", "answers": "2"}\n  ]\n}\n',
        '{\n  "Text": [\n    {\n      "id": "text-01",\n      "question": "One {?",\n'
        '      "answers": ["1"]\n    },\n'
        '    {"id": "text-02", "question": "Two?", "answers": "2"}\n  ]\n}\n',
    ),
    "list.json": (
        '[{"question":"One?","answers":"1","category":"Text"},\n'
        ' {"id":"mine","question":"Two?","answers":"2"}]',
        '[{"id": "text-01", "question":"One?","answers":"1","category":"Text"},\n'
        ' {"id":"mine","question":"Two?","answers":"2"}]',
    ),
    "lines.jsonl": (
        '{"question": "One?", "answers": "1"}\r\n\r\n{"id": "b", "question": "Two?", "answers": "2"}',
        '{"id": "uncategorised-01", "question": "One?", "answers": "1"}\r\n\r\n'
        '{"id": "b", "question": "Two?", "answers": "2"}',
    ),
    "semicolons.csv": (
        'question;"answers";notes\r\n"One\r\nline?";"1";x\r\n\r\nTwo?;2;\r\n',
        'id;question;"answers";notes\r\nuncategorised-01;"One\r\nline?";"1";x\r\n\r\n'
        "uncategorised-02;Two?;2;\r\n",
    ),
    "column.csv": (
        'question,id,answers\n"One,\nline?",,1\n"Two?",b,2\nThree?,,3',
        'question,id,answers\n"One,\nline?",uncategorised-01,1\n"Two?",b,2\nThree?,uncategorised-03,3',
    ),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_missing_ids_are_added_in_place(tmp_path: Path, name: str, encoding: str) -> None:
    before, after = FILES[name]
    path = tmp_path / name
    path.write_bytes(before.encode(encoding))
    questions = read_questions(path)
    assert add_ids(path, questions) == len(questions.derived) > 0
    assert path.read_bytes().decode(encoding) == after
    fixed = read_questions(path)
    assert (fixed.questions, fixed.derived) == (questions.questions, frozenset())
    assert add_ids(path, fixed) == 0


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_a_table_keeps_its_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "q.csv"
    path.write_bytes("question,answers\nWhat is a caf\xe9?,Kaffee\n".encode(encoding))
    assert add_ids(path, read_questions(path)) == 1
    assert path.read_bytes().decode(encoding).splitlines()[1] == "uncategorised-01,What is a caf\xe9?,Kaffee"


def test_a_file_that_has_changed_since_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_text("question,answers\nOne?,1\n")
    read = read_questions(path)
    path.write_text("question,answers\nOne?,1\nTwo?,2\n")
    with pytest.raises(DataError, match="changed while it was read"):
        add_ids(path, read)
    assert "id" not in path.read_text()


def test_an_id_is_not_derived_a_second_time(tmp_path: Path) -> None:
    """A question inserted before one whose id was written down earlier gets the next number that is free."""
    path = tmp_path / "q.jsonl"
    path.write_text(
        '{"question": "New?", "answers": "0"}\n'
        '{"id": "uncategorised-01", "question": "One?", "answers": "1"}\n'
        '{"id": "Uncategorised-04", "question": "Two?", "answers": "2"}\n'
    )
    assert [one.id for one in read_questions(path).questions] == [
        "uncategorised-05",
        "uncategorised-01",
        "Uncategorised-04",
    ]
