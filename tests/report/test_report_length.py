"""Answer length against support on the page: the groups, and what the sentence says of the correlation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fathoms.report.length import length_sentence
from fathoms.runs.run import Run
from fathoms.types.run.summary import LengthSupport
from tests.support.report_browser import Watched, chromium, texts, unfold, watch, written

Json = dict[str, Any]


def found(value: float | None, low: float | None = None, high: float | None = None) -> LengthSupport:
    spearman = {"value": value, "low": low, "high": high}
    return LengthSupport.model_validate({"n": 10, "spearman": spearman})


@pytest.mark.parametrize(
    ("support", "says"),
    [
        (found(-0.899, -0.97, -0.6), "Longer answers are supported less (Spearman's correlation -0.90, 95 %"),
        (found(0.5, 0.1, 0.8), "Longer answers are supported more (Spearman's correlation 0.50, 95 %"),
        (found(-0.3, -0.7, 0.2), "cannot be told from these questions (Spearman's correlation -0.30, 95 %"),
        (found(-0.3), "Spearman's correlation is -0.30 over 10 questions, without an interval"),
        (found(None), "No correlation can be computed from 10 questions: there are too few questions, or"),
    ],
)
def test_only_an_interval_without_0_tells_a_direction(support: LengthSupport, says: str) -> None:
    assert says in length_sentence(support)


@pytest.fixture
def watched() -> Iterator[Watched]:
    for browser in chromium():
        yield from watch(browser, width=390)


@pytest.mark.slow
def test_the_page_draws_the_groups(small_run: Callable[..., Run], watched: Watched, tmp_path: Path) -> None:
    groups = [
        {"shortest": 1, "longest": 5, "value": 0.9, "low": 0.7, "high": 1.0, "n": 5},
        {"shortest": 60, "longest": 1200, "value": 0.2, "low": 0.0, "high": 0.5, "n": 5},
    ]
    support = {**found(-0.899, -0.97, -0.6).model_dump(), "groups": groups}
    run = small_run(length_against_support={"ragchecker.faithfulness": support})
    page: Any = unfold(watched.open(written(tmp_path / "length.html", [run])))
    titles = page.locator("#lengths figure .run0 title").all_text_contents()
    assert titles == ["small, 1 to 5 words: 0.90 [0.70, 1.00]", "small, 60 to 1,200 words: 0.20 [0.00, 0.50]"]
    assert "Longer answers are supported less" in texts(page, "#lengths .notes li")[0]
    page.locator("#length-ragchecker_faithfulness-figures").click()
    rows = texts(page, "#lengths .behind tbody tr")
    assert rows == ["small 1 to 5 0.90 [0.70, 1.00] 5", "small 60 to 1,200 0.20 [0.00, 0.50] 5"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
