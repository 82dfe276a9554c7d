"""Tables of quotes by place and by group, and of thinking, of two runs counted by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fathoms.report.as_json import report_json
from fathoms.report.markdown import report_markdown
from fathoms.report.quotes import thinking_section
from fathoms.report.sections import sections
from fathoms.runs.run import Run
from fathoms.runs.writing import new_run
from fathoms.scoring import score_run
from fathoms.types import Question, Quote, Record, Reply, Usage
from tests.support.report_browser import Watched, chromium, texts, watch, written
from tests.support.run_in_memory import changed

GOLD = {"q1": ("text1",), "q2": ("text1", "image2"), "q3": ("text12", "image1")}
KIND = {"q1": "Causal", "q2": "Causal", "q3": "<b>Other</b>"}
CITES = {
    "plain": {"q1": "[1]", "q2": "[1] [2]", "q3": "(image1)"},
    "thinks": {"q1": "[1]", "q2": "[1] (image2)", "q3": "[12] (image1)"},
}
F1 = {"plain": {"q1": 1, "q2": 1 / 2, "q3": 2 / 3}, "thinks": {"q1": 1, "q2": 1, "q3": 1}}


def record(name: str, answer: str, *, thinks: bool) -> Record:
    quotes = tuple(Quote(id=id, modality="image" if id[0] == "i" else "text", gold=True) for id in GOLD[name])
    question = Question(
        id=name, text="?", category="A", quotes=quotes, metadata={"question_type": KIND[name]}
    )
    usage = Usage(completion_tokens=300 if thinks else 100)
    reply = Reply(text=answer, reasoning="Hm." if thinks else "", usage=usage)
    return Record(question=question, answer=reply, hits=None)


def scored(folder: Path, name: str, model: str) -> Run:
    config = {"metrics": ["mmdocrag.image-recall", "mmdocrag.text-recall", "mmdocrag.overall-f1"]}
    run = new_run(folder, name, "0" * 16, {"model": model, "config": config, "data": {"name": "d"}})
    run.records.append([record(id, answer, thinks=name == "thinks") for id, answer in CITES[name].items()])
    score_run(run)
    return Run.scored(run.path)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    folder = tmp_path_factory.mktemp("runs")
    return [scored(folder, "plain", "small-4b"), scored(folder, "thinks", "Small-4B-thinking")]


def rows(runs: list[Run], key: str) -> list[list[str]]:
    (found,) = (section for section in sections(runs) if section.key == key)
    return [[cell.split(" [")[0] for cell in row] for row in found.rows]


def test_the_places_of_gold_quotes(runs: list[Run]) -> None:
    assert rows(runs, "quote-places") == [
        ["1", "plain", "1.00", "1", "1.00", "2"],
        ["1", "thinks", "1.00", "1", "1.00", "2"],
        ["2", "plain", "0.00", "1", "n/a", "0"],
        ["2", "thinks", "1.00", "1", "n/a", "0"],
        ["12", "plain", "n/a", "0", "0.00", "1"],
        ["12", "thinks", "n/a", "0", "1.00", "1"],
    ]


def test_the_groups_of_questions(runs: list[Run]) -> None:
    plain = F1["plain"]
    assert rows(runs[:1], "quotes-by-question-type") == [
        ["<b>Other</b>", "plain", f"{plain['q3']:.2f}", "1"],
        ["Causal", "plain", f"{(plain['q1'] + plain['q2']) / 2:.2f}", "2"],
    ]
    assert [row[0] for row in rows(runs[:1], "quotes-by-gold-quotes")] == ["1", "2"]
    assert rows(runs[:1], "quotes-by-gold-in") == [
        ["texts", "plain", "1.00", "1"],
        ["texts and pictures", "plain", f"{(plain['q2'] + plain['q3']) / 2:.2f}", "2"],
    ]
    assert all(section.key != "quotes-by-modality-of-evidence" for section in sections(runs))


def test_thinking_against_not_thinking(runs: list[Run], tmp_path: Path) -> None:
    assert rows(runs, "thinking") == [["plain", "thinks", "0.72", "1.00", "n/a", "n/a", "100", "300", "3.0"]]
    assert thinking_section(runs[:1]) is None
    other = scored(tmp_path, "plain", "another-8b")
    found = thinking_section([*runs, other])
    assert found is not None
    assert [row[1] for row in found.rows] == ["thinks"]
    assert thinking_section([other, runs[1]]) is not None  # the only two runs
    assert thinking_section([runs[0], other]) is None


def with_metrics(run: Run, metrics: dict[str, Any]) -> Run:
    return changed(run, summary={**run.summary.plain(), "metrics": metrics})


def test_quality_alone_has_groups_too(runs: list[Run], tmp_path: Path) -> None:
    """The parts of a metric are in a table of groups or in the list of metrics."""
    known = runs[0].summary.plain()["metrics"]["mmdocrag.overall-f1"]
    judged = with_metrics(runs[0], {"mmdocrag.answer-quality": known})
    (section,) = (one for one in sections([judged]) if one.key == "quotes-by-question-type")
    assert section.header == ("kind of question", "run", "quality", "n")
    assert [row[2].split(" [")[0] for row in section.rows] == ["0.67", "0.75"]
    assert section.chart is None  # grades go to 5
    assert "answer-quality, question type" not in report_markdown([judged], tmp_path)
    both = rows([judged, runs[1]], "quotes-by-question-type")
    assert both[2:] == [["Causal", "plain", "n/a", "0.75", "2"], ["Causal", "thinks", "1.00", "n/a", "2"]]

    released = with_metrics(runs[0], {"mmdocrag.answer-quality-released": known})
    assert "answer-quality-released, question type Causal" in report_markdown([released], tmp_path)


def test_thinking_needs_a_figure_of_both_runs(runs: list[Run]) -> None:
    assert thinking_section([with_metrics(runs[0], {}), runs[1]]) is None
    assert thinking_section([with_metrics(run, {}) for run in runs]) is None


def test_reports_show_them_once(runs: list[Run], tmp_path: Path) -> None:
    said = report_markdown(runs, tmp_path)
    for title in ("Gold quotes by their place", "Quotes by kind of question", "Thinking"):
        assert said.count(f"## {title}\n") == 1
    assert "overall-f1, question type" not in said
    assert "Other" in said
    assert "<b>" not in said
    first = report_json(runs)[0]
    assert first["thinking"]["pairs"][0]["ratio"] == 3
    assert first["quote-places"]["lines"]["texts of plain"]["1"]["n"] == 2
    assert first["metrics"]["mmdocrag.overall-f1"]["parts"]["question type Causal"]["value"] == 0.75


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from chromium()


@pytest.fixture
def watched(browser: Any) -> Iterator[Watched]:
    yield from watch(browser)


@pytest.mark.slow
def test_the_page_draws_them(watched: Watched, runs: list[Run], tmp_path: Path) -> None:
    page = watched.open(written(tmp_path / "report.html", runs))
    titles = page.locator("#table-quotes-by-question-type svg.chart path > title").all_text_contents()
    assert [title.split(" [")[0] for title in titles] == [
        *("plain, <b>Other</b>: 0.67", "plain, Causal: 0.75"),
        *("thinks, <b>Other</b>: 1.00", "thinks, Causal: 1.00"),
    ]
    labels = page.locator("#table-quotes-by-question-type svg.chart text").all_text_contents()
    assert "↑ Quote F1" in labels
    assert page.locator("#table-quote-places svg.chart path > title").count() == 2 * (2 + 2)
    assert "3.0" in texts(page, "#table-thinking tbody tr")[0]
