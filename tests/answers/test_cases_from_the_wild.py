"""Answers in the styles of today's services, each with a person's verdict (`../shared/data/cases`)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fathoms.answers import read
from fathoms.corpora.rows import questions_of
from fathoms.metrics.phrase_recall import reading_recall

CASES = Path(__file__).parents[3] / "shared" / "data" / "cases" / "scoring.jsonl"


@pytest.mark.skipif(not CASES.exists(), reason="the cases in ../shared are not here")
def test_every_case_is_scored_as_by_a_person() -> None:
    wrong = []
    for line in CASES.read_text().splitlines():
        case = json.loads(line)
        row = {"id": "q", "question": "What?", "category": "A", "answers": case["answers"]}
        (question,), _ = questions_of([("q", row)])
        is_right = reading_recall(read(case["answer"]), question.answers).value == 1
        if is_right != (case["expected"] == 1) and not case["limit"]:
            wrong.append(case["id"])
    assert wrong == []
