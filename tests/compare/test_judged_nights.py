"""Nights that a judge with errors graded, of which few labels by people say how large they are: a wrong PASS
and a false FAIL are as rare as they are said to be, and losses are found."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from fathoms.compare.question_scores import MetricKind
from fathoms.gate.against_baseline import Shown, gate
from fathoms.stats.noninferiority import Answers, judge
from fathoms.stats.rogan_gladen import LEAST, Agreeing, least_accuracy
from tests.support.project import scores_of

SENSITIVITY, SPECIFICITY, MARGIN = 0.95, 0.85, 0.15


def labelled(labels: int, rng: np.random.Generator) -> MetricKind:
    """A judge after a check with so many labels by people, half of them yes."""
    sides = [
        Agreeing((rng.random(labels // 2) < rate).astype(float), np.ones(labels // 2))
        for rate in (SENSITIVITY, SPECIFICITY)
    ]
    accuracy = sum(side.rate for side in sides) / 2
    return MetricKind(judge="small", balanced_accuracy=accuracy, least_accuracy=least_accuracy(*sides))


def night(questions: int, lost: float, rng: np.random.Generator) -> tuple[list[int], list[int]]:
    """What the judge says of the baseline and of a night that lost a share of all answers."""
    right = np.arange(questions) < 0.7 * questions
    sides = []
    for truth in (right, right & (np.arange(questions) >= round(lost * questions))):
        said = np.where(truth, rng.random(questions) < SENSITIVITY, rng.random(questions) > SPECIFICITY)
        sides.append(said.astype(int).tolist())
    return sides[0], sides[1]


def by_gate(kind: MetricKind, before: list[int], now: list[int]) -> str:
    """The verdict of the gate."""
    baseline, run = (
        scores.model_copy(update={"metrics": {**scores.metrics, "correctness": kind}})
        for scores in (scores_of("base", before), scores_of("night", now))
    )
    found = gate([run], baseline, ["correctness"], margin=MARGIN, alpha=0.025, allow_unchecked=True)
    return found.verdict


def by_statistics(kind: MetricKind, before: list[int], now: list[int]) -> str:
    """The same without the figures that a gate shows beside it, which take most of the time."""
    shown = Shown(2 * (kind.balanced_accuracy or 0) - 1, 2 * (kind.least_accuracy or 0.5) - 1)
    sides = [tuple((float(score),) for score in side) for side in (before, now)]
    answers = Answers(tuple(place % 2 for place in range(len(before))), sides[0], (sides[1],))
    margins = [MARGIN * shown.part], [shown.alpha(0.025)], [MARGIN * shown.least]
    return judge([answers], *margins)[0].verdict


def verdicts(questions: int, labels: int, lost: float, histories: int) -> Counter[str]:
    """The verdicts on nights that lost a share of all answers, if people said what is right."""
    rng = np.random.default_rng(labels)
    return Counter(
        by_statistics(labelled(labels, rng), *night(questions, lost, rng)) for _ in range(histories)
    )


def test_the_least_accuracy_worked_by_hand() -> None:
    """All of 20 and 20 are right: each side is at least .00625 ** (1 / 20)."""
    side = Agreeing(np.ones(20), np.ones(20))
    assert least_accuracy(side, side) == pytest.approx(((1 - LEAST) / 2) ** (1 / side.effective), abs=1e-9)
    assert side.effective == pytest.approx(20, rel=0.01)
    assert least_accuracy(side, Agreeing(np.zeros(0), np.zeros(0))) is None
    few = Agreeing(np.ones(3), np.ones(3))
    assert (least_accuracy(few, few) or 0) < 0.25


@pytest.mark.slow
def test_the_simulation_judges_as_the_gate_does() -> None:
    rng = np.random.default_rng(3)
    for lost in (0.0, MARGIN, 0.6):
        kind, sides = labelled(400, rng), night(200, lost, rng)
        assert by_gate(kind, *sides) == by_statistics(kind, *sides)


@pytest.mark.slow
def test_a_quick_look_at_judged_nights() -> None:
    assert verdicts(100, 60, MARGIN, 12)["PASS"] <= 1
    assert verdicts(100, 60, 0.6, 3) == {"FAIL": 3}


@pytest.mark.long
@pytest.mark.parametrize(("questions", "labels", "passing"), [(150, 60, 0.0), (400, 400, 0.8)])
def test_judged_nights_are_wrong_as_rarely_as_they_say(questions: int, labels: int, passing: float) -> None:
    """At a loss as large as the margin at most 2.5 % PASS, and without one hardly any FAIL."""
    histories = 400
    wrong = verdicts(questions, labels, MARGIN, histories)["PASS"]
    assert wrong <= (0.025 + 3 * (0.025 * 0.975 / histories) ** 0.5) * histories
    unchanged = verdicts(questions, labels, 0.0, histories)
    assert unchanged["FAIL"] <= 2
    assert unchanged["PASS"] >= passing * histories
    assert verdicts(questions, labels, 0.4, 40)["FAIL"] >= 38
