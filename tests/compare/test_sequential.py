"""What `gate --sequential` counts, what it refuses, and what it remembers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fathoms.compare.question_scores import pool
from fathoms.errors import DataError, StoreError, UsageError
from fathoms.gate.against_baseline import Gated, gate
from fathoms.gate.baselines import read_baseline, write_baseline
from fathoms.gate.lines import gate_line, gate_suite, gated_panel, undecided
from fathoms.gate.sequential import judge_in_sequence, state_path
from fathoms.stats.sequential import level_alone
from tests.support.project import scores_of

N = 24


@pytest.fixture
def baseline(tmp_path: Path) -> Path:
    """Two runs with 20 of 24 right answers."""
    path = tmp_path / "baseline.json"
    write_baseline(pool([scores_of(name, right(20), right(0)) for name in ("b1", "b2")]), path)
    return path


def right(number: int) -> list[int]:
    return [1] * number + [0] * (N - number)


def night(
    baseline: Path, day: int, number: int, metrics: tuple[str, ...] = ("correctness",), **options: Any
) -> Gated:
    """The verdict of the night of a day of November, with so many right answers."""
    run = scores_of(f"n{day}", right(number), right(options.pop("wrong", 0)))
    pooled = read_baseline(baseline)
    found = gate([run], pooled, metrics, margin=0.02, alpha=0.025, **options)
    return judge_in_sequence(found, run, f"2026-11-{day:02}T03:15:00+00:00", pooled, baseline)


def state(baseline: Path) -> dict[str, Any]:
    return json.loads(state_path(baseline).read_text())


@pytest.mark.slow
def test_steady_nights_do_not_fail_and_a_collapse_does(baseline: Path) -> None:
    for day in range(1, 11):
        found = night(baseline, day, 20)
        assert (found.verdict, found.sequence[0].nights) == ("UNDECIDED", day)
        assert found.sequence[0].evidence < 14_600
    found = night(baseline, 11, 0)
    (check,) = found.sequence
    # 20 questions with 12 right answers each lost one: 13^-20, which is raised to 1e-12
    assert (found.verdict, check.alarm, check.p) == ("FAIL", "n11", 1e-12)
    assert check.alarm_by == "evidence"
    assert gate_line(found).endswith(f"evidence of a loss {check.evidence:,.1f} (alarm at 14,600): FAIL")
    assert gate_suite(found, strict=False).cases[0].failure is not None
    assert any("FAIL stays" in str(line) for line in gated_panel(found))


@pytest.mark.slow
def test_fail_stays_and_later_runs_are_not_counted(baseline: Path) -> None:
    night(baseline, 1, 20)
    night(baseline, 2, 20)
    assert night(baseline, 3, 0).verdict == "FAIL"
    before = state_path(baseline).read_bytes()
    after = night(baseline, 4, 20)
    assert (after.verdict, after.sequence[0].alarm, after.sequence[0].p) == ("FAIL", "n3", None)
    assert gate_line(after).endswith("(alarm at 14,600) since n3 (this run alone: UNDECIDED): FAIL")
    assert night(baseline, 1, 20).verdict == "UNDECIDED"  # as it was on that night
    assert state_path(baseline).read_bytes() == before


@pytest.mark.slow
def test_a_night_with_the_same_answers_is_never_an_alarm_by_itself(baseline: Path) -> None:
    """Its random rank alone would be one for one night in a hundred."""
    pooled = read_baseline(baseline)
    run = scores_of("n", right(20))
    found = gate([run], pooled, ["correctness"], margin=0.02, alpha=0.025)
    for number in range(300):
        tonight = scores_of(f"n{number}", right(20))
        judged = judge_in_sequence(found, tonight, "2026-11-01T03:15:00+00:00", pooled, baseline)
        assert judged.verdict == "UNDECIDED", judged.sequence
        state_path(baseline).unlink()


@pytest.mark.slow
def test_a_run_is_counted_once_and_judged_alike_again(baseline: Path) -> None:
    first = night(baseline, 1, 19)
    before = state_path(baseline).read_bytes()
    assert night(baseline, 1, 19) == first
    assert state_path(baseline).read_bytes() == before
    with pytest.raises(DataError, match="n1 was judged before with other scores"):
        night(baseline, 1, 18)


@pytest.mark.slow
def test_the_same_seed_and_runs_give_the_same_state(baseline: Path) -> None:
    night(baseline, 1, 19)
    night(baseline, 2, 20)
    before = state(baseline)
    assert (before["schema_version"], [each["run"] for each in before["nights"]]) == (1, ["n1", "n2"])
    state_path(baseline).unlink()
    night(baseline, 1, 19)
    night(baseline, 2, 20)
    assert state(baseline) == before


def test_runs_are_judged_in_the_order_of_time(baseline: Path) -> None:
    night(baseline, 2, 20)
    with pytest.raises(DataError, match="n1 is not newer than n2"):
        night(baseline, 1, 20)


def test_a_large_loss_alone_is_undecided_without_an_exit_code(baseline: Path) -> None:
    # 6 of 8 were right in two runs, and 2 of these are lost: p is up to 3^-2
    write_baseline(pool([scores_of(name, [1] * 6 + [0] * 2) for name in ("b1", "b2")]), baseline)
    run = scores_of("n1", [1] * 4 + [0] * 4)
    pooled = read_baseline(baseline)
    found = gate([run], pooled, ["correctness"], margin=0.02, alpha=0.025)
    found = judge_in_sequence(found, run, "2026-11-01T03:15:00+00:00", pooled, baseline)
    assert (found.verdict, found.large_losses) == ("UNDECIDED", ())
    assert undecided(found).endswith("is not yet an alarm: run it again now, and gate that run too")


def test_a_first_night_can_be_an_alarm_by_itself(baseline: Path) -> None:
    found = night(baseline, 1, 12)  # 8 of 24 lost against two runs: p is at most 3^-8, and 0.01 is enough
    (check,) = found.sequence
    assert check.p is not None
    assert check.p <= 3**-8
    assert (found.verdict, check.alarm, check.alarm_by) == ("FAIL", "n1", "night")
    assert check.evidence < check.needed
    assert gate_line(found).endswith("against 2 baseline runs, alarm by one night alone: FAIL")
    after = night(baseline, 2, 20)
    assert gate_line(after).endswith("alarm by one night alone since n1 (this run alone: UNDECIDED): FAIL")


@pytest.mark.parametrize(("right_before", "verdict"), [(3, "UNDECIDED"), (4, "FAIL")])
def test_right_answers_that_a_first_night_lost(baseline: Path, right_before: int, verdict: str) -> None:
    """All of 4 are lost with a probability of at most 4^-4 = 0.0039, all of 3 with 0.0156; 0.005 is the
    level. The ranks alone show neither: their p values are up to 1/16 and 1/8."""
    write_baseline(scores_of("b1", [1] * right_before + [0] * (6 - right_before)), baseline)
    pooled = read_baseline(baseline)
    # the number that breaks ties follows from the baseline and the run, and one in fifty is an alarm
    for name in ("n2", "n3", "n4", "n5"):
        state_path(baseline).unlink(missing_ok=True)
        run = scores_of(name, [0] * 6)
        alone = gate([run], pooled, ["correctness"], margin=0.02, alpha=0.025)
        found = judge_in_sequence(alone, run, "2026-11-01T03:15:00+00:00", pooled, baseline)
        (check,) = found.sequence
        if check.p is not None and check.p > level_alone(1):
            break
    assert (found.verdict, check.alarm_by) == (verdict, "lost" if verdict == "FAIL" else None)


@pytest.mark.slow
def test_several_checks_share_the_budget_and_stay_the_same(baseline: Path) -> None:
    found = night(baseline, 1, 20, ("correctness", "hallucination"), by_category=True)
    assert [(each.metric, each.category, each.needed) for each in found.sequence] == [
        (metric, category, 6 * 14_600)
        for metric in ("correctness", "hallucination")
        for category in (None, "A", "B")
    ]
    with pytest.raises(DataError, match=r"watches correctness, .*, not correctness: give the same --metric"):
        night(baseline, 2, 20)


@pytest.mark.slow
def test_more_hallucinations_are_a_loss(baseline: Path) -> None:
    for day in range(1, 6):
        night(baseline, day, 20, ("hallucination",))
    assert night(baseline, 6, 20, ("hallucination",), wrong=N).verdict == "FAIL"


def test_another_baseline_is_refused(baseline: Path) -> None:
    night(baseline, 1, 20)
    write_baseline(scores_of("b3", right(20), right(0)), baseline)
    with pytest.raises(DataError, match=r"belongs to another baseline than .*: delete it to begin again"):
        night(baseline, 2, 20)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"kind"', '"kine"', "is not a state .*kind: Field required"),
        ('"seed": ', '"seed": -', "is not a state .*seed: "),
        ('"schema_version": 1', '"schema_version": 2', "was written by a newer fathoms"),
        ("{", "[", "json:1:.*not valid JSON"),
        ('"nights"', '"extra": 1, "nights"', "extra: Extra inputs are not permitted"),
        ('"p": [', '"p": [0.5, ', "a night does not have all checks"),
        ('"scores": {"correctness"', '"scores": {"other"', "a night does not have all checks"),
    ],
)
def test_a_damaged_state_is_an_error(baseline: Path, old: str, new: str, said: str) -> None:
    night(baseline, 1, 20)
    path = state_path(baseline)
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(DataError, match=said):
        night(baseline, 2, 20)


def test_a_state_that_cannot_be_written_is_an_error(baseline: Path) -> None:
    baseline.parent.chmod(0o500)
    try:
        if not _writable(baseline.parent):  # root can write everywhere
            with pytest.raises(StoreError, match="cannot be written"):
                night(baseline, 1, 20)
    finally:
        baseline.parent.chmod(0o700)


def _writable(folder: Path) -> bool:
    try:
        (folder / "probe").touch()
    except OSError:
        return False
    return True


def test_a_ratio_of_counts_is_refused(baseline: Path) -> None:
    pooled = read_baseline(baseline)
    found = gate([scores_of("n1", right(20))], pooled, ["correctness"], margin=0.02, alpha=0.025)
    counted = pooled.model_copy(
        update={
            "questions": {
                name: question.model_copy(update={"ratios": {"correctness": ((1.0, 1.0),)}})
                for name, question in pooled.questions.items()
            }
        }
    )
    with pytest.raises(UsageError, match="ratio of counts"):
        judge_in_sequence(found, scores_of("n1", right(20)), "2026-11-01", counted, baseline)
