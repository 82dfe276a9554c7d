"""What people say of claims: which labels they choose from, what is compared, and pictures as premises."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from fathoms.errors import DataError
from fathoms.extras.review.claims import candidates, claim_items, draw, drawn_sizes
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
    judgement = Judgement(claim="Lamp 1 is red.", premise="")
    found = claims_json(
        labels, {"r": {judgement: Verdict(claim=judgement.claim, premise="", label="unsupported")}}
    )
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
    one_judged = Judged()
    one_judged.claims["It is blue.", question.text] = (Claim(text="It is blue."),)
    judge = ScriptedJudge(labels="three-way")
    (item,) = claim_items("r", lambda: [record], Precision(), judge, one_judged, {("q", 0): None}, ())
    assert list(item.words.values()) == ["entailment", "neutral", "contradiction"]


def test_a_picture_is_read_once_and_again_when_it_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "page.png"
    path.write_bytes(b"one")
    seen = path.stat()
    judgement = Judgement(claim="It is red.", premise="", image=path)
    first = judged(judgement)
    path.write_bytes(b"two")
    os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns + 10**9))  # not within one tick of the clock
    assert judged(judgement) != first
    path.write_bytes(b"six")
    os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))  # as if it had not changed: it is not read
    assert judged(judgement) == first
    path.unlink()
    missing = r"page\.png: the picture .* \(No such file .*\): put it back"
    with pytest.raises(DataError, match=missing):
        judged(judgement)
    run = new_run(tmp_path / "runs", "r", "0" * 8, {"name": "r", "folder": ".", "data": {}})
    run.records.append([Record(question=Question(id="q", text="Which colour?", category="A"), hits=None)])
    with pytest.raises(DataError, match=missing):
        stored_judgements(run, LLMJudge(model=ScriptedModel()), [Asks(judgement)], run.records.all)


class AsksOfAnswers:
    """A metric that asks whether each sentence of an answer is right."""

    def lacks(self, record: Record) -> None:
        return None

    def texts(self, record: Record) -> list[tuple[str, str]]:
        return []

    def judgements(self, record: Record, claims: object) -> list[Judgement]:
        return [Judgement(claim=text) for text in record.answer.text.split("|")] if record.answer else []


def records_of(*answers: str) -> list[Record]:
    return [
        Record(question=Question(id=f"q{n}", text="Which?", category="A"), answer=Reply(text=text))
        for n, text in enumerate(answers)
    ]


def test_answers_of_which_the_judge_is_unsure_are_likelier_to_be_drawn_and_that_stays(tmp_path: Path) -> None:
    """By hand: standard deviations are 1/2 of a claim with p = 1/2, sqrt(.05 * .95) of one with p = 0, as
    nobody is surer than 95 %, 1/2 of one without a verdict, and sqrt(2 / 4) / 2 of two with p = 1/2. Then
    sizes are .3 + .7 of each over their mean."""
    wanted, records = AsksOfAnswers(), records_of("a", "b", "c", "d|e")
    p = {"a": 0.5, "b": 0.0, "d": 0.5, "e": 0.5}
    one_judged = Judged(
        verdicts={
            Judgement(claim=claim): Verdict(claim=claim, premise="", label="supported", p=value)
            for claim, value in p.items()
        }
    )
    found = candidates("r", lambda: records, wanted, one_judged, 0)
    spreads = [1 / 2, math.sqrt(0.05 * 0.95), 1 / 2, math.sqrt(2 / 4) / 2]
    assert [found[f"q{n}"].uncertainty for n in range(4)] == pytest.approx(spreads)
    sizes = drawn_sizes(tmp_path, "r", "m", 0, found, ())
    assert [sizes[f"q{n}"] for n in range(4)] == pytest.approx(
        [0.3 + 0.7 * one / (sum(spreads) / 4) for one in spreads], abs=1e-6
    )
    later = candidates("r", lambda: [*records, *records_of(*"vwxyz")[4:]], wanted, Judged(), 0)
    assert drawn_sizes(tmp_path, "r", "m", 0, later, ()) == sizes
    everybody = draw(later, sizes, 9)
    assert {question for question, _ in everybody} == {"q0", "q1", "q2", "q3"}  # q4 came later
    assert list(draw(later, sizes, 2)) == list(everybody)[:2]
    lots = [later[question].lot / sizes[question] for question, _ in everybody]
    assert lots == sorted(lots)

    earlier = [said("ann", "a", "supported")]  # of a sample in which all answers have the same chance
    assert drawn_sizes(tmp_path / "other", "r", "m", 0, found, earlier) == {}
    assert drawn_sizes(tmp_path / "other", "r", "m", 0, later, ()) == {}  # the judge says of none how sure


def test_a_judge_that_knows_nothing_of_its_errors_gives_every_answer_the_same_chance() -> None:
    """So do repeats: the least of a question's random numbers is turned into a uniform one."""
    records = [
        record.model_copy(update={"repeat": repeat})
        for record in records_of(*"abcdefgh" * 50)
        for repeat in (0, 1)
    ]
    found = candidates("r", lambda: records, AsksOfAnswers(), Judged(), 3)
    assert len(found) == 400
    lots = sorted(one.lot for one in found.values())
    assert max(abs(lot - (n + 0.5) / 400) for n, lot in enumerate(lots)) < 1.63 / 20  # Kolmogorov at 1 %
    assert {one.repeat for one in found.values()} == {0, 1}


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
