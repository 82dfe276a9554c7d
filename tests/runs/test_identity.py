"""The fingerprints of questions are those of earlier versions, whichever way they are computed."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from fathoms.runs.identity import identity, question_digest
from fathoms.types import Question

UNUSUAL = "".join(map(chr, [*range(0x180), 0x2028, 0xFEFF, 0xFFFF, 0x1F600]))
PLACES = [{"document": "é.pdf", "page": 3, "quote": UNUSUAL, "step": 2}, {"document": "b.pdf"}]


def fingerprint(value: Any) -> str:
    """The fingerprint by the library of Python alone."""
    text = json.dumps([value], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@pytest.mark.parametrize(
    "part",
    [
        pytest.param({"answers": [[UNUSUAL, "b"], ["c"]], "reference_claims": [UNUSUAL]}, id="texts"),
        pytest.param({"short_answer": UNUSUAL, "reading": "raw"}, id="no gold phrases"),
        pytest.param({"reference": "half a pair: \ud83d"}, id="half a surrogate pair"),
        pytest.param({"answers": [[{"regex": "a+"}]]}, id="a richer form"),
        pytest.param({"evidence": [{**PLACES[0], "bbox": [1, 2.5, 1e17, 4]}]}, id="a box"),
    ],
)
def test_the_fingerprints_are_of_canonical_json(part: dict[str, Any]) -> None:
    question = Question.model_validate(
        {"id": "q", "text": UNUSUAL, "category": "Text", "evidence": PLACES, **part}
    )
    whole = question.model_dump(mode="json")
    forms = ["answers", "answerable", "reference", "short_answer", "long_answer", "reference_claims"]
    answers = {name: whole[name] for name in [*forms, "nuggets", "reading"]}
    only_evidence = not (question.answers or question.reference)
    found = identity(question, written=None)
    assert found.evidence == fingerprint(whole["evidence"])
    assert found.answers == fingerprint([answers, whole["evidence"]] if only_evidence else answers)
    if "regex" not in str(part):  # its gold has the form as Python writes it
        gold = [whole["text"], "Text", whole["answers"], True]
        assert found.gold == fingerprint([*gold, whole["evidence"]] if only_evidence else gold)
        names = ("text", "category", "answers", "answerable", "reading")
        shared = json.dumps({name: whole[name] for name in names}, ensure_ascii=False, separators=(",", ":"))
        assert question_digest(question) == hashlib.sha256(shared.encode()).digest()
