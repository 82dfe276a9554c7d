"""`scores.csv`: what a spreadsheet and a data frame read of it."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathoms.errors import DataError
from fathoms.report.as_csv import COLUMNS, report_csv
from fathoms.safety.spreadsheet import harmless


def lines(text):
    """Every line as a mapping, as the standard library reads RFC 4180."""
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def test_a_line_a_question_with_unrounded_scores(small_run):
    text = report_csv([small_run()])
    assert text.split("\r\n")[0] == ",".join(COLUMNS)
    assert text.endswith("\r\n")
    assert text.count("\n") == text.count("\r\n") == 5
    right, half, _, failed = lines(text)
    assert (right["question"], right["profile"], right["repeat"]) == ("right", "paper", "0")
    assert (half["correctness"], half["hallucination"], half["abstained"]) == ("0.5", "0.0", "0")
    assert (half["prompt_tokens"], half["completion_tokens"], half["latency"]) == ("12", "5", "0.25")
    assert half["cost"] == ""  # not known, and not 0
    assert (failed["correctness"], failed["hallucination"], failed["error"]) == ("0.0", "", "Timeout")


def test_a_line_a_repeat_and_run(small_run, run_of, question):
    view = question("q", 1.0, 0.0)
    view["repeats"].append({**view["repeats"][0], "repeat": 1})
    runs = [run_of({**small_run().summary_json, "run": name}, [view]) for name in "ab"]
    found = [(row["run"], row["question"], row["repeat"]) for row in lines(report_csv(runs))]
    assert found == [("a", "q", "0"), ("a", "q", "1"), ("b", "q", "0"), ("b", "q", "1")]


def test_scores_that_a_run_does_not_have(small_run):
    with pytest.raises(DataError, match="available: paper"):
        report_csv([small_run()], "released")


FORMULAS = ['=HYPERLINK("http://e.example","x")', "+1+1", "-2+3", "@SUM(A1)", "\t=1+1", "\r\n=1", "＝1+1"]  # noqa: RUF001


@pytest.mark.parametrize("text", FORMULAS)
def test_no_text_is_a_formula(small_run, run_of, question, text):
    error = {"kind": text, "message": text}
    view = question(text, 0.0, None, text=text, category=text, error=error)
    (row,) = lines(report_csv([run_of({**small_run().summary_json, "name": text, "model": text}, [view])]))
    for column in ("name", "model", "question", "category", "error", "text"):
        assert row[column].startswith("'")


@given(st.text())
def test_text_that_is_harmless_stays_and_all_other_has_one_sign_more(text):
    assert harmless(text) in (text, f"'{text}")
    assert not harmless(text).startswith(("=", "+", "-", "@"))


@pytest.mark.parametrize("text", ['a "b", c', "two\nlines", "a\0b\x1b[1m"])
def test_every_text_stays_in_its_cell(small_run, run_of, question, text):
    view = question("q", 1.0, 0.0, text=text)
    (row,) = lines(report_csv([run_of(small_run().summary_json, [view])]))
    assert row["text"] == " ".join(text.replace("\0", "").replace("\x1b", "").split())


def test_a_text_is_cut_where_a_spreadsheets_cell_is_full(small_run, run_of, question):
    (row,) = lines(
        report_csv([run_of(small_run().summary_json, [question("q", 1.0, 0.0, text="x" * 2**20)])])
    )
    assert row["text"] == "x" * 32_767
