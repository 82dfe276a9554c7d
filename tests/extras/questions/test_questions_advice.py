"""What the linter proposes is tried with the scorer: right answers stay right, and others become right."""

from __future__ import annotations

import time

import pytest

from fathoms.extras.questions.advice import LONG_WITH_NUMBER, PASSAGE, replaced, right_answers, wider
from fathoms.metrics.phrase_recall import phrase_recall
from fathoms.types import Question

CASES = {
    # phrase: the question, the proposal, and right answers in other words
    "6 stages in the framework": (
        "How many stages does the framework have?",
        "{near: [{number: 6}, stages]}",
        ("The framework has 6 stages.", "It has six stages.", "There are **6** distinct stages."),
    ),
    "the framework has six stages": (
        "What does the paper say?",
        "{near: [{number: 6}, framework, stages]}",
        ("The framework has 6 stages.", "Six stages make up the framework."),
    ),
    "the tower is 41.5 m tall": (
        "How tall is the tower?",
        "{number: 41.5, unit: m}",
        ("41.5 m", "Its height is 41.5 metres."),
    ),
    "30 April 2024": (
        "When was the audit?",
        "{date: 2024-04-30}",
        ("On April 30, 2024.", "2024-04-30"),
    ),
    "the rotor of the second pump was replaced by Hollin": (
        "What happened?",
        "{near: [{number: 2}, rotor, pump, replaced, Hollin]}",
        (),
    ),
}
SENTENCES = (
    "{}",
    "{}.",
    "It is {}.",
    "As it says: {}, and no more.",
    "**{}**",
    "({})",
    "Yes: {}!",
)


def question_on(text: str, phrase: str) -> Question:
    return Question(id="q", text=text, category="c", answers=((phrase,),))


@pytest.mark.parametrize("phrase", [name for name in CASES if "second" not in name])
@pytest.mark.parametrize("match", ["word", "substring"])
def test_a_proposal_finds_more_and_loses_nothing(phrase: str, match: str) -> None:
    text, proposal, others = CASES[phrase]
    before = question_on(text, phrase)
    form = wider(before, 0, 0, match)
    assert str(form) == proposal
    after = replaced(before, 0, 0, form)
    for sentence in SENTENCES:
        answer = sentence.format(phrase)
        assert phrase_recall(answer, before.answers, match).value == 1
        assert phrase_recall(answer, after.answers, match).value == 1
    for answer in others:
        assert phrase_recall(answer, after.answers, match).value == 1


def test_the_correct_answer_that_scored_0_scores_1() -> None:
    before = question_on("How many stages does the framework have?", "6 stages in the framework")
    assert phrase_recall("The framework has 6 stages.", before.answers, "word").value == 0
    after = replaced(before, 0, 0, wider(before, 0, 0))
    assert phrase_recall("The framework has 6 stages.", after.answers, "word").value == 1
    assert phrase_recall("The framework has 5 stages.", after.answers, "word").value == 0


@pytest.mark.parametrize("phrase", ["6", "six stages", "Hollin Seed Cooperative", "03/04/2024 at noon or so"])
def test_short_and_doubtful_phrases_stay(phrase: str) -> None:
    assert len(phrase.split()) < LONG_WITH_NUMBER or wider(question_on("What?", phrase), 0, 0) is None
    assert wider(question_on("What?", phrase), 0, 0) is None


def test_right_answers_include_the_reference() -> None:
    question = question_on("How tall?", "41.5 m").model_copy(update={"reference": "It is 41.5 m tall."})
    assert "It is 41.5 m tall." in right_answers("41.5 m", question)


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["ha ", "one hundred ", "1 m ", "a1 b ", "2024-01-02 "])
def test_a_passage_has_no_proposal_and_takes_time_in_proportion(piece: str) -> None:
    """A phrase of 12,000 characters took 60 seconds and 2.4 GB: each of its words at each of its places."""
    started = time.process_time()
    assert wider(question_on("What is said?", piece * 20_000), 0, 0) is None
    assert time.process_time() - started < 2
    longest = (piece * PASSAGE).split()[:PASSAGE]
    wider(question_on("What is said?", " ".join(longest)), 0, 0)
    assert time.process_time() - started < 10
