"""Nugget banks of TREC in both forms, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fathoms.errors import DataError
from fathoms.extras.questions.nugget_banks import read_nuggets
from fathoms.types import Nugget

# as `autojudge_base.nugget_data` describes and writes them: keyed by texts (v3), and as lists (RAGTIME26)
KEYED = {
    "query_id": "tall",
    "format_version": "v3",
    "nugget_bank": {
        "How tall is it?": {
            "question": "How tall is it?",
            "importance": "vital",
            "aggregator_type": "OR",
            "answers": {"41.5 m": {"answer": "41.5 m", "references": [{"doc_id": "1"}]}, "": {"answer": " "}},
            "sub_nuggets": [{"question": "In feet?"}],
        },
        "Who built it?": {"question": "Who built it?", "importance": 3},
    },
    "claim_bank": {"It is red.": {"claim": "It is red."}},
}
LISTED = {
    "format_version": "RAGTIME26",
    "metadata": {"team_id": "x", "topic_id": "door", "run_id": "x"},
    "nugget_bank": [
        {
            "question": "Which colours?",
            "aggregator_type": "AND",
            "answers": [{"answer": "green", "references": ["1"]}, {"answer": "white", "references": ["2"]}],
        },
        {"question": "Which colours?"},
    ],
}


def write(folder: Path, *banks: Any) -> Path:
    file = folder / "banks.jsonl"
    file.write_text("".join(json.dumps(bank) + "\n" for bank in banks))
    return file


def test_both_forms_are_read(tmp_path: Path) -> None:
    found, notes = read_nuggets(write(tmp_path, KEYED, LISTED))
    assert found == {
        "tall": (
            Nugget(question="How tall is it?", answers=("41.5 m",), importance="vital", origin="imported"),
            Nugget(question="Who built it?", origin="imported"),
        ),
        "door": (Nugget(question="Which colours?", answers=("green and white",), origin="imported"),),
    }
    assert [note.partition(": ")[2].split()[:2] for note in notes] == [
        *(["1", "nuggets"], ["1", "nuggets"], ["1", "claims"])
    ]
    (tmp_path / "banks.json").write_text(json.dumps([KEYED, LISTED]))
    assert read_nuggets(tmp_path / "banks.json")[0] == found


@pytest.mark.parametrize(
    ("bank", "complaint"),
    [
        ({"nugget_bank": []}, ":2: the bank names no topic"),
        (KEYED, ":2: a second bank of the topic 'tall'"),
        ({"query_id": "x", "nugget_bank": [{"answers": []}]}, ":2: nugget_bank"),
        ("nuggets", ":2: "),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, bank: Any, complaint: str) -> None:
    with pytest.raises(DataError) as caught:
        read_nuggets(write(tmp_path, KEYED, bank))
    assert complaint in str(caught.value)
