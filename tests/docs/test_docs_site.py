"""The generated reference is fresh, and the site builds strictly and needs no network."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.doc_pages import DOCS, PAGES, ROOT
from tests.support.report_browser import chromium

browser = pytest.fixture(scope="module")(chromium)


@pytest.mark.slow
def test_the_reference_pages_are_up_to_date() -> None:
    pages = runpy.run_path(str(DOCS / "generate"))["pages"]()
    assert {path.suffix for path in pages} == {".md", ".json"}
    stale = [path.name for path, data in pages.items() if not path.is_file() or path.read_bytes() != data]
    assert not stale, "run make reference"


def test_the_reference_describes_options_errors_metrics_and_files() -> None:
    """What a reader looks up there, in the words of the code."""
    reference = {path.stem: path.read_text() for path in (DOCS / "reference").glob("*.md")}
    assert (
        "| `--max-cost USD` |  | Stop before all runs together cost more (exit code 3). |" in reference["cli"]
    )
    assert (
        "| `top_k` | integer, >= 1, <= 100000 | `3` | Number of chunks per question. |" in reference["config"]
    )
    assert "| 101 | the gate is undecided" in reference["exit-codes"]
    assert "(Wilson 1927)" in reference["metrics"]
    assert "| `data.documents.*.sha256` | string |" in reference["files"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built with warnings as errors."""
    path = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return path


@pytest.mark.slow
def test_every_page_is_in_the_site(site: Path) -> None:
    for page in PAGES[1:]:
        assert (site / page.relative_to(DOCS)).with_suffix(".html").is_file(), page


@pytest.mark.slow
def test_pages_fetch_nothing(site: Path) -> None:
    """Links may lead anywhere; what a browser loads by itself comes from the site."""
    loaded = re.compile(
        r"""<(?:script|img|iframe)[^>]+src="?([^"> ]+)|<link[^>]+rel="?(?:stylesheet|preconnect)"?[^>]+"""
    )
    for page in site.rglob("*.html"):
        for found in loaded.finditer(page.read_text()):
            assert "//" not in found[0], f"{page.name}: {found[0]}"


@pytest.mark.slow
def test_files_of_the_project_are_in_the_site(site: Path) -> None:
    link = re.search(r'href="?(sources/configs/docling[^"> ]+)', (site / "models.html").read_text())
    assert link is not None
    assert "full_page" in (site / link[1]).read_text()


@pytest.mark.slow
def test_search_works_from_disk(site: Path, browser: Any) -> None:
    page = browser.new_page()
    page.goto((site / "index.html").as_uri())
    page.fill("input[name=query]", "described in words", force=True)
    found = page.locator(".md-search-result__link[href*='parsing.html']")
    for _ in range(60):  # the page looks for what stands there at a keyup, once its index is read
        page.dispatch_event("input[name=query]", "keyup")
        page.wait_for_timeout(1000)
        if found.count():
            break
    assert found.count()
    page.close()
