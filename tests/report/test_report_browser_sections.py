"""Tables of a sweep on the page in Chromium: the curve over the places of the gold, and what it says."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from fathoms.runs.run import Run
from fathoms.runs.writing import new_run
from fathoms.scoring import score_run
from fathoms.types import Question, Record, Reply
from tests.support.report_browser import Watched, chromium, texts, watch, written

pytestmark = pytest.mark.slow
RIGHT = {"first": "ab", "middle": "", "last": "b"}
"""The questions that are answered right, by the place of the gold."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from chromium()


@pytest.fixture
def watched(browser: Any) -> Iterator[Watched]:
    yield from watch(browser)


def swept(folder: Path, places: dict[str, str], numbers: range) -> list[Run]:
    found = []
    for place, number in product(places, numbers):
        retrieve = {
            "kind": "distractors",
            "mode": "gold-plus-distractors",
            "position": place,
            "distractors": number,
        }
        manifest = {
            "config": {"retrieve": retrieve},
            "data": {"name": "<b>d"},
            "sweep": {"id": "s", "cell": {"retrieve.position": place, "retrieve.distractors": number}},
        }
        run = new_run(folder, f"{place}{number}", "0" * 16, manifest)
        run.records.append(
            Record(
                question=Question(id=id, text="?", category="A", answers=(("green",),)),
                answer=Reply(text="green" if id in places[place] else "red"),
            )
            for id in "ab"
        )
        score_run(run)
        found.append(Run.scored(run.path))
    return found


def test_the_curve_over_the_places(watched: Watched, tmp_path: Path) -> None:
    runs = swept(tmp_path, RIGHT, range(2, 3))
    page = watched.open(written(tmp_path / "report.html", runs))
    section = "#table-positions"
    # 2 of 2: the lower bound is the root of .05
    assert texts(page, f"{section} tbody tr td:nth-child(3)")[:2] == [
        "1.00 [0.22, 1.00]",
        "0.00 [0.00, 0.78]",
    ]
    spots = page.locator(f"{section} svg.chart path.run0 title").all_text_contents()
    assert [spot.split(" [")[0] for spot in spots] == [
        "2 distractors, first: 1.00",
        "2 distractors, middle: 0.00",
        "2 distractors, last: 0.50",
    ]
    heights = [page.locator(f"{section} svg.chart path.run0").nth(n).bounding_box()["y"] for n in range(3)]
    assert heights[0] < heights[2] < heights[1]
    assert any("position-gap with 2 distractors" in note for note in texts(page, f"{section} li"))
    assert page.locator(f"{section} svg.chart line.whisker").count() == 3
    assert "in the table only" not in page.locator(section).inner_text()


def test_lines_without_a_shape_are_counted(watched: Watched, tmp_path: Path) -> None:
    """A chart has a shape for each of 8 lines."""
    runs = swept(tmp_path, dict.fromkeys("abcdefghi", "a"), range(1, 3))
    page = watched.open(written(tmp_path / "report.html", runs))
    assert page.locator("#table-positions .legend li").count() == 8
    assert "1 more line is in the table only." in texts(page, "#table-positions p")
