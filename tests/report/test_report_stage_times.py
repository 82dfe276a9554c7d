"""Seconds of a question by stage, and how many times the fastest run of a comparison they are."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from fathoms.report.as_json import report_json
from fathoms.report.latex import report_latex
from fathoms.report.markdown import report_markdown
from fathoms.report.stage_times import ingest_lines, stage_times, times_section
from fathoms.report.terminal import group_sections, leaderboard_panel
from fathoms.report.write import write_report
from fathoms.runs.run import Run
from tests.support.run_in_memory import changed

Make = Callable[..., Run]


def figure(value: float | None, n: int = 4, **ends: float) -> dict[str, float | int | None]:
    return {"value": value, "n": n, **ends}


def two_runs(small_run: Make) -> list[Run]:
    """The second run retrieves in a fifth of the time and generates in four times; only the first reranks."""
    slow = {"retrieve": figure(0.5), "rerank": figure(1.0), "generate": figure(2.0, low=1.5, high=3.0)}
    fast = {"retrieve": figure(0.1), "prompt": figure(0.0), "generate": figure(8.0, 3)}
    return [
        small_run(name="a", seconds={"stages": {**slow, "total": figure(3.5)}}),
        small_run(name="b", seconds={"stages": {**fast, "total": figure(8.1, 3)}}),
    ]


def test_each_stage_is_compared_with_the_fastest_run(small_run: Make) -> None:
    stages, (first, second) = stage_times(two_runs(small_run))
    assert stages == ["retrieve", "rerank", "generate", "prompt", "total"]
    assert [first["retrieve"].times, second["retrieve"].times] == [5.0, 1.0]
    assert [first["generate"].times, second["generate"].times] == [1.0, 4.0]
    assert [first["rerank"].times, second["prompt"].times] == [None, None]  # nothing to compare them with
    found = times_section(two_runs(small_run), interval=True)
    assert found is not None
    assert found.rows[0] == [
        "a",
        "500 ms (4) 5.0x",
        "1 s (4)",
        "2 s [1.5 s, 3 s] (4) 1.0x",
        "-",
        "3.5 s (4) 1.0x",
    ]
    assert times_section([small_run(seconds={"wall": 3.0})]) is None


def test_every_report_has_the_times(small_run: Make, tmp_path: Path) -> None:
    runs = two_runs(small_run)
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(*leaderboard_panel(runs))
    assert "500 ms 5.0x" in console.export_text()
    assert "500 ms (4) 5.0x" in report_markdown(runs, tmp_path)
    assert "500 ms 5.0x" in report_latex(runs, metrics=["all"])
    assert "5.0x" not in report_latex(runs)  # nobody asked for it
    write_report(runs, tmp_path, html=False, plots=False, tables=group_sections(runs, ["time"], None))
    assert (tmp_path / "tables" / "seconds.csv").read_text().splitlines()[1].startswith("a,500 ms 5.0x,1 s")
    assert r"a & 500 ms 5.0x & 1 s & 2 s 1.0x & {-}" in (tmp_path / "table.tex").read_text()
    found = report_json(runs)[0]["seconds"]["generate"]
    assert found == {"value": 2.0, "low": 1.5, "high": 3.0, "n": 4, "times": 1.0}


def test_reading_the_documents_is_given_per_page_and_in_total(small_run: Make) -> None:
    run = small_run(name="a")
    times = {"parse": {"seconds": 5.0, "made": 4}, "embed": {"seconds": 0.01, "made": 0}}
    data = {"ingest": {"times": times}}
    run = changed(run, manifest={**run.manifest.plain(), "data": data})
    said = "a, documents: parse 5 s, 1.2 s a page (4); embed from the cache"
    times["embed pages"] = {"seconds": 1.0, "made": 2, "device": "cpu, float32"}
    said += "; embed pages 1 s, 500 ms a page (2; cpu, float32)"
    assert list(ingest_lines([run])) == [said]
