"""A report in Debian's Chromium: what a page must never do is noted, whatever a test looks at."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from fathoms.report.html import report_html
from fathoms.runs.run import Run

CHROMIUM = "/usr/bin/chromium"


def chromium() -> Iterator[Any]:
    """A browser; the test is skipped where there is none."""
    api = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")
    if not Path(CHROMIUM).exists():
        pytest.skip(f"no Chromium at {CHROMIUM}: apt-get install chromium")
    with api.sync_playwright() as playwright:
        flags = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield browser
        browser.close()


class Watched:
    """A page of which everything is noted that a report must not do: `wrong` must stay empty."""

    def __init__(self, browser: Any, width: int = 1280, **options: Any) -> None:
        self.page = browser.new_page(viewport={"width": width, "height": 900}, **options)
        self.wrong: list[str] = []
        self.page.on("console", lambda said: self.wrong.append(f"console: {said.text}"))
        self.page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        self.page.on("request", lambda request: self._on_request(request.url))
        self.page.on("dialog", self._dialog)
        self.address = ""

    def _on_request(self, url: str) -> None:
        if not url.startswith("data:") and url.split("#")[0] != self.address:
            self.wrong.append(f"request: {url}")

    def _dialog(self, dialog: Any) -> None:
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def open(self, address: str, view: str = "") -> Any:
        """The page at this view, drawn."""
        self.address = address
        self.page.goto(f"{address}#{view}")
        self.page.wait_for_selector("main #title")
        return self.page

    def close(self) -> None:
        """Close the page, which has done nothing wrong."""
        self.page.close()
        assert self.wrong == []


def watch(browser: Any, **options: Any) -> Iterator[Watched]:
    """A page for one test."""
    watched = Watched(browser, **options)
    yield watched
    watched.close()


def written(path: Path, runs: Sequence[Run]) -> str:
    """The address of a report."""
    path.write_text(report_html(runs), encoding="utf-8")
    return path.as_uri()


def eventually(page: Any, script: str) -> None:
    """Wait until an expression is true, and until the page has drawn what follows from it: it draws after the
    address has changed. Playwright's own way needs `eval`, which the page forbids."""
    for _ in range(1500):
        if page.evaluate(script):
            page.evaluate("() => new Promise(done => setTimeout(() => requestAnimationFrame(done)))")
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"never true: {script}")


def unfold(page: Any) -> Any:
    """The page with all its sections open."""
    page.evaluate("document.querySelectorAll('.fold > details').forEach((found) => (found.open = true))")
    return page


def texts(page: Any, selector: str) -> list[str]:
    """What is to be read in every element, without line breaks."""
    return [" ".join(text.split()) for text in page.locator(selector).all_inner_texts()]
