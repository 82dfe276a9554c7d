"""How far people agree: the paper's Table I, kappa by hand, intervals by SciPy, and where it is shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from fathoms.extras.review.agreement import agreement, average, mean_rating, rated_alike
from fathoms.report.as_json import report_json
from fathoms.report.markdown import report_markdown
from fathoms.report.terminal import leaderboard_panel, summary_panel
from fathoms.report.write import write_report
from fathoms.runs.ratings import FILE, Rating, append_rating
from fathoms.runs.run import Run
from tests.support.run_in_memory import changed

pytestmark = pytest.mark.slow  # they draw

# Table I: three answers of each of 16 runs. A mean is printed with two digits, and of 18 or 12 whole ratings
# only one sum rounds to it: 88 to 4.89, 80 to 4.44 and 71 to 3.94 of 18; 53 to 4.42 and 57 to 4.75 of 12.
TABLE_I = {
    "Docling with EasyOCR": (6, 90, 88, "5.00", "4.89"),
    "LlamaIndex RAG": (6, 80, 71, "4.44", "3.94"),
    "Closed": (4, 53, 57, "4.42", "4.75"),
}


def spread(total: int, n: int) -> list[int]:
    """`n` whole ratings that add up to `total`."""
    return [total // n + (place < total % n) for place in range(n)]


def rate(view: Run, path: Path, question: str, score: int | None, flag: int | None, **changes: Any) -> None:
    """Append a rating of what the run shows for a question."""
    scores = next(
        each["repeats"][0]["scores"]["paper"] for each in view.views() if each["question"]["id"] == question
    )
    shown = {key: scores[key] for key in ("correctness", "hallucination", "abstained")}
    values = {"run": view.original_id, "question": question, "profile": "paper", "reviewer": "ann", "seed": 1}
    values |= {"score_rating": score, "flag_rating": flag, "time": "2026-01-02T03:04:05+00:00", **shown}
    append_rating(path, Rating.model_validate(values | changes))


@pytest.fixture
def reviewed_runs(small_run: Callable[..., Run], tmp_path: Path) -> list[Run]:
    """Sixteen runs with three ratings each, whose means are those of Table I."""
    runs = []
    for pipeline, (count, scores, flags, _, _) in TABLE_I.items():
        pairs = list(zip(spread(scores, 3 * count), spread(flags, 3 * count), strict=True))
        for number in range(count):
            id = f"20260102T030405678Z_{len(runs)}_0a1b2c3d"
            run = small_run(tmp_path / id, run=id, name=f"run {len(runs)}")
            run = changed(run, manifest={**run.manifest.plain(), "pipeline": pipeline})
            names = ("right", "half", "wrong")
            for question, pair in zip(names, pairs[3 * number :], strict=False):
                rate(run, tmp_path / id / FILE, question, *pair)
            runs.append(run)
    return runs


def test_the_papers_table_1(reviewed_runs: list[Run]) -> None:
    found = agreement(reviewed_runs)
    assert found is not None
    rows = {
        row.pipeline: (len(row.runs), row.score.n, f"{row.score.mean:.2f}", f"{row.flag.mean:.2f}")
        for row in found.pipelines
        if row.score and row.flag
    }
    assert rows == {
        name: (count, 3 * count, score, flag) for name, (count, _, _, score, flag) in TABLE_I.items()
    }
    score, flag = found.average["score"], found.average["flag"]
    assert score is not None
    assert flag is not None
    assert (f"{score.mean:.2f}", f"{flag.mean:.2f}") == ("4.62", "4.53")
    assert score.low < score.mean < score.high <= 5


def test_it_is_in_the_markdown_the_json_and_on_the_terminal(reviewed_runs: list[Run], tmp_path: Path) -> None:
    text = report_markdown(reviewed_runs, tmp_path)
    section = text.split("## Human review")[1].split("\n## ")[0]
    row = next(line for line in section.splitlines() if "Docling" in line).split("|")
    assert [cell.strip().split(" ")[0] for cell in row[1:-1]] == ["Docling", "5.00", "4.89", "18"]
    assert "| Average (unweighted) | 4.62 " in section
    assert "Reviewers: ann." in section
    found = report_json(reviewed_runs)
    assert len(found) == 16
    assert json.loads(json.dumps(found[0]["agreement"])) == json.loads(json.dumps(found[-1]["agreement"]))
    assert round(found[0]["agreement"]["average"]["flag"]["mean"], 2) == 4.53
    console = Console(width=80, record=True, file=(tmp_path / "out").open("w"))
    with console.file:
        console.print(*leaderboard_panel(reviewed_runs), sep="\n")
    (line,) = [line for line in console.export_text().splitlines() if "Average" in line]
    assert line.split()[2] == "4.62"


def test_nothing_is_said_where_nobody_was_asked(small_run: Callable[..., Run], tmp_path: Path) -> None:
    run = small_run(tmp_path)
    assert agreement([run]) is None
    assert report_json([run])[0]["agreement"] is None
    assert "Human review" not in report_markdown([run], tmp_path)


def test_a_single_run_shows_its_own(run_dir: Path, small_run: Callable[..., Run]) -> None:
    run = small_run(run_dir)
    rate(run, run_dir / FILE, "right", 5, 4)
    found = agreement([run])
    assert found is not None
    assert [row.pipeline for row in found.pipelines] == ["small"]
    for panel in (summary_panel(run), leaderboard_panel([run])):
        console = Console(width=80, record=True, file=(run_dir / "out").open("w"))
        with console.file:
            console.print(*panel, sep="\n")
        assert "5.00 [" in console.export_text()
    write_report([run], run_dir)
    assert "## Human review" in (run_dir / "report.md").read_text()


def test_what_was_scored_otherwise_since_is_left_out_and_counted(
    small_run: Callable[..., Run], tmp_path: Path
) -> None:
    run = small_run(tmp_path)
    rate(run, tmp_path / FILE, "right", 5, 5)
    rate(run, tmp_path / FILE, "wrong", 1, 1, abstained=True)
    rate(run, tmp_path / FILE, "half", 1, 1, profile="fathoms")
    rate(run, tmp_path / FILE, "half", 1, 1, run="another")
    found = agreement([run])
    assert found is not None
    assert (found.outdated, found.other_profiles) == (1, 1)
    assert [row.score.mean for row in found.pipelines if row.score] == [5]
    text = report_markdown([run], tmp_path)
    assert "scores have changed since: 1" in text
    assert "another profile's scores: 1" in text


def test_files_of_ratings_from_elsewhere(small_run: Callable[..., Run], tmp_path: Path) -> None:
    run = small_run(tmp_path / "run")
    rate(run, tmp_path / "ours.jsonl", "right", 5, 5)
    rate(run, tmp_path / "run" / FILE, "right", 3, 3, reviewer="ben")
    found = agreement([changed(run, reviews=(tmp_path / "ours.jsonl",))])
    assert found is not None
    assert found.reviewers == ("ann", "ben")
    (row,) = found.pipelines
    assert row.score is not None
    assert (row.score.mean, row.score.n) == (4, 1)  # one answer, whoever rated it


def test_two_reviewers(small_run: Callable[..., Run], tmp_path: Path) -> None:
    run = small_run(tmp_path)
    for question, ann, ben in (("right", 5, 5), ("half", 4, 4), ("wrong", 2, 1)):
        rate(run, tmp_path / FILE, question, ann, 5)
        rate(run, tmp_path / FILE, question, ben, 5, reviewer="ben")
    found = agreement([run])
    assert found is not None
    score, flag = found.kappas
    # by hand: 2 of 3 agree; by chance (5, 4, 2) x (5, 4, 1) 2 of 9 do: 1 - (1/3) / (7/9) = 4/7
    assert (score.reviewers, score.column, score.n) == (("ann", "ben"), "score", 3)
    assert (score.same, score.kappa) == pytest.approx((2 / 3, 4 / 7))
    # squared: 1/3 seen; by chance (0 + 1 + 16 + 1 + 0 + 9 + 9 + 4 + 1) / 9 = 41/9: 1 - 3/41
    assert score.weighted == pytest.approx(38 / 41)
    assert (flag.same, flag.kappa, flag.weighted) == (1, None, None)  # all fives: chance agrees always
    assert "| ann and ben | score | 0.67 | 0.57 | 0.93 | 3 |" in report_markdown([run], tmp_path)


def test_kappa_by_hand() -> None:
    """20 and 15 agreements, 5 and 10 disagreements: 0.7 seen, 0.5 by chance (0.5 x 0.6 + 0.5 x 0.4)."""
    pairs = [(5, 5)] * 20 + [(5, 1)] * 5 + [(1, 5)] * 10 + [(1, 1)] * 15
    assert rated_alike(pairs) == pytest.approx(0.4)
    assert rated_alike(pairs, quadratic=True) == pytest.approx(0.4)  # two values have one distance
    assert rated_alike([(1, 5), (5, 1)]) == pytest.approx(-1)
    assert rated_alike([(4, 4)]) is None


LIKERT = st.integers(1, 5)


@given(st.lists(st.tuples(LIKERT, LIKERT), min_size=1, max_size=40))
def test_kappa_is_scikit_learns(pairs: list[tuple[int, int]]) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    first, second = zip(*pairs, strict=True)
    for ours, weights in ((rated_alike(pairs), None), (rated_alike(pairs, quadratic=True), "quadratic")):
        if ours is not None:
            theirs = metrics.cohen_kappa_score(first, second, labels=[1, 2, 3, 4, 5], weights=weights)
            assert ours == pytest.approx(theirs)


@pytest.mark.parametrize(("agreeing", "n"), [(18, 18), (17, 18), (0, 3), (1, 1), (5, 12)])
def test_the_interval_is_within_clopper_and_pearsons(agreeing: int, n: int) -> None:
    """Of ratings 1 and 5 alone the mean is a rate on another scale. Its exact interval by Blaker is never
    wider than that of Clopper and Pearson, which SciPy has, nor narrower than theirs of 90 %."""
    from scipy.stats import binomtest

    found = mean_rating([5] * agreeing + [1] * (n - agreeing))
    assert found is not None
    wide, narrow = (binomtest(agreeing, n).proportion_ci(level, method="exact") for level in (0.95, 0.9))
    assert 1 + 4 * wide.low <= found.low + 1e-9 <= 1 + 4 * narrow.low + 2e-9
    assert 1 + 4 * narrow.high <= found.high + 1e-9 <= 1 + 4 * wide.high + 2e-9


@given(st.lists(LIKERT, min_size=1, max_size=50))
def test_an_interval_holds_its_mean_and_has_a_width(ratings: list[int]) -> None:
    found = mean_rating(ratings)
    assert found is not None
    assert 1 <= found.low <= found.mean <= found.high <= 5
    assert found.high - found.low > 0.1


def test_no_ratings_no_mean() -> None:
    assert mean_rating([]) is None
    assert average([[], []]) is None


def test_the_average_of_pipelines() -> None:
    """Each pipeline counts alike: (4 + 3) / 2. The more ratings, the shorter the interval."""
    few, many = (average([[5, 3] * n, [], [5, 2, 2] * n]) for n in (1, 20))
    assert few is not None
    assert many is not None
    assert (few.mean, few.n, many.mean, many.n) == pytest.approx((3.5, 2, 3.5, 2))
    assert 1 <= few.low < many.low < 3.5 < many.high < few.high <= 5
