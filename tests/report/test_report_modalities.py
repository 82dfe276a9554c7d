"""Hits by modality of the gold, of three runs counted by hand: text, page images, and both fused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from fathoms.report.markdown import report_markdown
from fathoms.report.modalities import modality_section
from fathoms.report.terminal import leaderboard_panel, summary_panel
from fathoms.runs.run import Run
from fathoms.runs.writing import new_run
from fathoms.scoring import score_run
from fathoms.types import Chunk, Evidence, Hit, Question, Record
from tests.support.report_browser import Watched, chromium, texts, unfold, watch, written

GOLD = {"q1": [(1, "text")], "q2": [(2, "image")], "q3": [(3, "image"), (4, "table")], "q4": [(1, None)]}
"""The gold pages of four questions, each with its modality. The last one states none."""
RANKED = {
    "by-text": {"q1": [1, 2, 3], "q2": [1, 3, 2], "q3": [4, 1, 2, 5, 3], "q4": [1]},
    "by-image": {"q1": [3, 2], "q2": [2], "q3": [3, 1, 2, 5, 6], "q4": [2]},
    "both": {"q1": [2, 1], "q2": [2, 3], "q3": [3, 4, 1], "q4": [1]},
}
HITS = {
    ("image", "by-text"): (0, 1 / 2, 1),  # q2 third, q3 fifth
    ("image", "by-image"): (1, 1, 1),
    ("image", "both"): (1, 1, 1),
    ("table", "by-text"): (1, 1, 1),
    ("table", "by-image"): (0, 0, 0),
    ("table", "both"): (0, 1, 1),
    ("text", "by-text"): (1, 1, 1),
    ("text", "by-image"): (0, 0, 0),
    ("text", "both"): (0, 1, 1),
}
"""Hit@1, hit@3 and hit@5."""
QUESTIONS = {"image": 2, "table": 1, "text": 1}


def record(name: str, pages: list[int], gold: list[tuple[int, str | None]]) -> Record:
    evidence = tuple(Evidence(document="a.pdf", page=page, modality=kind) for page, kind in gold)
    chunks = (Chunk(id=str(page), document="a.pdf", pages=(page,), text="t") for page in pages)
    hits = (Hit(chunk=chunk, score=1 / rank, rank=rank) for rank, chunk in enumerate(chunks, start=1))
    return Record(
        question=Question(id=name, text="Where?", category="A", evidence=evidence), hits=tuple(hits)
    )


def searched(folder: Path, name: str, records: list[Record]) -> Run:
    run = new_run(folder, name, "0" * 16, {"config": {}, "data": {"name": "d"}})
    run.records.append(records)
    score_run(run)
    return Run.scored(run.path)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    folder = tmp_path_factory.mktemp("runs")
    return [
        searched(folder, name, [record(wanted, pages, GOLD[wanted]) for wanted, pages in ranked.items()])
        for name, ranked in RANKED.items()
    ]


@pytest.fixture
def unstated(tmp_path: Path) -> Run:
    """A run of a question set that states no modality."""
    return searched(tmp_path, "unstated", [record("q4", [1], GOLD["q4"])])


def shown(panels: list[Any], width: int = 80) -> str:
    console = Console(width=width, file=StringIO())
    for panel in panels:
        console.print(panel)
    return console.file.getvalue()


def test_the_table_counted_by_hand(runs: list[Run]) -> None:
    found = modality_section(runs)
    assert found is not None
    assert found.header == ("modality", "run", "hit@1", "hit@3", "hit@5", "n")
    rows = found.figures["rows"]
    values = {
        (one["modality"], one["run"]): tuple(hit["value"] for hit in one["hits"].values()) for one in rows
    }
    assert list(values) == list(HITS)
    assert values == HITS
    assert {row[0]: int(row[-1]) for row in found.rows} == QUESTIONS


def test_terminal(runs: list[Run], unstated: Run) -> None:
    """In the table alone, not once more among the metrics; fewer columns where there is less room."""
    lines = shown(leaderboard_panel([*runs, unstated])).splitlines()
    assert max(map(len, lines)) <= 80
    at = next(n for n, line in enumerate(lines) if line.split()[:1] == ["modality"])
    assert lines[at].split() == ["modality", "run", "hit@1", "hit@3", "hit@5", "n"]
    kinds = [line for line in lines[at:] if line.split()[:1] in (["image"], ["table"], ["text"])]
    rows = [re.sub(r" \[.*?\]", "", line).split() for line in kinds]
    assert rows == [
        [*name, *(f"{value:.2f}" for value in values), str(QUESTIONS[name[0]])]
        for name, values in HITS.items()
    ]
    again = [line.split()[:2] for line in lines if line.split()[2:4] == ["modality", "image"]]
    assert again == [[name, "recall@10,"] for name in RANKED]
    narrow = shown(leaderboard_panel(runs), 36).splitlines()
    assert max(map(len, narrow)) <= 55  # the ids of the runs alone are longer than the width
    assert sum(line.split()[:1] == ["modality"] for line in narrow) > 1


def test_markdown(runs: list[Run], tmp_path: Path) -> None:
    said = report_markdown(runs, tmp_path)
    assert said.count("## Hits by modality") == 1
    assert "| Modality | Run | Hit&#64;1 | Hit&#64;3 | Hit&#64;5 | N |" in said
    assert "| image | by-text | 0.00 \\[" in said
    assert "hit&#64;1, modality image" not in said
    assert "recall&#64;10, modality image" in said


def test_nothing_where_no_modality_is_stated(unstated: Run, tmp_path: Path) -> None:
    assert modality_section([unstated]) is None
    terminal = shown(summary_panel(unstated))
    assert "recall@10" in terminal
    assert "modality" not in terminal
    assert "modality" not in report_markdown([unstated], tmp_path)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from chromium()


@pytest.fixture
def watched(browser: Any) -> Iterator[Watched]:
    yield from watch(browser)


@pytest.mark.slow
def test_the_page_draws_them_in_one_plot(
    watched: Watched, runs: list[Run], unstated: Run, tmp_path: Path
) -> None:
    page = unfold(watched.open(written(tmp_path / "report.html", [*runs, unstated])))
    (drawn,) = page.locator("#modalities svg.chart").all()
    titles = drawn.evaluate("svg => [...svg.querySelectorAll('path > title')].map(t => t.textContent)")
    assert [(title.split(" [")[0], int(title.split("n ")[-1])) for title in titles] == [
        (f"{run}, {modality}: hit@{k} {value:.2f}", QUESTIONS[modality])
        for (modality, run), values in HITS.items()
        for k, value in zip((1, 3, 5), values, strict=True)
    ]
    page.locator("#modalities-figures").click()
    rows = texts(page, "#modalities details[open] tbody tr")
    assert len(rows) == 3 * len(HITS)
    assert rows[0].split()[:4] == ["image", "by-text", "1", "0.00"]
    kinds = [record(f"q{n}", [1], [(1, f"kind {n:02}")]) for n in range(30)]
    many = unfold(watched.open(written(tmp_path / "many.html", [searched(tmp_path, "many", kinds)])))
    assert many.locator("#modalities svg.chart").count() == 2  # as many bands side by side as have room
    assert many.locator("#modalities svg.chart path > title").count() == 24 * 3
    assert "6 more modalities stand in the table alone." in texts(many, "#modalities p.small")
    alone = watched.open(written(tmp_path / "alone.html", [unstated]))
    assert alone.locator("#modalities").count() == 0
