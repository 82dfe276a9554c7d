"""Released answers of MMDocRAG, with the grades of a judge, and what such files have wrong."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fathoms import scoring
from fathoms.errors import DataError
from fathoms.importers import Imported, keep, read_mmdocrag
from tests.support.mmdocrag import GRADES, write
from tests.support.project import Project

GOLD = [
    {"q_id": 0, "gold_quotes": ["image4", "text9"], "answer_short_joined": "46"},
    {"q_id": 1, "gold_quotes": ["image1"], "answer_short_joined": "2"},
    {"q_id": 2, "gold_quotes": ["text1"], "answer_short_joined": "20"},
    {"q_id": 3, "gold_quotes": ["text2"], "answer_short_joined": "7"},
]


def imported(folder: Path, answers: Sequence[Any], grades: Sequence[Any] | None = None) -> Imported:
    gold = write(folder / "gold.jsonl", GOLD)
    path = write(folder / "some-model_pure-text_quotes20_response.jsonl", answers)
    judge = None if grades is None else write(folder / "judge.jsonl", grades)
    return read_mmdocrag(path, gold, judge)


def values(found: Imported, folder: Path, *names: str) -> list[float | None]:
    summary = scoring.score_run(keep(found, "gold", folder / "runs"))
    return [summary.metrics[f"mmdocrag.{name}"].overall.value for name in names]


def test_an_answer_with_its_thoughts_tokens_and_model(tmp_path: Path) -> None:
    row = {"q_id": 0, "model": "m", "in_tok": 9, "out_tok": 5, "total_tok": 14}
    text = "<think>Is it [9]?</think>\n\nIt is 46 ![a](image4)."
    found = imported(tmp_path, [{**row, "response": text}])
    (record,) = found.records
    assert record.answer is not None
    assert (record.answer.text, record.answer.reasoning) == ("It is 46 ![a](image4).", "Is it [9]?")
    assert (record.answer.usage.prompt_tokens, record.answer.usage.completion_tokens) == (9, 5)
    assert (found.model, found.name) == ("m", "some-model_pure-text_quotes20_response")
    assert record.question.short_answer == "46"
    named = tmp_path / "some-model_pure-text_quotes20_response.jsonl"
    assert f"{named}: 3 of 4 questions have no answer: 1, 2, 3" in found.warnings
    assert values(found, tmp_path, "image-f1", "text-recall") == [1, 0]


def test_of_several_thoughts_the_first_are_the_reasoning(tmp_path: Path) -> None:
    """The answer stands between the first two closing tags, as in the released evaluation."""
    (record,) = imported(
        tmp_path, [{"q_id": 0, "response": "<think>a</think>\n\nb [9]</think>\n\nc"}]
    ).records
    assert record.answer is not None
    assert (record.answer.text, record.answer.reasoning) == ("b [9]", "a")


@pytest.mark.parametrize(
    ("text", "default", "released"),
    [
        ("Thought for 9 seconds\n\nIt is 46.", "It is 46.", "It is 46."),
        ("It takes 12 seconds\n\nand 3 more.", "It takes 12 seconds\n\nand 3 more.", "and 3 more."),
        ("<think>[9]</think>It is 46.", "It is 46.", "<think>[9]</think>It is 46."),
        ("a</think>\n\nIn 12 seconds\n\n[9].", "In 12 seconds\n\n[9].", "In 12 seconds\n\n[9]."),
    ],
    ids=["thoughts with their time", "an answer about time", "no empty line", "both"],
)
def test_thoughts_are_parted_by_default_and_as_released(
    tmp_path: Path, text: str, default: str, released: str
) -> None:
    path = write(tmp_path / "a.jsonl", [{"q_id": 0, "response": text}])
    gold = write(tmp_path / "gold.jsonl", GOLD)
    found = [read_mmdocrag(path, gold, released=one).records[0].answer for one in (False, True)]
    assert [one and one.text for one in found] == [default, released]


def test_what_a_file_has_wrong_is_counted(tmp_path: Path) -> None:
    rows = [
        {"q_id": 0, "response": "It \ud83d is [9] ![a](image4)."},
        {"q_id": "1", "response": " ", "error": "Error code: 400", "in_tok": 0},
        {"q_id": 2, "response": None},
        {"q_id": 2, "response": "[1]"},
        {"q_id": 3, "response": ["[2]"]},
        {"q_id": 99, "response": "[2]"},
        '{"q_id": 3, "response": "cut off',
        {"q_id": 3, "in_tok": 5, "error": None},
    ]
    found = imported(tmp_path, rows)
    assert [record.error and record.error.message for record in found.records] == [
        None,
        "Error code: 400",
        None,
    ]
    assert found.left_out == 3
    text = "\n".join(found.warnings)
    assert "response.jsonl:5: left out: expected 'q_id' and a text as 'response'" in text
    assert "response.jsonl:7:25: not valid JSON" in text
    assert "response.jsonl:8: left out: expected 'q_id' and a text as 'response', or an 'error'" in text
    assert "a second answer to 2 (the first is on line 3)" in text
    assert "no question '99'" in text
    assert "1 answers are failed calls" in text
    assert "1 of 4 questions have no answer: 3" in text
    # of the questions 0, 1 and 2, the last two with nothing cited
    assert values(found, tmp_path, "overall-f1", "image-recall") == pytest.approx([1 / 3, 1 / 2])


def test_grades_of_any_kind(tmp_path: Path) -> None:
    good = dict.fromkeys(GRADES, 4)
    answers = [{"q_id": n, "response": "[1]"} for n in (0, 2, 3)]
    answers.append({"q_id": 1, "response": "", "error": "late"})
    grades = [
        {"q_id": 0, "model": "gpt", "response": good},
        {"q_id": 1, "model": "gpt", "response": dict.fromkeys(GRADES, 1)},
        {"q_id": 2, "model": "gpt", "response": '```json\n{"Fluency": 2, " Factuality": 3,'},
        {"q_id": 3, "model": "gpt", "response": "I cannot judge this."},
        {"q_id": 3, "model": "gpt", "response": good},
        "{",
    ]
    found = imported(tmp_path, answers, grades)
    text = "\n".join(found.warnings)
    assert "1 replies have no grades that can be read: 3" in text
    assert "judge.jsonl:5: left out: a second reply on 3" in text
    assert "judge.jsonl:6" in text
    names = ("fluency", "factuality", "citation-quality", "answer-quality")
    assert values(found, tmp_path, *names) == pytest.approx([7 / 3, 8 / 3, 5 / 2, (4 + 2.5 + 1) / 3])
    released = [f"{name}-released" for name in names]
    assert values(found, tmp_path, *released) == pytest.approx([7 / 4, 5 / 4, 5 / 4, (20 + 2 + 5) / 20])
    assert found.judged is not None
    assert found.judged.judge.by == "gpt"


def test_files_of_another_kind_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gold.jsonl:1: expected 'q_id' and a list of 'gold_quotes'"):
        read_mmdocrag(tmp_path / "x", write(tmp_path / "gold.jsonl", [{"q_id": 0}]))
    with pytest.raises(DataError, match="no row answers a question"):
        imported(tmp_path, [{"id": 0, "answer": "[1]"}])
    with pytest.raises(DataError, match="contains no grades"):
        imported(tmp_path, [{"q_id": 0, "response": "[1]"}], ["{}"])


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (GOLD[0], r"gold.jsonl:5: the id '0' is already used at .*gold.jsonl:1"),
        ({"q_id": 4, "gold_quotes": ["text1", " "]}, "gold.jsonl:5: the id ' ' is empty"),
        ({"q_id": 4, "gold_quotes": ["text1\x07"]}, r"the id 'text1\\x07' contains the control character"),
        ({"q_id": "4\n", "gold_quotes": ["text1"]}, r"the id '4\\n' contains the control character"),
    ],
    ids=["a question twice", "an empty id", "a control character", "one in a question"],
)
def test_gold_whose_ids_cannot_be_used_is_refused(tmp_path: Path, row: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError, match=said):
        read_mmdocrag(tmp_path / "x", write(tmp_path / "gold.jsonl", [*GOLD, row]))


@pytest.mark.slow
def test_the_released_files_of_gpt_4_1_are_read_whole(shared: Path) -> None:
    released, name = shared / "mmdocrag", "gpt-4.1_pure-text_quotes20"
    found = read_mmdocrag(
        released / "responses" / f"{name}_response.jsonl",
        released / "gold_quotes_eval.jsonl",
        released / "judge" / f"{name}_llm-judge.jsonl",
    )
    assert (len(found.records), found.left_out) == (2000, 0)
    assert found.warnings[0].endswith(": 2 replies have no grades that can be read: 414, 440")


@pytest.mark.long  # two thousand answers with all their figures
def test_the_released_answers_of_gpt_4_1(shared: Path, tmp_path: Path) -> None:
    released = shared / "mmdocrag"
    for name in ("responses", "judge"):
        shutil.copytree(released / name, tmp_path / name)
    shutil.copy(released / "gold_quotes_eval.jsonl", tmp_path)
    project = Project(tmp_path)
    done = project.fathoms(
        *("import", "mmdocrag", "responses/gpt-4.1_pure-text_quotes20_response.jsonl"),
        *("--gold", "gold_quotes_eval.jsonl"),
        *("--judge", "judge/gpt-4.1_pure-text_quotes20_llm-judge.jsonl"),
    )
    assert done.returncode == 0, done.stderr
    (shown,) = project.json("report", "latest")
    metrics = {name: one["overall"]["value"] for name, one in shown["metrics"].items()}
    assert (
        round(metrics["mmdocrag.answer-quality"], 2),
        round(metrics["mmdocrag.answer-quality-released"], 2),
    ) == (4.08, 4.07)
    assert shown["judging"]["asked"] == 0
