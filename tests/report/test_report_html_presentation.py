"""The page draws metrics on the range of their values, leaves gaps where there is no value, and keeps the ids
of runs on one line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fathoms.report.html.overview import further_of
from fathoms.runs.run import Run
from fathoms.runs.writing import new_run
from fathoms.scoring import score_run
from fathoms.types import Question, Record, Reply
from fathoms.types.run.figures import MetricFigures, range_of
from tests.support.report_browser import Watched, chromium, texts, unfold, watch, written

TALL, NONE = "The tower is 41.5 m tall.", "It is owned by Ada Brandt."


@pytest.mark.parametrize(
    ("unit", "ends"),
    [
        ("share", (0, 1)),
        ("score -1 to 1", (-1, 1)),
        ("score -0.5 to 1", (-0.5, 1)),
        ("score 0 to 10", (0, 10)),
        ("seconds", None),
        ("score 1 to 1", None),
    ],
)
def test_the_range_comes_from_the_unit_that_a_metric_declares(
    unit: str, ends: tuple[float, float] | None
) -> None:
    assert range_of(unit) == ends
    assert further_of(MetricFigures(unit=unit))["range"] == ends


def test_a_ratio_of_counts_is_not_compared_question_by_question() -> None:
    assert further_of(MetricFigures(pooling="counts"))["by_question"] is False
    assert further_of(MetricFigures())["by_question"] is True


def record(number: int, category: str, answerable: bool) -> Record:
    question = Question(
        id=f"q{number}",
        text="How tall is the tower?" if answerable else "Who owns the mine?",
        category=category,
        files=("a.pdf",),
        answers=(("41.5",),) if answerable else (),
        answerable=answerable,
    )
    return Record(question=question, answer=Reply(text=TALL if answerable else NONE, latency=0.5))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Two runs of one name, so that their labels are their ids. Truthfulness is 1 in Towers, 0 in Both and -1
    in Mines; Mines has no correctness."""
    folder = tmp_path_factory.mktemp("range")
    result = []
    for digit in "01":
        manifest = {"name": "long-name-of-a-run", "config": {}, "folder": str(folder)}
        run = new_run(folder / "runs", "long-name-of-a-run", digit * 8, manifest)
        wanted = [("Towers", True), ("Both", True), ("Both", False), ("Mines", False)]
        run.records.append([record(number, *one) for number, one in enumerate(wanted, 1)])
        score_run(run)
        result.append(Run.scored(run.path))
    return result


@pytest.fixture(scope="module")
def watched() -> Iterator[Watched]:
    for browser in chromium():
        yield from watch(browser)


@pytest.fixture(scope="module")
def page(watched: Watched, runs: list[Run], tmp_path_factory: pytest.TempPathFactory) -> Any:
    address = written(tmp_path_factory.mktemp("page") / "report.html", runs)
    return unfold(watched.open(address, "view=overview"))


def radar(page: Any, title: str) -> Any:
    return page.locator("figure.radar").filter(has=page.locator("figcaption", has_text=title)).first


@pytest.mark.slow
def test_truthfulness_is_drawn_from_minus_1_to_1(page: Any) -> None:
    """By hand: with axes Overall 0, Towers 1, Both 0, Mines -1, the outline reaches half of the radius, the
    rim, half of it, and the centre."""
    drawn = radar(page, "truthfulness")
    assert drawn.locator("svg.chart").get_attribute("aria-label").endswith("from -1 to 1")
    path = drawn.locator("path.line0").get_attribute("d").strip("MZ")
    points = [tuple(map(float, point.split(","))) for point in path.split("L")]
    sizes = [(x * x + y * y) ** 0.5 for x, y in points]
    assert sizes == pytest.approx([sizes[1] / 2, sizes[1], sizes[1] / 2, 0], abs=0.1)
    ticks = drawn.locator("text.tick").all_text_contents()
    assert ticks == ["-1", "0", "1"]


@pytest.mark.slow
def test_an_axis_without_a_value_says_so_and_is_not_drawn_through_0(page: Any) -> None:
    drawn = radar(page, "Correctness")
    labels = drawn.locator("text.label").all_text_contents()
    assert [("no value" in label) for label in labels] == [False, False, False, True]
    path = drawn.locator("path.line0").get_attribute("d")
    assert "0,0" not in path.replace("M", " ").replace("L", " ").split()
    assert path.count("M") == 2  # from Overall to Towers, and from Towers to Both


@pytest.mark.slow
def test_the_rates_by_answerability_are_on_the_page(page: Any) -> None:
    rows = texts(page, "#table-abstention tbody tr")
    assert [row.split()[-2:] for row in rows[:3]] == [["0.00", "(2)"], ["1.00", "(2)"], ["0.50", "(4)"]]


@pytest.mark.slow
def test_ids_of_runs_stand_on_one_line(page: Any, runs: list[Run]) -> None:
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        found = page.locator("#leaderboard .id, #radar .legend .id, #about .id")
        assert set(found.all_inner_texts()) == {run.original_id for run in runs}
        page.wait_for_function(  # one line each, once the page is drawn for its new width
            "ids => [...document.querySelectorAll(ids)].every(one => one.getClientRects().length === 1)",
            arg="#leaderboard .id, #radar .legend .id, #about .id",
        )
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.slow
def test_no_cell_is_written_over_another(page: Any) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    too_wide = "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).length"
    assert page.eval_on_selector_all("#leaderboard tbody th", too_wide) == 0
