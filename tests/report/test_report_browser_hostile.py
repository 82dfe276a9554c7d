"""`report.html` of runs in which every text is an attack, in a real Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.report_browser import Watched, chromium, eventually, texts, watch, written
from tests.support.report_runs import hostile_run

pytestmark = pytest.mark.slow
VIEWS = ("view=overview", "view=compare&flips=all", "view=questions", "view=question")
ELEMENTS = "document.querySelectorAll('img, iframe, object, embed, main script, header script').length"
HANDLERS = """[...document.querySelectorAll('*')].filter(
  (element) => [...element.attributes].some((attribute) => attribute.name.startsWith('on'))).length"""
READ = """[document.title, document.body.innerText,
  ...[...document.querySelectorAll('[title], [aria-label], title')]
  .map((e) => `${e.title} ${e.ariaLabel} ${e.textContent}`)].join(' ')"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from chromium()


@pytest.fixture(params=[1280, 390])
def watched(browser: Any, request: pytest.FixtureRequest) -> Iterator[Watched]:
    yield from watch(browser, width=request.param)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(tmp_path_factory.mktemp("hostile") / "report.html", [hostile_run(), hostile_run()])


@pytest.mark.parametrize("view", VIEWS)
def test_texts_stay_texts(watched: Watched, hostile: str, view: str) -> None:
    page = watched.open(hostile, "view=questions")
    if view == "view=question":
        page.get_by_role("link", name="Question <").click()
        page.wait_for_selector("article.run")
    else:
        page = watched.open(hostile, view)
    for closed in page.locator("details").all():
        closed.evaluate("details => { details.open = true; }")
    page.wait_for_timeout(50)  # whatever would run has run
    assert page.evaluate(ELEMENTS) == 0
    assert page.evaluate(HANDLERS) == 0
    read = page.evaluate(READ)
    assert '<img src=x onerror="alert(2)">{{7*7}}' in read
    assert "\u2039U+202E\u203agnp.exe\u2039U+2066\u203a\u2400" in read
    assert "\u202e" not in read
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


def test_a_long_line_is_shown_in_part(watched: Watched, hostile: str) -> None:
    page = watched.open(hostile, "view=questions&runs=0")
    page.get_by_role("link", name="Question <").click()
    page.wait_for_selector("article.run")
    length = "document.querySelector('.said .passage').textContent.length"
    assert 20_000 <= page.evaluate(length) < 21_000
    button = page.locator(".said button.more")
    assert texts(page, ".said button.more")[0].startswith("Show all 1,050,")
    button.click()
    eventually(page, f"{length} > 1050000")
    assert button.count() == 0


def test_an_address_is_a_text_too(watched: Watched, hostile: str) -> None:
    evil = "%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E%E2%80%AE"
    page = watched.open(hostile, f"view=questions&category={evil}&outcome={evil}&lost={evil}&q={evil}")
    page.wait_for_selector("#q")
    assert page.evaluate(ELEMENTS) == 0
    assert texts(page, "#live") == ["0 questions of 2"]
    watched.open(hostile, f"view=question&id={evil}")
    assert page.evaluate(ELEMENTS) == 0


def test_a_file_that_was_cut_says_so(watched: Watched, hostile: str, tmp_path: Path) -> None:
    whole = Path(hostile.removeprefix("file://")).read_text(encoding="utf-8")
    start = whole.index('id="chunk-index">') + len('id="chunk-index">')
    cut = tmp_path / "cut.html"
    cut.write_text(whole[: start + 40] + whole[whole.index("</script>", start) :], encoding="utf-8")
    page = watched.open(cut.as_uri(), "view=questions")
    assert texts(page, "#title") == ["This part cannot be shown"]
    page.locator("#view-overview").click()
    page.wait_for_selector("#leaderboard")
