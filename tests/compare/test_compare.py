"""Comparisons worked by hand, and of two released runs."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
import scipy
from rich.console import Console
from rich.text import Text

from fathoms.compare.compare import compare
from fathoms.compare.question_scores import (
    QuestionScores,
    pool,
    read_scores,
)
from fathoms.errors import DataError, UsageError
from fathoms.gate.against_baseline import gate
from fathoms.gate.baselines import read_baseline, write_baseline
from fathoms.gate.lines import gated_panel
from fathoms.importers import keep, read_result_file
from fathoms.report.comparison import comparison_panel
from fathoms.scoring import score_run
from tests.support.project import RULES, scores_of


def test_a_comparison_by_hand():
    # A: questions 0, 2, 4; B: questions 1, 3. Differences in A: +1, 0, -0.5; in B: -1, 0
    first = scores_of("one", [0, 1, 1, 0, 0.5])
    found = compare([first, scores_of("two", [1, 0, 1, 0, 0])], ["correctness"])
    (test,) = found.tests
    assert (test.overall.first, test.overall.second) == (pytest.approx(0.5), pytest.approx(1 / 3))
    assert test.overall.difference == pytest.approx((0.5 / 3 - 1 / 2) / 2)
    assert test.overall.low < test.overall.difference < test.overall.high
    assert [test.categories[name].n for name in "AB"] == [3, 2]
    assert test.categories["A"].difference == pytest.approx(0.5 / 3)
    assert (test.wins, test.losses, test.ties) == (1, 2, 2)
    assert [flip.question for flip in test.flips] == ["q0", "q1", "q4"]
    # steps 1/6, 1/4, 1/12; |sum| = 1/6: of eight sign patterns six reach it
    assert test.p == test.p_holm == pytest.approx(6 / 8)


def test_what_values_rest_on_is_said_of_every_run_once():
    def drafted(name: str, count: int) -> QuestionScores:
        scores = scores_of(name, [0, 1, 1, 0, 0.5])
        kind = scores.metrics["correctness"].model_copy(update={"counted": {"drafted nuggets": count}})
        return scores.model_copy(update={"metrics": {**scores.metrics, "correctness": kind}})

    twice = pool([drafted("two", 3), drafted("three", 4)])
    found = compare([drafted("one", 2), twice], ["correctness"])
    notes = ("correctness of one: 2 drafted nuggets", "correctness of two and 1 more: 7 drafted nuggets")
    assert found.notes == notes
    assert {str(part) for part in comparison_panel(found)} > set(notes)
    gated = gate([drafted("four", 1)], twice, ["correctness"], margin=0.5, alpha=0.025)
    assert gated.notes == ("correctness of four: 1 drafted nugget", notes[1])
    assert {str(part) for part in gated_panel(gated)} > set(gated.notes)
    assert gated.with_limits([], ["a note", notes[1]]).notes == (*gated.notes, "a note")


def test_flags_of_single_calls_take_mcnemar_and_fewer_are_wins():
    ones, twos = [1] * 7 + [0] * 14, [0] * 7 + [1] + [0] * 13
    first, second = scores_of("one", [0.5] * 21, ones), scores_of("two", [0.5] * 21, twos)
    (test,) = compare([first, second], ["hallucination"]).tests
    assert (test.test, round(test.p, 3)) == ("mcnemar", 0.039)
    assert (test.wins, test.losses, test.ties) == (7, 1, 13)
    # what McNemar tests is the difference over all questions alike
    assert test.micro.difference == pytest.approx(-6 / 21)
    assert test.overall.difference == pytest.approx((-4 / 11 + (1 - 3) / 10) / 2)
    (line,) = [
        str(part)
        for part in comparison_panel(compare([first, second], ["hallucination"]))
        if "p 0.0" in str(part)
    ]
    assert line == (
        "for other questions on the same documents: a difference, p 0.039, after Holm 0.039 (McNemar, mid-p,"
        " of the mean of the questions)"
    )
    twice = pool([second, scores_of("three", [0.5] * 21, twos)])
    (test,) = compare([first, twice], ["hallucination"]).tests
    assert test.test == "sign-flip-and-pooled"


@pytest.mark.slow
def test_a_p_value_beside_an_interval_that_says_something_else_is_explained():
    """Five of 40 answers are won and none lost: 2 / 32 = .062 by sign flips, and an interval above 0."""
    before = scores_of("a", [0] * 5 + [1] * 35, [0] * 40)
    after = scores_of("b", [1] * 40, [0] * 40)
    found = compare([before, after], ["correctness"])
    (test,) = found.tests
    assert test.p == pytest.approx(2 / 2**5)
    assert test.overall.low > 0
    console = Console(width=200, file=io.StringIO())
    console.print(*comparison_panel(found))
    said = " ".join(console.file.getvalue().split())
    mean = "score test of the mean of the categories"
    assert f"(sign-flip and {mean}; interval: {mean} alone)" in said


def test_holm_is_over_every_test():
    runs = [scores_of(name, [0.5] * 20, [flag] * 20) for name, flag in (("a", 0), ("b", 1), ("c", 0))]
    found = compare(runs, ["correctness", "hallucination"])
    assert [(test.run, test.metric) for test in found.tests] == [
        (run, metric) for run in "bc" for metric in ("correctness", "hallucination")
    ]
    exact = scipy.stats.binomtest(20, 20).pvalue - scipy.stats.binom.pmf(20, 20, 0.5)
    assert [test.p_holm for test in found.tests] == pytest.approx([1, 4 * exact, 1, 1])


def test_repeats_are_averaged_first_and_what_does_not_apply_is_left_out():
    first = scores_of("one", [(1, 0), (), 1], [(1, 0), (), ()])
    (right, wrong) = compare(
        [first, scores_of("two", [0, 1, 1], [1, 0, 0])], ["correctness", "hallucination"]
    ).tests
    assert [(flip.question, flip.first, flip.second) for flip in right.flips] == [("q0", 0.5, 0.0)]
    assert (right.overall.n, right.left_out) == (2, ("q1",))
    assert (wrong.overall.n, wrong.left_out) == (1, ("q1", "q2"))


def test_questions_that_differ_are_named_and_not_compared():
    first, second = scores_of("one", [1, 1, 1, 1]), scores_of("two", [1, 0, 0, 0, 0])
    changed = second.questions["q1"].model_copy(update={"gold": "other"})
    second = second.model_copy(update={"questions": {**second.questions, "q1": changed}})
    found = compare([first, second], ["correctness"])
    assert found.tests[0].overall.n == 3
    (unshared,) = found.unshared
    assert (unshared.only_first, unshared.only_second, unshared.changed) == ((), ("q4",), ("q1",))
    assert any("A did not ask: 1 (q4)" in str(part) for part in comparison_panel(found))


def test_failures_cached_replies_and_the_judge_are_told():
    first = scores_of("one", [1, 0], [0, 1], failed=1)
    found = compare([first, scores_of("two", [1, 0], [0, 0], cached=2)], ["correctness", "hallucination"])
    assert [(run.run, run.failed, run.cached) for run in found.runs] == [("one", 1, 0), ("two", 0, 2)]
    lines = [str(part) for part in comparison_panel(found)]
    assert "1 of 2 calls failed: correctness 0, no hallucination" in lines
    assert "2 of 2 replies came from an earlier run's cache" in lines
    assert "hallucination: abstentions classified by a" in lines


def test_what_cannot_be_compared():
    first = scores_of("one", [1, 0], [0, 1])
    with pytest.raises(UsageError, match="two or more"):
        compare([first, first], ["correctness"])
    with pytest.raises(DataError, match="--profile"):
        compare([first, scores_of("two", [1, 0], profile="paper")], ["correctness"])
    other = scores_of("two", [1, 0], [1, 1], rules={**RULES, "classifier_key": "b2"})
    assert compare([first, other], ["correctness"]).tests
    with pytest.raises(DataError, match=r"hallucination .* different rules"):
        compare([first, other], ["hallucination"])
    old = scores_of("old", [1, 0], [1, 1], rules={**RULES, "classifier_key": None})
    with pytest.raises(DataError, match=r"old does not say which exemplars"):
        compare([old, old.model_copy(update={"runs": ("older",)})], ["hallucination"])
    with pytest.raises(DataError, match="no question has correctness"):
        compare([first, scores_of("two", [(), ()])], ["correctness"])


def test_a_baseline_file_is_the_run_it_was_made_of(tmp_path):
    result = pool([scores_of("one", [1, 0.5], [0, 1]), scores_of("two", [0, 0.5], [0, 0])])
    assert result.questions["q0"].mean("correctness") == 0.5
    write_baseline(result, tmp_path / "baseline.json")
    path = tmp_path / "baseline.json"
    assert read_baseline(path) == result.model_copy(update={"saved_in": str(path)})
    for text in ("[]", "{}", '{"kind": "baseline", "schema": 1}', "no json"):
        (tmp_path / "other.json").write_text(text)
        with pytest.raises(DataError, match=r"not a baseline|not valid JSON"):
            read_baseline(tmp_path / "other.json")
    (tmp_path / "newer.json").write_text('{"kind": "baseline", "schema": 2}')
    with pytest.raises(DataError, match="newer fathoms"):
        read_baseline(tmp_path / "newer.json")


@pytest.fixture(scope="module")
def released(shared, tmp_path_factory):
    """The released answers of GPT-4.1 and GPT-4o as runs."""
    runs = []
    for name in ("gpt_4_1_openai_api", "gpt_4o_openai_api"):
        imported = read_result_file(shared / "fathoms-rag" / "results" / f"{name}.json")
        run = keep(replace(imported, name=name), "fathoms-rag", tmp_path_factory.mktemp("released"))
        score_run(run)
        runs.append(run)
    return runs


@pytest.mark.slow
def test_two_released_runs(released):
    found = compare([read_scores(run) for run in released], ["correctness", "hallucination"])
    right, wrong = found.tests
    # the macro means of the paper's table (.79; .71, which is .72 where both sides are folded)
    assert (round(right.overall.first, 2), round(right.overall.second, 2)) == (0.79, 0.72)
    assert [effect.n for effect in right.categories.values()] == [31, 13, 14, 25, 10]
    assert next(iter(right.categories)) == "Text-Only"
    assert (right.wins, right.losses, right.ties) == (2, 9, 82)
    assert 0.03 < right.p < 0.05 < right.p_holm
    # 2 and 7 flags that only one of them has
    assert wrong.p == pytest.approx(scipy.stats.binomtest(2, 9).pvalue - scipy.stats.binom.pmf(2, 9, 0.5))
    assert right.detectable is not None
    assert abs(right.overall.difference) < right.detectable


@pytest.mark.slow
def test_the_docs_show_what_two_released_runs_print(released, root):
    page = (root / "docs" / "statistics.md").read_text()
    lines = comparison_panel(
        compare([read_scores(run, "paper") for run in released], ["correctness", "hallucination"])
    )
    messages = [str(line) for line in lines if isinstance(line, Text)]
    start = next(number for number, line in enumerate(messages) if line.startswith("for other questions"))
    assert "\n".join(messages[start : start + 4]) in page


@pytest.mark.slow
def test_the_intervals_of_a_released_run(released):
    figures = released[0].summary.plain()["profiles"]["paper"]
    text_only = figures["categories"]["Text-Only"]["intervals"]["correctness"]
    # 28 of 31: Blaker's interval is within Clopper and Pearson's
    theirs = scipy.stats.binomtest(28, 31).proportion_ci(method="exact")
    assert theirs.low <= text_only["low"] < 28 / 31 < text_only["high"] <= theirs.high
    assert text_only["method"] == "blaker"
    overall = figures["overall"]["intervals"]["correctness"]
    assert (overall["method"], overall["n"], overall["groups"]) == ("score", 93, 6)
    assert overall["clustered"] is None
    assert overall["low"] < figures["overall"]["correctness"] < overall["high"]


@pytest.mark.slow
def test_a_run_without_scores_says_so(released):
    with pytest.raises(DataError, match=r"no scores 'mine' \(available: paper"):
        read_scores(released[0], "mine")
