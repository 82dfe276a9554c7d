"""The file of ratings: what was rated last counts, and nothing that is not whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fathoms.errors import StoreError
from fathoms.runs.ratings import Rating, append_rating, read_ratings
from tests.support.schemas import schema


def rating(**changes: Any) -> Rating:
    values = {
        "run": "r",
        "question": "q",
        "profile": "paper",
        "reviewer": "ann",
        "seed": 1,
        "correctness": 0.5,
        "hallucination": 1.0,
        "abstained": False,
        "score_rating": 4,
        "flag_rating": 5,
        "time": "2026-01-02T03:04:05+00:00",
    }
    return Rating.model_validate({**values, **changes})


def test_no_file_no_ratings(tmp_path: Path) -> None:
    assert read_ratings(tmp_path / "reviews.jsonl") == []


def test_the_last_line_of_a_reviewer_counts(tmp_path: Path) -> None:
    path = tmp_path / "made" / "reviews.jsonl"
    first, other, last = rating(), rating(reviewer="ben"), rating(score_rating=1, comment="\x1b[31m \ud800")
    for each in (first, other, last):
        append_rating(path, each)
    assert read_ratings(path) == [last, other]
    assert len(path.read_bytes().splitlines()) == 3


def test_half_a_line_is_no_rating_and_spoils_none(tmp_path: Path) -> None:
    path = tmp_path / "reviews.jsonl"
    append_rating(path, rating())
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:40])
    append_rating(path, rating(question="p"))
    assert [each.question for each in read_ratings(path)] == ["q", "p"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"score_rating": 6}, "less than or equal to 5"),
        ({"flag_rating": 0}, "greater than or equal to 1"),
        ({"score_rating": 4.5}, "not a rating"),
        ({"schema": 2}, "newer fathoms"),
        ({"run": None}, "not a rating"),
    ],
)
def test_what_is_no_rating_is_named_with_its_line(tmp_path: Path, change: dict[str, Any], why: str) -> None:
    path = tmp_path / "reviews.jsonl"
    append_rating(path, rating())
    row = json.loads(path.read_text())
    del row["crc"]  # a line that was written by hand has none
    path.write_text(path.read_text() + json.dumps(row | change) + "\n")
    with pytest.raises(StoreError, match=rf"reviews.jsonl:2: .*{why}"):
        read_ratings(path)


def test_a_row_that_is_no_object(tmp_path: Path) -> None:
    path = tmp_path / "reviews.jsonl"
    path.write_text("[1]\n")
    with pytest.raises(StoreError, match="not a rating"):
        read_ratings(path)


def test_lines_are_as_the_schema_says(tmp_path: Path) -> None:
    path = tmp_path / "reviews.jsonl"
    append_rating(path, rating())
    append_rating(path, rating(correctness=None, score_rating=None, comment="odd"))
    for line in path.read_text().splitlines():
        jsonschema.validate(json.loads(line), schema("rating"))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**json.loads(line), "flag_rating": 6}, schema("rating"))
