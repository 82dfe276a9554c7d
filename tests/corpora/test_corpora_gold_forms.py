"""Richer gold answers in question files: every format, round trips, and the place of each mistake."""

from __future__ import annotations

import json

import pytest

from fathoms.corpora import read_questions, write_questions
from fathoms.errors import DataError
from fathoms.types import GoldDate, GoldNear, GoldNumber, GoldYesNo

ROW = {
    "question": "How tall is the tower?",
    "answers": [{"number": 41.5, "unit": "m", "tolerance": "0.5%"}, ["tall", {"near": ["41.5", "m"]}]],
    "category": "Numbers",
}


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_json_and_csv_hold_the_same_forms(tmp_path):
    first = read_questions(written(tmp_path / "a.json", json.dumps([ROW])))
    assert first.questions[0].answers == (
        (GoldNumber(number=41.5, unit="m", tolerance="0.5%"),),
        ("tall", GoldNear(near=("41.5", "m"))),
    )
    cell = '"{number: 41.5, unit: m, tolerance: 0.5%} | tall & {near: [""41.5"", m]}"'
    table = f"question,category,answers\nHow tall is the tower?,Numbers,{cell}\n"
    assert read_questions(written(tmp_path / "b.csv", table)).questions == first.questions


@pytest.mark.parametrize("ending", ["json", "jsonl", "csv"])
def test_forms_read_back_unchanged(tmp_path, ending):
    questions = read_questions(written(tmp_path / "a.json", json.dumps([ROW]))).questions
    write_questions(tmp_path / f"b.{ending}", questions)
    assert read_questions(tmp_path / f"b.{ending}").questions == questions


def test_yaml_values_in_a_cell(tmp_path):
    table = 'question,answers\nIs it?,{yes_no: no}\nWhen?,{date: 2024-03-15}\nWhat?,"{a, b}"\nWho?,{x: y}\n'
    questions = read_questions(written(tmp_path / "a.csv", table)).questions
    forms = [question.answers[0][0] for question in questions]
    assert forms == [GoldYesNo(yes_no="no"), GoldDate(date="2024-03-15"), "{a, b}", "{x: y}"]


@pytest.mark.parametrize(
    ("form", "place", "said"),
    [
        (
            '{"number": 41.5, "unti": "m"}',
            "3:49",
            "unknown key 'unti' beside 'number' (did you mean 'unit'",
        ),
        ('{"nubmer": 41.5}', "3:35", "no kind of answer is called 'nubmer' (did you mean 'number'?)"),
        ('{"number": 41.5, "date": "2024"}', "3:49", "'number' and 'date' are two answers"),
        ('{"number": "41.5"}', "3:35", "expected a number"),
        ('{"date": "15 March"}', "3:33", "expected a day, a month or a year"),
        ('{"regex": "(six"}', "3:34", "not a valid regular expression"),
        ('{"number": 1, "tolerance": "a"}', "3:51", "a percentage such as 0.5%"),
        ('{"near": ["a", {"number": 6, "unit": 7}]}', "3:61", "valid string"),
        (json.dumps({"near": ["a"] * 21}), "3:33", "at most 20 items"),
        (json.dumps({"list": ["a"] * 501}), "3:33", "at most 500 items"),
    ],
)
def test_a_mistake_is_reported_with_its_place(tmp_path, form, place, said):
    text = f'[\n{{"question": "How tall?",\n  "answers": [["tall", {form}]]}}\n]\n'
    path = written(tmp_path / "a.json", text)
    with pytest.raises(DataError) as caught:
        read_questions(path)
    line, column = place.split(":")
    at = f"{path}:{line}:"
    assert str(caught.value).startswith(at)
    assert said in str(caught.value)
    assert str(caught.value).splitlines()[0].removeprefix(at).split(":")[0] == column


def test_a_form_that_a_bar_divides_is_an_error(tmp_path):
    path = written(tmp_path / "a.csv", "question,answers\nWhat?,{regex: a | b}\n")
    with pytest.raises(DataError, match=r"a.csv:2:7: answers: a ' \| ' or ' & ' divides {regex: a: write"):
        read_questions(path)


def test_a_mistake_in_a_cell_has_its_column(tmp_path):
    path = written(tmp_path / "a.csv", 'question,answers\n"How tall, then?",{number: 41.5; unit: m}\nB?,b\n')
    with pytest.raises(DataError) as caught:
        read_questions(path)
    assert str(caught.value).startswith(f"{path}:2:19: answers")
