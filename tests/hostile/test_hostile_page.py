"""The report page in a real Chromium: nothing that a run says is run, and no name of it stops the page."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fathoms.report.html import MOST_CATEGORIES, report_html
from fathoms.report.leaderboard import leaderboard
from fathoms.report.radar import MOST_AXES, make_chart
from fathoms.runs.run import Run
from tests.support.report_browser import Watched, chromium, texts, watch, written
from tests.support.report_runs import example_runs, hostile_run
from tests.support.run_in_memory import RunInMemory

PAYLOADS = (
    "</ScRiPt/><svg onload=alert(1)><!--",
    "<!--<script>",
    "]]><a href=javascript:alert(1)>x</a>",
    "\u2028alert(1)\u2029//`${alert(1)}`\\u003cscript>",
    "javascript:alert(1)",
    '"><style>@import url(//x.invalid/a)</style><base href=//x.invalid>',
)
NAMES = ("__proto__", "constructor", "toString", "hasOwnProperty")
VIEWS = ("view=overview", "view=compare&flips=all", "view=questions")
MARKUP = """document.querySelectorAll(
  'img, iframe, object, embed, base, form[action], main script, main style, main a:not([href^="#"])'
).length"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from chromium()


@pytest.fixture
def watched(browser: Any) -> Iterator[Watched]:
    yield from watch(browser)


def renamed(run: Run, names: dict[str, str], ids: dict[str, str]) -> Run:
    """A run with other names of its categories and other ids of its questions."""

    def changed(value: Any) -> Any:
        if isinstance(value, dict):
            return {names.get(key, key): changed(child) for key, child in value.items()}
        if isinstance(value, list):
            return [changed(child) for child in value]
        return names.get(value, ids.get(value, value)) if isinstance(value, str) else value

    views = [changed(view) for view in run.views()]
    return RunInMemory(
        run.original_id, run.manifest.plain(), changed(dict(run.summary.plain())), lambda: iter(views)
    )


def test_the_data_of_a_page_cannot_end_its_element() -> None:
    """Without a browser: what stands in the file holds no tag that the template did not write."""
    tags = report_html(example_runs(["alpha"], 3)).count("<")
    for payload in PAYLOADS:
        page = report_html([hostile_run(payload)])
        assert page.count("<script") == page.count("</script>")
        assert payload not in page or "<" not in payload
        assert abs(page.count("<") - tags) < 40  # two elements a chunk


@pytest.mark.slow
def test_payloads_stay_texts(watched: Watched, tmp_path: Path) -> None:
    address = written(tmp_path / "report.html", [hostile_run(payload) for payload in PAYLOADS])
    for view in VIEWS:
        page = watched.open(address, view)
        page.wait_for_timeout(50)  # whatever would run has run
        assert page.evaluate(MARKUP) == 0, view
        assert "This part cannot be shown" not in texts(page, "main")[0]


@pytest.mark.slow
def test_names_that_every_object_has(watched: Watched, tmp_path: Path) -> None:
    """One run has these categories and ids, the other has not: what it inherits is not taken for its own."""
    alpha, beta = example_runs(["alpha", "beta"], 12)
    names = dict(zip(("Text-Only", "Tables", "Images"), NAMES, strict=False))
    ids = {f"q-{number:03d}": name for number, name in enumerate(NAMES)}
    address = written(tmp_path / "report.html", [renamed(alpha, names, ids), beta])
    for view in VIEWS:
        page = watched.open(address, view)
        read = texts(page, "main")[0]
        assert "This part cannot be shown" not in read, view
        assert "NaN" not in read
        assert "undefined" not in read
    for name in NAMES:
        page = watched.open(address, f"view=question&id={name}")
        page.wait_for_selector("article.run")
        assert name in texts(page, "main")[0]
        watched.open(address, f"{name}={name}")
    keys = ("view", "category", "outcome", "lost", "order", "flips", "metric", "sort", "scale", "theme")
    for key, name in zip(keys, itertools.cycle(NAMES), strict=False):
        watched.open(address, f"view=questions&{key}={name}")
        watched.open(address, f"view=compare&{key}={name}")


def many(categories: int) -> Run:
    """A run with a question in each of so many categories."""
    run = example_runs(["alpha"], 3)[0]
    [view] = [view for view in run.views() if view["question"]["id"] == "q-000"]
    views = [
        {**view, "question": {**view["question"], "id": f"q{at}", "category": f"category {at}"}}
        for at in range(categories)
    ]
    summary = json.loads(json.dumps(run.summary_json))
    profile = summary["profiles"]["paper"]
    figures = next(iter(profile["categories"].values()))
    profile["categories"] = {f"category {at}": figures for at in range(categories)}
    summary["categories"] = list(profile["categories"])
    return RunInMemory(run.original_id, run.manifest_json, summary, lambda: iter(views))


@pytest.mark.slow
def test_thousands_of_categories(watched: Watched, tmp_path: Path) -> None:
    """The page draws a part of them; where it freezes, Playwright's own time limit ends the test."""
    runs = [many(3000), many(3000)]
    page = watched.open(written(tmp_path / "report.html", runs))
    assert page.locator("#leaderboard th[scope=colgroup]").count() == MOST_CATEGORIES + 1
    assert f"draws the first {MOST_CATEGORIES} of 3,000 categories" in texts(page, "main")[0]
    for view in VIEWS[1:]:
        watched.open(page.url.split("#")[0], view)
    assert page.evaluate("document.querySelectorAll('*').length") < 60_000


def test_a_radar_plot_has_so_many_axes() -> None:
    chart = make_chart(leaderboard([many(1000)], None), "correctness")
    assert len(chart.axes) == MOST_AXES + 1
    assert "the first 60 of 1,000 categories" in chart.subtitle
