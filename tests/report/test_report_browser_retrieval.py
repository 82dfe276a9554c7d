"""Runs that only searched on the page in Chromium: curves of recall, and nothing about answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fathoms.report.markdown import report_markdown
from fathoms.runs.run import Run
from fathoms.runs.writing import new_run
from fathoms.scoring import score_run
from fathoms.types import Chunk, Evidence, Hit, Question, Record, Reply
from tests.support.report_browser import Watched, chromium, texts, watch, written

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from chromium()


@pytest.fixture
def watched(browser: Any) -> Iterator[Watched]:
    yield from watch(browser)


def record(number: int, *pages: int) -> Record:
    """A question whose gold is page 1, and hits of 256 characters (64 tokens) on these pages."""
    question = Question(
        id=f"q{number}", text="Where?", category="A", evidence=(Evidence(document="a.pdf", page=1),)
    )
    chunks = (Chunk(id=str(page), document="a.pdf", pages=(page,), text="x" * 256) for page in pages)
    hits = (Hit(chunk=chunk, score=1 / rank, rank=rank) for rank, chunk in enumerate(chunks, start=1))
    return Record(question=question, hits=tuple(hits), timings={"retrieve": 0.25})


def searched(folder: Path, name: str, records: list[Record]) -> Run:
    run = new_run(folder, name, "0" * 16, {"config": {}, "data": {"name": "d"}})
    run.records.append(records)
    score_run(run)
    return Run.scored(run.path)


@pytest.fixture
def runs(tmp_path: Path) -> list[Run]:
    """`good` finds page 1 first for two of four questions and second for the others, and `bad` third or
    never."""
    good = [record(0, 1, 2, 3), record(1, 1, 2, 3), record(2, 2, 1, 3), record(3, 2, 1, 3)]
    bad = [record(0, 2, 3, 1), record(1, 2, 3, 1), record(2, 2, 3, 4), record(3, 2, 3, 4)]
    return [searched(tmp_path, "good", good), searched(tmp_path, "bad", bad)]


def test_curves_of_recall_are_drawn_and_stand_in_tables(
    watched: Watched, runs: list[Run], tmp_path: Path
) -> None:
    page = watched.open(written(tmp_path / "report.html", runs))
    charts = page.locator("#recall svg.chart")
    assert [chart.get_attribute("aria-label") for chart in charts.all()] == [
        "Recall of gold pages by run, over: First k pages",
        "Recall of gold pages by run, over: Tokens of retrieved text",
    ]
    titles = charts.first.evaluate("svg => [...svg.querySelectorAll('path > title')].map(t => t.textContent)")
    assert [title.split(" [")[0] for title in titles] == [
        "good, 1: recall 0.50",
        "good, 2: recall 1.00",
        "good, 3: recall 1.00",
        "bad, 1: recall 0.00",
        "bad, 2: recall 0.00",
        "bad, 3: recall 0.50",
    ]
    assert charts.first.locator(".whisker").count() == 6
    page.locator("#recall-tokens-figures").click()
    rows = [row.split() for row in texts(page, "#recall details[open] tbody tr")]
    assert [(row[0], row[1], row[2], row[-1]) for row in rows] == [
        *(
            ("good", tokens, value, "4")
            for tokens, value in (("64", "0.50"), ("128", "1.00"), ("256", "1.00"))
        ),
        *(
            ("bad", tokens, value, "4")
            for tokens, value in (("64", "0.00"), ("128", "0.00"), ("256", "0.50"))
        ),
    ]
    assert "Tokens are estimated, 4 characters each, for: good, bad." in texts(page, "#recall p.small")
    for absent in ("#leaderboard", "#cost", "#abstention"):
        assert page.locator(absent).count() == 0
    answer = watched.open(watched.address, "view=question&id=q0").locator("article.card").first
    assert "Only searched for: nobody was asked for an answer." in " ".join(answer.inner_text().split())


def test_markdown_has_the_same_figures_and_a_run_of_answers_stands_beside_them(
    runs: list[Run], tmp_path: Path
) -> None:
    said = report_markdown(runs, tmp_path)
    assert "| Run | Recall&#64;1 | Recall&#64;3 | N | Time | Chunks | Index |" in said
    assert r"| bad | 0.00 \[0.00, 0.53\] | 0.50 \[0.10, 0.90\] | 4 | 250 ms | n/a | n/a |" in said
    assert "## Retrieval within a number of tokens\n\n| Run | Within 128 |" in said
    assert "Correctness" not in said
    answered = [each.model_copy(update={"answer": Reply(text="There.")}) for each in map(record, (0,), (1,))]
    both = report_markdown([*runs, searched(tmp_path, "answers", answered)], tmp_path)
    assert "## Scores by category" in both
    assert r"| answers | 1.00 \[" in both.partition("## Retrieval")[2]
