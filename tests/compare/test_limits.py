"""The value of a run that a fixed limit is compared with, worked out by hand."""

from __future__ import annotations

import pytest

from fathoms.compare.question_scores import MetricKind, QuestionScore
from fathoms.gate.limits import Limit, check_limits
from tests.support.project import scores_of

# pages that were found, of those that hold the answer: A has 1 of 4 and 2 of 2, B has 0 of 2
FOUND = {"q0": ("A", (1.0, 4.0)), "q2": ("A", (2.0, 2.0)), "q1": ("B", (0.0, 2.0))}
# a score from 0 to 2, beside one of its own negative range
POINTS = {"q0": ("A", 2.0), "q2": ("A", 1.0), "q1": ("B", -3.0)}


def test_counts_are_added_up_and_not_averaged() -> None:
    questions = {
        id: QuestionScore(category=category, gold=id, values={}, ratios={"f": (counts,)})
        for id, (category, counts) in FOUND.items()
    }
    run = scores_of("n1", []).model_copy(update={"questions": questions, "metrics": {"f": MetricKind()}})
    whole, a, b = check_limits(run, [Limit("f", "min", 0.4)], by_category=True)
    assert (whole.found, whole.questions, whole.kept) == (pytest.approx(3 / 8), 3, False)
    assert (a.category, a.found, a.kept) == ("A", pytest.approx(3 / 6), True)
    assert (b.category, b.found, b.kept) == ("B", 0.0, False)


def test_a_metric_wider_than_a_share_is_compared_as_it_is() -> None:
    """The mean of the categories: 1.5 in A and -3 in B."""
    questions = {
        id: QuestionScore(category=category, gold=id, values={"points": (value,)})
        for id, (category, value) in POINTS.items()
    }
    run = scores_of("n1", []).model_copy(update={"questions": questions, "metrics": {"points": MetricKind()}})
    least, most = check_limits(run, [Limit("points", "min", 1), Limit("points", "max", 1)], by_category=False)
    assert (least.found, least.kept, most.found, most.kept) == (-0.75, False, -0.75, True)
    below, above = check_limits(
        run, [Limit("points", "min", -0.5), Limit("points", "min", -1)], by_category=False
    )
    assert (below.kept, above.kept) == (False, True)
    (_, a, _) = check_limits(run, [Limit("points", "min", 1.5)], by_category=True)
    assert (a.found, a.kept) == (1.5, True)
