"""Judges that compare an answer with the gold answer: grades and yes or no."""

from __future__ import annotations

import asyncio

import pytest

from fathoms.errors import UsageError
from fathoms.judges.asking import Bench, Judged, Spending, decided, verdict_key
from fathoms.judges.journal import open_journal
from fathoms.judges.judge import Judge
from fathoms.judges.llm import LLMJudge
from fathoms.judges.nli import NLIJudge
from fathoms.judges.rubrics import GRADES
from fathoms.models import Embedded, ScriptedModel
from fathoms.models.caller import Caller
from fathoms.models.chat.forms import read_choice
from fathoms.types import Judgement, Rubric, Verdict

TEXT = "How many stages does it have?"


def judgement(answer: str, rubric: Rubric = "grade") -> Judgement:
    return Judgement(claim=answer, premise="It has six stages.", context=TEXT, rubric=rubric)


def verdict(judge: Judge, one_judgement: Judgement) -> Verdict:
    (found,) = asyncio.run(judge.judge([one_judgement], Caller()))
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
    assert [part in text for part in (TEXT, "It has six stages.", "Six {premise}.")] == [True] * 3


def test_the_binary_rubric_is_yes_or_no_whatever_the_labels_of_claims_are() -> None:
    judge = LLMJudge(model=ScriptedModel(default="yes"), labels="three-way")
    assert verdict(judge, judgement("Six.", "correct")).label == "supported"


@pytest.mark.slow
def test_a_grammar_holds_the_embedded_model_to_the_grades(smollm: Embedded) -> None:
    judge = LLMJudge(model=smollm.model_copy(update={"max_tokens": 8}))
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
    keys = {verdict_key("judge", claim._replace(rubric=name), 0) for name in ("grade", "correct")}
    assert len(keys | {verdict_key("judge", claim, 0)}) == 3
    # with another key, all stored verdicts would be asked for again
    assert verdict_key("judge", claim, 0) == "723ce1e7ce1a9b8746ed1cf30a6812f9"


SOURCE = "The tower is old. It has six stages. It is red."


def listed(reply: str, rubric: Rubric, **more: int) -> Verdict:
    judge = LLMJudge(model=ScriptedModel(default=reply))
    one_judgement = Judgement(claim=TEXT, premise=SOURCE, rubric=rubric, **more)
    return verdict(judge, one_judgement)


@pytest.mark.parametrize(
    ("reply", "relevant"),
    [
        ('{"sentences": [2, 1, 2]}', (1, 2)),
        ("Here it is: [2]", (2,)),
        ('{"sentences": []}', ()),
        ("Insufficient Information", ()),
        ('{"sentences": [4]}', None),
        ('{"sentences": ["It has six stages."]}', None),
        ("the second one", None),
    ],
)
def test_relevant_sentences_are_read_by_their_numbers(reply: str, relevant: tuple[int, ...] | None) -> None:
    found = listed(reply, "relevant-sentences")
    assert found.relevant == relevant
    assert found.label == ("unparsed" if relevant is None else "supported" if relevant else "unsupported")


def test_the_sentences_of_a_source_are_numbered_and_a_cut_source_says_how_many_were_shown() -> None:
    one_judgement = Judgement(claim=TEXT, premise=SOURCE * 3, rubric="relevant-sentences")
    judge = LLMJudge(model=ScriptedModel(default='{"sentences": [2]}', context_window=120, max_tokens=8))
    assert "2. It has six stages.\n3." in judge._messages(one_judgement, SOURCE)[0].text
    found = verdict(judge, one_judgement)
    assert found.shown is not None
    assert 1 < found.shown < 9
    assert "cut" in str(found.why)


@pytest.mark.parametrize(
    ("reply", "label", "questions"),
    [
        ('{"noncommittal": false, "questions": ["How many?", "Which?", "Why?"]}', "committal", 2),
        ('{"noncommittal": true, "questions": []}', "noncommittal", 0),
        ('{"noncommittal": false, "questions": ["How many?", " "]}', "unparsed", None),
        ("How many?", "unparsed", None),
    ],
)
def test_the_questions_that_an_answer_fits_are_read(reply: str, label: str, questions: int | None) -> None:
    found = listed(reply, "questions", wanted=2)
    assert (found.label, None if found.questions is None else len(found.questions)) == (label, questions)


def test_a_kept_verdict_on_sentences_and_questions_is_found_again(tmp_path) -> None:
    model = ScriptedModel(
        replies={"numbered": '{"sentences": [2]}'}, default='{"noncommittal": false, "questions": ["How?"]}'
    )
    judgements = [
        Judgement(claim=TEXT, premise=SOURCE, rubric="relevant-sentences"),
        Judgement(claim="It has six stages.", rubric="questions"),
    ]
    found = []
    for _ in range(2):
        spending, judged = Spending(), Judged()
        bench = Bench(LLMJudge(model=model), open_journal(tmp_path), Caller(), spending)
        asyncio.run(bench.ask(judgements, judged))
        found.append((spending.calls, [judged.verdicts[one] for one in judgements]))
    assert [count for count, _ in found] == [2, 0]
    assert found[0][1] == found[1][1]
    assert (found[1][1][0].relevant, found[1][1][1].questions) == ((2,), ("How?",))


@pytest.mark.long
@pytest.mark.slow
def test_a_grammar_holds_the_embedded_model_to_a_list_of_questions(smollm: Embedded) -> None:
    judge = LLMJudge(model=smollm.model_copy(update={"max_tokens": 80}))
    judge.check()
    found = verdict(judge, Judgement(claim="It has six stages.", rubric="questions"))
    assert found.label in ("committal", "noncommittal", "unparsed")
    assert found.questions or found.label != "committal"
