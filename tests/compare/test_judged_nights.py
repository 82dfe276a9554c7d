"""Nights that a judge with errors graded, of which few labels by people say how large they are: a wrong PASS
and a false FAIL are as rare as they are said to be, and losses are found."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from fathoms.compare.question_scores import MetricKind
from fathoms.gate.against_baseline import gate
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


def verdicts(questions: int, labels: int, lost: float, histories: int) -> Counter[str]:
    """The verdicts on nights that lost a share of all answers, if people said what is right."""
    rng = np.random.default_rng(labels)
    found: Counter[str] = Counter()
    for _ in range(histories):
        kind = labelled(labels, rng)
        right = np.arange(questions) < 0.7 * questions
        now = right & (np.arange(questions) >= round(lost * questions))
        sides = []
        for name, truth in (("base", right), ("night", now)):
            said = np.where(truth, rng.random(questions) < SENSITIVITY, rng.random(questions) > SPECIFICITY)
            scores = scores_of(name, said.astype(int).tolist())
            sides.append(scores.model_copy(update={"metrics": {**scores.metrics, "correctness": kind}}))
        baseline, night = sides
        found[
            gate([night], baseline, ["correctness"], margin=MARGIN, alpha=0.025, allow_unchecked=True).verdict
        ] += 1
    return found


def test_the_least_accuracy_worked_by_hand() -> None:
    """All of 20 and 20 are right: each side is at least .00625 ** (1 / 20)."""
    side = Agreeing(np.ones(20), np.ones(20))
    assert least_accuracy(side, side) == pytest.approx(((1 - LEAST) / 2) ** (1 / side.effective), abs=1e-9)
    assert side.effective == pytest.approx(20, rel=0.01)
    assert least_accuracy(side, Agreeing(np.zeros(0), np.zeros(0))) is None
    few = Agreeing(np.ones(3), np.ones(3))
    assert (least_accuracy(few, few) or 0) < 0.25


@pytest.mark.slow
def test_a_quick_look_at_judged_nights() -> None:
    assert verdicts(100, 60, MARGIN, 6)["PASS"] <= 1
    assert verdicts(100, 60, 0.6, 2) == {"FAIL": 2}


@pytest.mark.long
@pytest.mark.parametrize(("questions", "labels", "passing"), [(150, 60, 0.0), (400, 400, 0.8)])
def test_judged_nights_are_wrong_as_rarely_as_they_say(questions: int, labels: int, passing: float) -> None:
    """At a loss as large as the margin at most 2.5 % PASS, and without one hardly any FAIL."""
    histories = 200
    wrong = verdicts(questions, labels, MARGIN, histories)["PASS"]
    assert wrong <= (0.025 + 3 * (0.025 * 0.975 / histories) ** 0.5) * histories
    unchanged = verdicts(questions, labels, 0.0, histories)
    print(questions, labels, "PASS wrongly", wrong, "unchanged", unchanged)
    assert unchanged["FAIL"] <= 2
    assert unchanged["PASS"] >= passing * histories
    assert verdicts(questions, labels, 0.4, 40)["FAIL"] >= 38
