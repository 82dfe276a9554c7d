"""When a gate gives a verdict, and when it refuses to."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from fathoms.compare.question_scores import MetricKind, pool
from fathoms.errors import DataError, UsageError
from fathoms.gate.against_baseline import gate, is_large, require_sound
from fathoms.gate.lines import (
    changes,
    check_rows,
    gate_line,
    gate_suite,
    gated_panel,
    meaning,
    reasons,
    undecided,
)
from tests.support.project import RULES, scores_of

N = 200
GOOD = scores_of("base", [1] * N, [0] * N)


def worse(name, lost, **changes):
    """The baseline with the first `lost` questions wrong, and hallucinated."""
    return scores_of(name, [0] * lost + [1] * (N - lost), [1] * lost + [0] * (N - lost), **changes)


def judge(*runs, baseline=GOOD, metrics=("correctness",), margin=0.02, alpha=0.025, **options):
    return gate(runs, baseline, metrics, margin=margin, alpha=alpha, **options)


def test_two_bad_nights_fail():
    found = judge(worse("n1", 9), worse("n2", 8))
    assert (found.verdict, found.runs, found.baseline) == ("FAIL", ("n1", "n2"), ("base",))
    (check,) = found.checks
    assert [night.delta for night in check.nights] == pytest.approx([-0.045, -0.04])
    # 8 questions were lost twice and one once: of its 3 answers, the baseline's is the right one or the other
    assert check.tests == pytest.approx((2.0**-8, 3.0**-8 * 2 / 3))
    assert judge(worse("n1", 9), worse("n2", 3)).verdict == "UNDECIDED"


def test_a_large_loss_on_few_questions_calls_for_another_run():
    base = scores_of("base", [1, 1, 1, 0, 0, 0], [0] * 6)
    found = judge(scores_of("n1", [0] * 6, [0] * 6), baseline=base)
    assert (found.verdict, found.large_losses) == ("UNDECIDED", found.checks)
    assert undecided(found) == (
        "undecided: correctness fell by 0.50 on 6 questions, which is too few to be sure: run it again now,"
        " and gate both runs together"
    )
    assert gate_suite(found, strict=False).cases[0].failure is not None
    assert judge(worse("n1", 3)).large_losses == ()


def test_the_p_value_that_decided_is_the_one_that_is_told():
    """All of four right answers are lost: 1 in 16 by permutation, and .25 ** 4 = .0039 by the test of few
    right answers, whose level is five times as high: .00078."""
    base = scores_of("base", [1, 1, 1, 1, 0, 0], [0] * 6)
    found = judge(scores_of("n1", [0] * 6, [0] * 6), baseline=base)
    (check,) = found.checks
    assert (found.verdict, check.by) == ("FAIL", "the right answers lost")
    assert (check.nights[0].p, check.p) == pytest.approx((2**-4, 0.25**4 / 5))
    console = Console(width=200, file=io.StringIO())
    console.print(*gated_panel(found))
    table = console.file.getvalue()
    assert re.search(r"0\.062 +< 0\.001 +FAIL", table)
    why = "p < 0.001 in the newest run, which lost 4 of the baseline's 4 right answers"
    assert f"worse by 0.02 or more: {why}" in " ".join(table.split())
    assert gate_line(found).endswith(", p < 0.001 against 1 baseline run: FAIL")
    assert "n 6, p < 0.001: FAIL" in str(gate_suite(found, strict=False).cases[0].failure)


def test_the_errors_of_a_judge_stand_in_change_and_bounds():
    """With a balanced accuracy of .85, a judge shows .70 of a true change: 7 of 200 lost are 5 points. It may
    show .60 only, and half of the accepted chance is for that: bounds are those of half the alpha, by .6."""
    kind = MetricKind(judge="small", balanced_accuracy=0.85, least_accuracy=0.8)
    plain, judged = [
        judge(
            run,
            alpha=alpha,
            baseline=GOOD.model_copy(update={"metrics": {**GOOD.metrics, "correctness": found}}),
        )
        for run, found, alpha in (
            (worse("n1", 7), MetricKind(), 0.0125),
            (judged_run(worse("n1", 7), kind), kind, 0.025),
        )
    ]
    (before,), (after,) = plain.checks[0].nights, judged.checks[0].nights
    assert (after.delta, after.low, after.high) == pytest.approx(
        (before.delta / 0.7, before.low / 0.6, before.high)
    )
    assert (before.delta, after.p) == (pytest.approx(-0.035), before.p)
    same, good = judged_run(GOOD.model_copy(update={"runs": ("n1",)}), kind), judged_run(GOOD, kind)
    assert [judge(same, baseline=good, margin=margin).verdict for margin in (0.04, 0.05)] == [
        "UNDECIDED",
        "PASS",
    ]
    found = judge(same, baseline=good)
    unsure = kind.model_copy(update={"least_accuracy": 0.5})  # too few labels to know that it is any good
    assert judge(judged_run(same, unsure), baseline=good, margin=0.9).verdict == "UNDECIDED"
    assert any("divided by 0.70, the part of a true change that small shows" in one for one in found.notes)


def judged_run(scores, kind):
    """The same scores, as given by a judge."""
    return scores.model_copy(update={"metrics": {**scores.metrics, "correctness": kind}})


def test_the_test_of_two_nights_that_decided_is_named():
    found = judge(worse("n1", 9), worse("n2", 8))
    (check,) = found.checks
    assert (check.by, check.p) == ("the last two runs", pytest.approx(3.0**-8 * 2 / 3 / 1.5))
    assert "p < 0.001 in the last two runs" in str(next(reasons(found)))


def test_a_gate_by_question_fails_the_questions_that_were_lost():
    found = judge(worse("n1", 20), metrics=["hallucination"])
    check, *cases = gate_suite(found, strict=False, by_question=True).cases
    assert check.failure is not None
    assert len(cases) == N
    assert [case.name for case in cases if case.failure] == [f"gate hallucination: q{i}" for i in range(20)]
    assert cases[0].failure == ("worse", "0.00 in the baseline, 1.00 in the newest run")
    stored = gate_suite(judge(worse("n1", 1)), strict=False, by_question=True)
    assert not any(case.failure for case in stored.cases)


def test_hallucination_is_turned_round():
    up = judge(worse("n1", 20), metrics=["hallucination"])
    assert (up.verdict, up.checks[0].nights[0].delta) == ("FAIL", pytest.approx(-0.1))
    down = judge(
        GOOD.model_copy(update={"runs": ("n1",)}), baseline=worse("b", 20), metrics=["hallucination"]
    )
    assert (down.verdict, down.checks[0].nights[0].delta) == ("PASS", pytest.approx(0.1))


def test_the_same_answers_on_few_questions_are_no_proof():
    same = GOOD.model_copy(update={"runs": ("n1",)})
    # nothing flipped: the bound is z^2 / (n + z^2) = 0.0188 of 200 questions
    assert judge(same).checks[0].nights[0].low == pytest.approx(-0.01885, abs=1e-5)
    assert judge(same).verdict == "PASS"
    few = judge(same, margin=0.018)
    assert few.verdict == "UNDECIDED"
    assert few.checks[0].resolvable == pytest.approx(0.01885, abs=1e-4)
    assert few.checks[0].needed == pytest.approx(210, abs=10)


def test_categories_are_judged_beside_the_mean_under_one_correction():
    alone, together = judge(worse("n1", 12)), judge(worse("n1", 12), by_category=True)
    assert [(check.category, check.questions) for check in together.checks] == [
        (None, N),
        ("A", N // 2),
        ("B", N // 2),
    ]
    assert together.checks[0].p == pytest.approx(3 * alone.checks[0].p)
    assert together.checks[0].nights == alone.checks[0].nights


@pytest.mark.slow
def test_a_category_without_the_metric_is_no_check():
    first = scores_of("base", [1, ()] * 10)
    found = gate(
        [scores_of("n1", [1, ()] * 10)], first, ["correctness"], margin=0.02, alpha=0.025, by_category=True
    )
    assert [check.category for check in found.checks] == [None, "A"]
    assert found.checks[0].nights[0].left_out == tuple(f"q{index}" for index in range(1, 20, 2))


def test_every_night_has_its_own_questions():
    """A failed call has no hallucination: the first night lacks one question, the second none."""
    first = scores_of("base", [1] * 20, [0] * 20)
    nights = [scores_of("n1", [0] + [1] * 19, [()] + [0] * 19), scores_of("n2", [1] * 20, [0] * 20)]
    (check,) = gate(nights, first, ["hallucination"], margin=0.02, alpha=0.025).checks
    assert [(night.questions, night.left_out) for night in check.nights] == [(19, ("q0",)), (20, ())]
    found = gate(nights, first, ["hallucination"], margin=0.02, alpha=0.025)
    assert [str(row[2]) for row in check_rows(check, decides=False)] == ["19", "20"]
    assert "left out of n1, hallucination does not apply: 1 (q0)" in [str(text) for text in reasons(found)]


def test_a_verdict_that_holm_changed_says_so():
    run = scores_of("n1", [0] * 10 + [1] * (N - 10), [0] * N)
    alone, both = judge(run), judge(run, metrics=["correctness", "hallucination"])
    assert (alone.verdict, both.verdict) == ("FAIL", "UNDECIDED")
    assert alone.checks[0].p == pytest.approx(2.0**-10)
    assert undecided(both) == (
        "undecided: correctness alone would FAIL, but not after Holm over the 2 checks asked for"
        " (p 0.002, it must be below 0.001)"
    )
    (row,) = check_rows(both.checks[0], decides=True)
    assert row[-3:] == ["< 0.001", "0.002", "UNDECIDED"]


def test_what_is_worse_by_less_than_the_margin_needs_no_more_questions():
    found = judge(worse("n1", 12), margin=0.1)
    (check,) = found.checks
    assert check.nights[0].high < 0
    assert (found.verdict, check.nights[0].delta > -0.1) == ("UNDECIDED", True)
    assert undecided(found) == (
        "undecided: correctness is worse, but the observed change is smaller than the margin of 0.1"
    )


def test_losses_are_no_noise():
    """What was lost may be real, so it does not raise the number of questions that are asked for."""
    moved, base = scores_of("n1", [0] * 10 + [1] * 190), scores_of("base", [1] * 196 + [0] * 4)
    found = gate([moved], base, ["correctness"], margin=0.06, alpha=0.025)
    (check,) = found.checks
    assert (found.verdict, check.needed) == ("UNDECIDED", 200)
    assert undecided(found) == (
        "undecided: correctness can be shown neither to be worse by 0.06 nor not to be"
    )


def test_the_judge_of_hallucination_is_named():
    found = judge(worse("n1", 3), metrics=["hallucination"])
    assert "abstentions classified by a;" in meaning(found)
    assert "classified by" not in meaning(judge(worse("n1", 3)))


@pytest.mark.parametrize("changes", [{"failed": 5}, {"cached": 1}])
def test_a_baseline_is_refused_when_it_is_kept(changes):
    bad = pool([GOOD, worse("b2", 0, **changes)])
    with pytest.raises(DataError):
        require_sound(bad, lambda wanted: 0.01 * wanted)
    require_sound(pool([GOOD, worse("b2", 0)]), lambda wanted: 0)


def test_baselines_pool_as_repeats():
    pooled = pool([worse("b1", 40), GOOD])
    (check,) = judge(worse("n1", 40), baseline=pooled).checks
    assert check.nights[0].delta == pytest.approx(-0.1)


@pytest.mark.parametrize(
    ("run", "match"),
    [
        (worse("n1", 0, failed=5), "5 of 200 questions of n1 failed"),
        (worse("n1", 0, cached=1), "1 replies of n1 came from an earlier run's cache"),
        (worse("n1", 0, profile="paper"), "--profile"),
        (worse("n1", 0, rules={**RULES, "match": "substring"}), "different rules"),
        (scores_of("n1", [1] * (N - 1)), "1 of the 200 questions of the baseline is not in .*: q199;"),
    ],
)
def test_no_verdict_where_it_would_say_nothing(run, match):
    with pytest.raises(DataError, match=match) as caught:
        judge(run, allowed=lambda wanted: 0.02 * wanted)
    assert caught.value.exit_code == 1


def test_changed_questions_are_left_out_up_to_a_share():
    # q0 is worse, q200 is new: what is left has no loss
    run = scores_of("n1", [0] + [1] * N)
    other = run.questions["q0"].model_copy(update={"gold": "another"})
    run = run.model_copy(update={"questions": {**run.questions, "q0": other}})
    found = judge(run, allowed_changes=lambda wanted: 0.01 * wanted)
    assert (found.changed, found.added) == (("q0",), ("q200",))
    assert found.checks[0].nights[0].delta == 0
    assert found.checks[0].questions == N - 1
    assert [line.rpartition(": ")[2] for line in changes(found)] == ["1 (q0)", "1 (q200)"]
    assert ", 1 changed and 1 new left out: " in gate_line(found)
    with pytest.raises(DataError, match="makes a new baseline"):
        judge(run, allowed_changes=lambda wanted: 0)


@pytest.mark.parametrize(("lost", "large"), [(4, False), (5, True)])
def test_a_loss_of_exactly_a_quarter_is_large(lost, large):
    assert is_large(sum([-1 / 20] * lost)) == large


def test_failures_within_what_is_allowed_are_judged():
    assert judge(worse("n1", 3, failed=4), allowed=lambda wanted: 0.02 * wanted).verdict == "UNDECIDED"
    with pytest.raises(DataError, match="of base failed"):
        judge(worse("n1", 0), baseline=GOOD.model_copy(update={"failed": 9}))


def test_cached_replies_in_a_baseline_are_no_repeats():
    cached = GOOD.model_copy(update={"cached": N})
    assert judge(worse("n1", 0), baseline=cached).verdict == "PASS"
    with pytest.raises(DataError, match="cache"):
        judge(worse("n1", 0), baseline=pool([cached, worse("b2", 0)]))


def test_other_gold_is_another_question():
    changed = GOOD.questions["q3"].model_copy(update={"gold": "other"})
    run = worse("n1", 0).model_copy(update={"questions": {**GOOD.questions, "q3": changed}})
    with pytest.raises(DataError, match="q3"):
        judge(run)


def test_a_call_that_cannot_work():
    for options in ({"margin": -0.1}, {"margin": 1}, {"alpha": 0}, {"alpha": 0.5}):
        with pytest.raises(UsageError, match=next(iter(options))):
            judge(worse("n1", 0), **options)
    for runs in ([GOOD], [worse("n1", 0), worse("n1", 0)]):
        with pytest.raises(UsageError, match="named twice"):
            judge(*runs)


def test_a_metric_that_cannot_be_gated_is_refused_with_those_that_can():
    timed = GOOD.model_copy(update={"metrics": GOOD.metrics | {"latency": MetricKind(unit="seconds")}})
    for metric, said in (("correctnes", "did you mean 'correctness'?"), ("latency", "measured in seconds")):
        with pytest.raises(UsageError) as raised:
            gate([worse("n1", 0)], timed, [metric], margin=0.02, alpha=0.025)
        assert said in str(raised.value)
        assert str(raised.value).endswith("; can be gated: correctness, hallucination")


def test_what_could_be_shown_with_a_judge_is_less_by_what_it_shows() -> None:
    """A judge that may show .6 of a change, at half the alpha: the margin that can be shown is that of right
    labels by .6, a margin takes as many questions as .6 of it by right labels, and of a judge that may show
    nothing no number is enough."""
    kind = MetricKind(judge="small", balanced_accuracy=0.85, least_accuracy=0.8)
    same = GOOD.model_copy(update={"runs": ("n1",)})
    (plain,) = judge(same, margin=0.018, alpha=0.0125).checks
    (judged,) = judge(judged_run(same, kind), baseline=judged_run(GOOD, kind), margin=0.03).checks
    assert (plain.verdict, judged.verdict) == ("UNDECIDED", "UNDECIDED")
    assert judged.resolvable == pytest.approx(plain.resolvable / 0.6)
    assert judged.needed == plain.needed
    unsure = kind.model_copy(update={"least_accuracy": 0.5})
    (unknown,) = judge(judged_run(same, unsure), baseline=judged_run(GOOD, unsure), margin=0.03).checks
    assert (unknown.resolvable, unknown.needed) == (1.0, None)


def test_what_could_be_shown_of_a_wide_metric_is_in_its_own_units() -> None:
    """The same answers on a scale of width 2: twice the margin takes as many questions."""
    wide = MetricKind(unit="score -1 to 1")
    base = judged_run(scores_of("base", [1] * N, [0] * N), wide)
    (plain,) = judge(GOOD.model_copy(update={"runs": ("n1",)}), margin=0.018).checks
    (check,) = judge(base.model_copy(update={"runs": ("n1",)}), baseline=base, margin=0.036).checks
    assert check.verdict == "UNDECIDED"
    assert (check.resolvable, check.needed) == (pytest.approx(2 * plain.resolvable), plain.needed)
