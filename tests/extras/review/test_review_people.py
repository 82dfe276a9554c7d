"""What people say of claims: which labels they choose from, what is compared, and pictures as premises."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from fathoms.errors import DataError
from fathoms.extras.review.claims import claim_items
from fathoms.extras.review.people import claims_json, grades_json
from fathoms.judges.asking import Judged
from fathoms.judges.llm import LLMJudge
from fathoms.judges.of_run import stored_judgements
from fathoms.judges.scripted import ScriptedJudge
from fathoms.metrics.claims.ragchecker import Precision
from fathoms.models import ScriptedModel
from fathoms.runs.people import ClaimLabel, judged
from fathoms.runs.writing import new_run
from fathoms.types import Claim, Judgement, Question, Record, Reply, Rubric, Verdict


def said(reviewer: str, claim: str, label: str, rubric: Rubric = "support") -> ClaimLabel:
    return ClaimLabel(
        claim=claim,
        label=label,
        rubric=rubric,
        group="q",
        run="r",
        question="q",
        reviewer=reviewer,
        seed=0,
        time="2026-01-01T00:00:00+00:00",
    )


def test_grades_of_whole_answers_are_left_out_of_the_agreement_about_claims() -> None:
    labels = [
        *(said("ann", "Lamp 1 is red.", "supported"), said("ben", "Lamp 1 is red.", "supported")),
        *(said("ann", "red", "9", "grade"), said("ben", "red", "2", "grade")),
    ]
    asked = Judgement(claim="Lamp 1 is red.", premise="")
    found = claims_json(labels, {"r": {asked: Verdict(claim=asked.claim, premise="", label="unsupported")}})
    assert found
    assert [(pair["n"], pair["same"]) for pair in found["pairs"]] == [(1, 1.0)]
    assert (found["claims"], found["n"]) == (1, 1)


def test_grades_of_passages_agree_as_worked_by_hand() -> None:
    """Ann's grades 3, 2, 0 and 0 against 3, 1, 0 and 2 of the judge: two are the same. Squared distances are
    0, 1, 0 and 4, on average 5/4. By chance, each grade with each of 0, 1, 2, 3: (14 + 6 + 14 + 14) / 16 = 3.
    Plainly, the chance of the same is (1/4 + 1/4 + 2/4 + 0) / 4 = 1/4. Ben agrees with her once in two."""
    labels = [said("ann", f"q{n}", grade, "relevance") for n, grade in enumerate("3200")]
    labels += [said("ben", "q0", "3", "relevance"), said("ben", "q1", "3", "relevance")]
    verdicts = {
        Judgement(claim=f"q{n}", rubric="relevance"): Verdict(claim=f"q{n}", premise="", label=grade)
        for n, grade in enumerate("3102")
    }
    (found,) = grades_json([one for one in labels if one.reviewer == "ann"], {"r": verdicts})
    assert (found["n"], found["unjudged"], found["same"]) == (4, 0, 0.5)
    assert found["weighted"] == pytest.approx(1 - (5 / 4) / 3)
    assert found["kappa"] == pytest.approx((1 / 2 - 1 / 4) / (1 - 1 / 4))
    (found,) = grades_json(labels, {"r": {}})
    assert (found["items"], found["n"], found["unjudged"], found["weighted"]) == (4, 0, 6, None)
    (pair,) = found["pairs"]
    assert (pair["n"], pair["same"]) == (2, 0.5)
    assert claims_json(labels, {"r": verdicts}) is None
    with pytest.raises(DataError, match=r"labels\.jsonl of r: '4' is no label of relevance"):
        grades_json([said("ann", "q0", "4", "relevance")], {})


def test_the_labels_are_those_of_the_judge_even_if_no_verdict_shows_them() -> None:
    question = Question(id="q", text="Which colour has it?", category="A", reference="It is red.")
    record = Record(question=question, answer=Reply(text="It is blue."), hits=None)
    held = Judged()
    held.claims["It is blue.", question.text] = (Claim(text="It is blue."),)
    judge = ScriptedJudge(labels="three-way")
    (item,) = claim_items("r", lambda: [record], Precision(), judge, held, 1, 0, ())
    assert list(item.words.values()) == ["entailment", "neutral", "contradiction"]


def test_a_picture_is_read_once_and_again_when_it_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "page.png"
    path.write_bytes(b"one")
    seen = path.stat()
    asked = Judgement(claim="It is red.", premise="", image=path)
    first = judged(asked)
    path.write_bytes(b"two")
    os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns + 10**9))  # not within one tick of the clock
    assert judged(asked) != first
    path.write_bytes(b"six")
    os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))  # as if it had not changed: it is not read
    assert judged(asked) == first
    path.unlink()
    missing = r"page\.png: the picture .* \(No such file .*\): put it back"
    with pytest.raises(DataError, match=missing):
        judged(asked)
    made = new_run(tmp_path / "runs", "r", "0" * 8, {"name": "r", "folder": ".", "data": {}})
    made.records.append([Record(question=Question(id="q", text="Which colour?", category="A"), hits=None)])
    with pytest.raises(DataError, match=missing):
        stored_judgements(made, LLMJudge(model=ScriptedModel()), [Asks(asked)], made.records.all)


@dataclass(frozen=True)
class Asks:
    """A metric that asks for one judgement."""

    asked: Judgement

    def lacks(self, record: Record) -> None:
        return None

    def texts(self, record: Record) -> list[tuple[str, str]]:
        return []

    def judgements(self, record: Record, claims: object) -> list[Judgement]:
        return [self.asked]
