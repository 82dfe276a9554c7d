"""Judges that compare an answer with the gold answer: grades and yes or no."""

from __future__ import annotations

import asyncio

import pytest

from fathoms.errors import UsageError
from fathoms.judges.asking import Bench, Judged, Spending, decided, verdict_key
from fathoms.judges.base import Judge
from fathoms.judges.journal import open_journal
from fathoms.judges.llm import LLMJudge, read_choice
from fathoms.judges.nli import NLIJudge
from fathoms.judges.rubrics import GRADES
from fathoms.models import Embedded, ScriptedModel
from fathoms.models.caller import Caller
from fathoms.types import Judgement, Rubric, Verdict

ASKED = "How many stages does it have?"


def judgement(answer: str, rubric: Rubric = "grade") -> Judgement:
    return Judgement(claim=answer, premise="It has six stages.", context=ASKED, rubric=rubric)


def verdict(judge: Judge, asked: Judgement) -> Verdict:
    (found,) = asyncio.run(judge.judge([asked], Caller()))
    assert isinstance(found, Verdict)
    return found


@pytest.mark.parametrize(
    ("reply", "label"),
    [("8", "8"), ("10/10", "10"), ("Grade: 3", "3"), ('{"label": "7"}', "7"), ("11", None)],
)
def test_grades_are_read_from_replies(reply: str, label: str | None) -> None:
    assert read_choice(reply, GRADES) == label


def test_a_model_grades_with_the_question_and_both_answers_in_its_prompt() -> None:
    judge = LLMJudge(model=ScriptedModel(replies={"The framework has 6": "9"}, default="0"))
    assert verdict(judge, judgement("The framework has 6 stages.")).label == "9"
    assert verdict(judge, judgement("It has two.")).label == "0"
    text = judge._messages(judgement("Six {premise}."), "It has six stages.")[0].text
    assert [part in text for part in (ASKED, "It has six stages.", "Six {premise}.")] == [True] * 3


def test_the_binary_rubric_is_yes_or_no_whatever_the_labels_of_claims_are() -> None:
    judge = LLMJudge(model=ScriptedModel(default="yes"), labels="three-way")
    assert verdict(judge, judgement("Six.", "correct")).label == "supported"


def test_a_grammar_holds_the_embedded_model_to_the_grades() -> None:
    judge = LLMJudge(model=Embedded(model="smollm2-135m", max_tokens=8))
    judge.check()
    assert verdict(judge, judgement("It has six stages.")).label in GRADES


def test_a_judge_that_cannot_grade_is_refused(tmp_path) -> None:
    bench = Bench(NLIJudge(), open_journal(tmp_path), Caller(), Spending())
    with pytest.raises(UsageError, match="only compares claims with sources"):
        asyncio.run(bench.ask([judgement("Six.")], Judged()))


def test_the_grade_of_several_votes_is_their_median() -> None:
    votes = [Verdict(claim="a", premise="b", label=label) for label in ("2", "9", "8")]
    assert decided(votes).label == "8"


def test_rubrics_have_keys_of_their_own() -> None:
    claim = Judgement(claim="a", premise="b")
    keys = {
        verdict_key("judge", claim.model_copy(update={"rubric": name}), 0) for name in ("grade", "correct")
    }
    assert len(keys | {verdict_key("judge", claim, 0)}) == 3
    # with another key, all stored verdicts would be asked for again
    assert verdict_key("judge", claim, 0) == "723ce1e7ce1a9b8746ed1cf30a6812f9"
