"""A metric that one file adds is found in the page, in Python and in the files of the run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fathoms.api import Result
from fathoms.errors import StoreError
from fathoms.metrics.python_metric import PythonMetric
from fathoms.metrics.registry import named
from fathoms.report.html import report_html
from fathoms.runs.folder import complaint, typed
from fathoms.runs.run import Run
from fathoms.runs.writing import new_run, trust_run
from fathoms.scoring import score_run
from fathoms.types import Chunk, Hit, Question, Record, Reply
from fathoms.types.run.summary import Summary
from tests.support.report_browser import Watched, chromium, texts, unfold, watch
from tests.support.report_page import detail_of, unpacked

METRIC = """
from fathoms.types import Score

def page_words(record):
    words = record.answer.text.split()
    parts = {"letters": sum(map(len, words))}
    return Score(metric="", value=len(words), parts=parts, why={"said": "<b>" + words[0]})
"""
ANSWERS = {"alpha": ("one two", "one"), "beta": ("one two three", "one")}


def record(number: int, text: str) -> Record:
    question = Question(
        id=f"q{number}",
        text="Which?",
        category="A" if number == 1 else "B",
        files=("a.pdf",),
        answers=(("one",),),
    )
    return Record(question=question, answer=Reply(text=text, latency=0.5))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Two runs scored by a function in a file: alpha says 2 and 1 words, beta 3 and 1."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "page_words_metric.py").write_text(METRIC)
    metric = PythonMetric(target="page_words_metric:page_words", unit_name="words", lower_is_better=True)
    result = []
    for name, answers in ANSWERS.items():
        run = new_run(folder / "runs", name, "0" * 8, {"name": name, "config": {}, "folder": str(folder)})
        run.records.append([record(nth, text) for nth, text in enumerate(answers, 1)])
        score_run(run, metrics=[metric.at(folder)])
        result.append(run)
    return result


def test_the_page_holds_a_metric_of_ones_own(runs: list[Run]) -> None:
    overview, chunks = unpacked(report_html([Run.scored(run.path) for run in runs]))
    found = [run["metrics"]["page-words"] for run in overview["runs"]]
    assert [metric["overall"]["mean"] for metric in found] == [1.5, 2.0]
    assert {name: cell["mean"] for name, cell in found[1]["categories"].items()} == {"A": 3.0, "B": 1.0}
    assert (found[0]["unit"], found[0]["direction"], found[0]["shown"]) == ("words", "lower", True)
    assert overview["runs"][0]["metrics"]["latency"]["shown"] is False
    # truthfulness is a headline metric, which every page shows
    assert chunks["index"]["runs"][0]["metrics"] == {"truthfulness": [1.0, 1.0], "page-words": [2.0, 1.0]}
    question, _ = detail_of(chunks, 0, "q1")
    scores = {score["name"]: score for score in question["repeats"][0]["metrics"]}
    assert scores["page-words"] == {
        "name": "page-words",
        "value": "2.00",
        "parts": {"letters": "6.00"},
        "why": {"said": "<b>one"},
    }


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """An answer of two claims, the first of which stands in the second text that was retrieved."""
    folder = tmp_path_factory.mktemp("judged")
    labels = {"lift": "unsupported", "tall": "supported", "mast": "failed"}
    config = {"judge": {"kind": "scripted", "labels_by": labels}}
    run = new_run(folder / "runs", "judged", "0" * 8, {"name": "judged", "config": config, "folder": "."})
    texts = ("Ore is dear in Lune.", "The door is green. The tower is 41 m tall.")
    hits = tuple(
        Hit(chunk=Chunk(id=f"c{nth}", document="a.pdf", pages=(nth,), text=text), score=1 / nth, rank=nth)
        for nth, text in enumerate(texts, 1)
    )
    answer = "The tower is 41 m tall. <b>It has a lift. It has a mast."
    run.records.append([record(1, answer).model_copy(update={"hits": hits})])
    trust_run(run)
    score_run(run, metrics=named(["faithfulness"]))
    return run


def test_claims_of_an_earlier_version_are_the_reason_of_their_metric(judged: Run) -> None:
    path = judged.path / "questions" / "q1.json"
    view = json.loads(path.read_text())
    (repeat,) = view["repeats"]
    rows = repeat.pop("claims")["compared"][0]["claims"]
    old = [{key: row[key] for key in ("claim", "label", "p")} for row in rows]
    repeat["metrics"]["faithfulness"]["why"] = {"verdicts": old}
    del view["crc"]
    path.write_text(json.dumps(view))
    _, chunks = unpacked(report_html([Run.scored(judged.path)]))
    question, _ = detail_of(chunks, 0, "q1")
    (repeat,) = question["repeats"]
    (score,) = [one for one in repeat["metrics"] if one["name"] == "faithfulness"]
    said = "supported: The tower is 41 m tall. | unsupported: <b>It has a lift. | failed: It has a mast."
    assert (repeat["claims"], score["why"]) == (None, {"verdicts": said})


@pytest.mark.slow
def test_python_has_a_metric_of_ones_own(runs: list[Run]) -> None:
    result = Result(runs[1].path)
    figures = result.metrics()
    assert figures.loc[("page-words", "Overall"), "value"] == 2.0
    assert figures.loc[("page-words", "A"), "n"] == 1
    assert figures.loc[("correctness", "Overall"), "value"] == 1.0
    assert figures.isna().loc[("cost", "Overall"), "value"]
    assert list(result.scores()["page-words"]) == [3.0, 1.0]


def test_the_schemas_describe_the_metrics(runs: list[Run]) -> None:
    summary = json.loads((runs[0].path / "summary.json").read_text())
    view = json.loads((runs[0].path / "questions" / "q1.json").read_text())
    assert complaint(view) is None
    typed(Summary, summary, "a")
    summary["metrics"]["page-words"]["direction"] = "up"
    view["repeats"][0]["metrics"]["page-words"]["value"] = "two"
    with pytest.raises(StoreError, match="direction"):
        typed(Summary, summary, "a")
    assert "page-words" in (complaint(view) or "")


@pytest.fixture
def watched() -> Iterator[Watched]:
    for browser in chromium():
        yield from watch(browser)


@pytest.mark.slow
def test_a_browser_shows_a_metric_of_ones_own(runs: list[Run], watched: Watched, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(report_html([Run.scored(run.path) for run in runs]), encoding="utf-8")
    page: Any = unfold(watched.open(file.as_uri()))
    lines = texts(page, "#further > details > .scroll tbody tr")
    assert [line for line in lines if "page-words" in line] == [
        "alpha page-words (words) \u2193 1.50 1.50 2.00 1.00 2",
        "beta page-words (words) \u2193 2.00 2.00 3.00 1.00 2",
    ]
    page.click("#other-metrics")
    assert any("latency" in line for line in texts(page, "#further details tbody tr"))
    page = watched.open(file.as_uri(), "view=compare&metric=page-words")
    # fewer words are better: alpha wins on q1, and both say one word to q2
    assert texts(page, "table.tally tbody tr")[-1] == "All questions 0 1 1 1.50 2.00 +0.50"
    page = watched.open(file.as_uri(), "view=question&id=q1")
    rows = texts(page, "article.run >> nth=0 >> table.metrics tbody tr")
    assert "page-words 2.00 letters: 6.00 said: <b>one" in rows


@pytest.fixture
def graded(tmp_path: Path) -> Run:
    """An answer that a judge grades 8 and phrase recall 0; the gold answer is a number with its unit."""
    config = {"judge": {"kind": "scripted", "labels_by": {"automobile": "8"}}}
    run = new_run(tmp_path / "runs", "graded", "0" * 8, {"name": "graded", "config": config, "folder": "."})
    one_record = record(1, "By automobile, of 4150 cm.")
    gold = [["car", {"number": 41.5, "unit": "m"}]]
    question = Question.model_validate({**one_record.question.model_dump(), "answers": gold})
    run.records.append([one_record.model_copy(update={"question": question})])
    trust_run(run)
    score_run(run, metrics=named(["correctness-judged"]))
    return run


@pytest.mark.slow
def test_a_browser_lists_where_a_judge_and_phrase_recall_disagree(
    graded: Run, watched: Watched, tmp_path: Path
) -> None:
    file = tmp_path / "report.html"
    file.write_text(report_html([Run.scored(graded.path)]), encoding="utf-8")
    page: Any = unfold(watched.open(file.as_uri()))
    assert texts(page, "#disagreements tbody tr") == [
        "graded q1 By automobile, of 4150 cm. car + {number: 41.5, unit: m} 0.50 1.00"
    ]
    page = watched.open(file.as_uri(), "view=question&id=q1")
    assert "4150 cm" in texts(page, "mark")
