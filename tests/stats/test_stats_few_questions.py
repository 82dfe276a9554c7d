"""The preset for few questions: the Poisson-binomial worked by hand, how k depends on the baseline, and false
alarms and power in simulated months."""

from __future__ import annotations

import numpy as np
import pytest

from fathoms.stats.few_questions import BUDGET, LEVEL, MONTH, chance_of_loss, loss, poisson_binomial


def test_a_poisson_binomial_worked_by_hand() -> None:
    # none: 1/2 * 3/4 * 9/10; one: the same, + 1/2 * 1/4 * 9/10 + 1/2 * 3/4 * 1/10; all: 1/2 * 1/4 * 1/10
    found = poisson_binomial(np.array([[0.5, 0.25, 0.1], [0.0, 1.0, 1.0]]))
    assert found[0] == pytest.approx([0.3375, 0.4875, 0.1625, 0.0125])
    assert found[1] == pytest.approx([0, 0, 1, 0])


def test_the_chance_of_a_loss_worked_by_hand() -> None:
    one = np.ones(1)
    # a uniform rate after 3 of 3 is Beta(4, 1), whose mean is 4/5
    assert chance_of_loss(3, 3, 1, one, one) == pytest.approx([1 / 5])
    # after 2 of 3 it is Beta(3, 2): both of two answers are right with 3/5 * 4/6
    assert chance_of_loss(2, 3, 2, one, one) == pytest.approx([1 - 3 / 5 * 4 / 6])


def test_one_lucky_night_gives_no_certainty() -> None:
    rights = [(1, 1)] * 10 + [(0, 1)] * 5
    night = [(0, 1)] * 5 + [(1, 1)] * 5 + [(0, 1)] * 5
    once = loss(rights, night)
    assert (len(once.right), once.lost, once.alarm) == (10, (0, 1, 2, 3, 4), False)
    often = loss([(5 * hits, 5) for hits, _ in rights], night)
    assert often.alarm
    assert often.needed is not None
    assert once.needed is not None
    assert often.needed < once.needed
    assert often.p < LEVEL < once.p


def test_a_question_that_wavers_needs_more_company() -> None:
    steady = loss([(5, 5)] * 10 + [(0, 5)] * 5, [(1, 1)] * 15)
    wavers = loss([(5, 5)] * 5 + [(3, 5)] * 5 + [(0, 5)] * 5, [(1, 1)] * 15)
    assert steady.needed is not None
    assert wavers.needed is not None
    assert 2 <= steady.needed < wavers.needed


def test_repeats_are_advised_where_answers_waver_and_only_there() -> None:
    """`repeats` says what the same baseline would take with so many answers a night."""
    steady = loss([(50, 50)] * 15, [(1, 1)] * 15)
    assert (steady.needed, steady.repeats) == (2, None)
    before = [(5, 5)] * 6 + [(4, 5)] * 6 + [(0, 5)] * 3
    wavers = loss(before, [(1, 1)] * 15)
    assert wavers.needed is not None
    assert wavers.repeats is not None
    times, needed = wavers.repeats
    assert needed < wavers.needed
    asked = loss(before, [(times, times)] * 15)
    assert asked.needed == needed
    assert asked.repeats is None or asked.repeats[1] < needed
    assert loss([(1, 1)], [(0, 1)]).repeats is None


def test_one_lost_answer_alone_is_never_an_alarm() -> None:
    found = loss([(500, 500)] * 50, [(0, 1)] + [(1, 1)] * 49)
    assert (found.needed, found.alarm) == (2, False)
    assert found.p < LEVEL


def test_what_has_no_answer_or_too_few_of_them_gives_no_alarm() -> None:
    assert loss([(1, 1)], [(0, 1)]).needed is None
    assert loss([], []).needed is None
    # half of an even number of answers is not right, and is lost
    assert loss([(2, 4), (3, 4), (4, 4)], [(0, 1), (1, 2), (0, 0)]).lost == (1,)
    assert loss([(2, 4), (3, 4), (4, 4)], [(0, 1), (1, 2), (0, 0)]).right == (1,)


def test_checks_share_the_level() -> None:
    base, night = [(5, 5)] * 40 + [(4, 5)] * 10, [(1, 1)] * 50
    one, four = loss(base, night).needed, loss(base, night, 4).needed
    assert one is not None
    assert four is not None
    assert one < four


@pytest.mark.long
@pytest.mark.parametrize("questions", [15, 30, 50, 100])
@pytest.mark.parametrize("answers", [1, 3, 5])
def test_months_keep_their_budget_and_a_broken_half_is_found(questions: int, answers: int) -> None:
    rng = np.random.default_rng(questions + answers)
    false, found = [], []
    for _ in range(60):
        chances = rng.beta(0.72, 0.48, questions)
        base = rng.binomial(answers, chances)
        known = loss([(int(hits), answers) for hits in base], [(1, 1)] * questions)
        needed = questions + 1 if known.needed is None else known.needed
        right = 2 * base > answers
        nights = rng.random((200, questions)) < chances
        false.append(MONTH * ((right & ~nights).sum(axis=1) >= needed).mean())
        nights[:, rng.permutation(questions)[: questions // 2]] = False
        found.append(((right & ~nights).sum(axis=1) >= needed).mean())
    assert np.mean(false) < 2 * BUDGET  # the standard error is about half of the budget
    # a pipeline in which every fourth answer differs from that of the night before
    least = {15: 0.15, 30: 0.5, 50: 0.8, 100: 0.95}[questions]
    assert answers == 1 or np.mean(found) > least
