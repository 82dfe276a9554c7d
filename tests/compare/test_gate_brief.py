"""The eight lines of a gate: the verdict, why, what was lost, and what to do next."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fathoms.gate.against_baseline import Gated, gate
from fathoms.gate.brief import LINES, brief
from fathoms.gate.limits import Limit, LimitCheck
from fathoms.gate.lines import gate_line
from tests.support.project import scores_of

N = 42


def judge(now: list[Any], before: list[Any], metric: str = "correctness", **options: Any) -> Gated:
    """The verdict on one run; hallucination is the opposite of correctness."""
    run, baseline = (
        scores_of(name, scores, [1 - score for score in scores])
        for name, scores in (("closed-book", now), ("demo", before))
    )
    return gate([run], baseline, [metric], **{"margin": 0.02, "alpha": 0.025, **options})


def lines(found: Gated, width: int = 80) -> list[str]:
    return brief(found, "closed-book", "demo").lines(width)


FOUR = [1] * 4 + [0] * (N - 4)


@pytest.mark.parametrize("width", [80, 100])
def test_a_fail_has_the_p_value_and_the_level_that_decided(width: int) -> None:
    """All of four right answers: .25 ** 4 / 5 = .00078, as in the mock-up; 4 of 42 are 2 of 21 twice."""
    assert lines(judge([0] * N, FOUR), width) == [
        "FAIL  correctness 0.10 -> 0.00 (-0.10) on 42 questions",
        "why   all 4 right answers of the baseline were lost (p 0.0008; FAIL below 0.001)",
        "lost  q0 q1 q2 q3",
        "next  fathoms compare demo closed-book     all figures: gate --all",
    ]


def test_a_metric_of_which_less_is_better_keeps_its_sign() -> None:
    found = lines(judge([0] * N, FOUR, "hallucination"))
    assert found[0] == "FAIL  hallucination 0.90 -> 1.00 (+0.10) on 42 questions"
    assert found[2] == "lost  q0 q1 q2 q3"


def test_a_pass_names_the_loss_that_is_ruled_out() -> None:
    found = lines(judge(FOUR, FOUR, margin=0.2))
    assert found[0] == "PASS  correctness 0.10 -> 0.10 (0.00) on 42 questions"
    assert found[1].startswith("why   a loss of 0.2 or more is ruled out: it is at most 0.0")
    assert found[-1] == "next  all figures: gate --all"
    assert len(found) == 3


def test_undecided_says_what_would_decide_it() -> None:
    found = lines(judge(FOUR, FOUR))
    assert found[0].startswith("UNDECIDED  correctness 0.10 -> 0.10 (0.00) on 42")
    assert found[1].startswith("why        42 questions cannot show that correctness fell by less than 0.02")


def test_lost_questions_have_one_line_and_the_rest_is_counted() -> None:
    found = lines(judge([0] * N, [1] * N))
    assert found[1].startswith("why   worse by 0.02 or more in the newest run (p < 0.0001; FAIL below 0.001)")
    assert found[2].startswith("lost  q0 q1 q2 ")
    shown, _, rest = found[2].removeprefix("lost  ").partition(" and ")
    assert len(shown.split()) + int(rest.split()[0]) == N
    assert max(map(len, found)) <= 80


def test_limits_and_remarks_never_take_more_than_eight_lines() -> None:
    crossed = LimitCheck(Limit("correctness", "min", 0.5), None, 0.0, N, kept=False)
    found = judge([0] * N, FOUR).with_limits([crossed], ["a long remark " * 9, "another remark " * 9])
    shown = lines(found)
    assert len(shown) <= LINES
    assert shown[2] == "      correctness 0.00 (42 questions), at least 0.5: FAIL"
    assert shown[-2] == "note  1 remark: --all"
    assert any("a long remark" in line for line in lines(found, 400))
    only = replace(found, checks=(), notes=())
    assert lines(only)[:2] == [
        "FAIL  correctness 0.00 (42 questions), at least 0.5",
        "why   a fixed limit was crossed",
    ]
    assert "at least 0.5: FAIL" in gate_line(only)
