"""Metrics as values: the registry, what a metric needs, and how scores are pooled into figures."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import ClassVar, Literal

import pytest
from pydantic import BaseModel

from fathoms.cli import main
from fathoms.errors import ConfigError, DataError, UsageError
from fathoms.metrics.metric import Facts, Metric, Pooling
from fathoms.metrics.pooling import Pool
from fathoms.metrics.python_metric import PythonMetric
from fathoms.metrics.registry import (
    FATHOMS,
    Metrics,
    default_metrics,
    distinct,
    metric_kinds,
    named,
    sets,
)
from fathoms.metrics.score_records import RecordScore
from fathoms.runs.profile_figures import profile_metrics
from fathoms.runs.run import Run
from fathoms.runs.writing import new_run
from fathoms.scoring import score_run
from fathoms.types import Failure, Question, Record, Reply, Score, Usage

BUILT_BEFORE = Path(__file__).parents[1] / "runs" / "made_before"


class Configured(BaseModel):
    metrics: Metrics = ()


class Ratio(Metric):
    """Counts that are added up over the answers."""

    pooling: ClassVar[Pooling] = "counts"

    kind: Literal["ratio"] = "ratio"

    def score(self, facts: Facts) -> Score:
        words = (facts.record.answer.text if facts.record.answer else "").split()
        return Score(metric=self.name, value=None, parts={"right": words.count("yes"), "all": len(words)})

    def ratio(self, score: Score) -> tuple[float, float] | None:
        right, every = score.parts.get("right"), score.parts.get("all")
        return None if right is None or every is None else (right, every)


def record(number: int, text: str | None, category: str = "A", **question: object) -> Record:
    one_question = Question.model_validate(
        {"id": f"q{number}", "text": "?", "category": category, **question}
    )
    if text is None:
        return Record(question=one_question, error=Failure(kind="Timeout", message="no answer"))
    usage = Usage(prompt_tokens=100 * number, completion_tokens=10)
    return Record(question=one_question, answer=Reply(text=text, latency=number, usage=usage, cost=None))


def pooled(metric: Metric, records: list[Record]) -> dict[str, object]:
    pool = Pool(metric)
    for one in records:
        pool.add(one.question, metric.of(Facts(one, RecordScore())))
    return pool.figures().plain()


def test_every_metric_says_what_it_is() -> None:
    for name, metric in metric_kinds().items():
        assert (metric.__doc__ or "").strip().endswith("."), name
    for name, names in sets().items():
        members, alone = ([metric.identity() for metric in named(each)] for each in ([name], names))
        assert members == alone  # they differ at most in what does not change a value


def test_names_and_sets_become_metrics() -> None:
    chosen = Configured.model_validate({"metrics": ["fathoms", {"kind": "latency"}, "mine:length"]}).metrics
    names = [metric.name for metric in distinct(chosen)]
    assert names == [*FATHOMS, "length"]
    assert str(named(["cost"])[0]) == "cost"


def test_the_metrics_of_every_run_are_those_of_two_sets() -> None:
    assert default_metrics() == named(["fathoms", "retrieval"])


def test_an_unknown_name_is_refused_with_a_suggestion() -> None:
    with pytest.raises(UsageError, match=r"there is no metric 'latancy' \(did you mean 'latency'\?\)"):
        named(["latancy"])
    with pytest.raises(UsageError, match="two metrics are called 'length'"):
        distinct([PythonMetric(target="a:length"), PythonMetric(target="b:length")])


def test_means_of_values_without_bounds_have_an_interval_from_sixty_questions_on() -> None:
    records = [record(number, "an answer") for number in range(1, 61)]
    overall = pooled(named(["latency"])[0], records)["overall"]
    assert (overall["value"], overall["n"], overall["method"]) == (30.5, 60, "log-t")
    assert (overall["low"], overall["high"]) == pytest.approx((26.306, 35.362), abs=1e-3)
    assert pooled(named(["latency"])[0], records[1:])["overall"]["low"] is None


def test_tokens_are_averaged_over_questions_and_not_over_categories() -> None:
    records = [record(1, "x", "A"), record(2, "x", "B"), record(3, "x", "B")]
    figures = pooled(named(["prompt-tokens"])[0], records)
    assert figures["overall"]["value"] == 200  # the mean of the categories would be (100 + 250) / 2
    assert figures["categories"]["B"]["value"] == 250


def test_counts_are_added_up_over_all_answers() -> None:
    records = [record(1, "yes"), record(2, "yes no no"), record(3, "no", "B"), record(4, None, "B")]
    figures = pooled(Ratio(), records)
    assert figures["overall"]["value"] == 2 / 5
    assert figures["overall"]["n"] == 3
    assert figures["categories"]["B"]["value"] == 0


def test_what_a_record_lacks_is_said_and_is_never_zero() -> None:
    metric = named(["cost"])[0]
    figures = pooled(metric, [record(1, "x"), record(2, None)])
    assert figures["overall"] == {"value": None, "low": None, "high": None, "method": None, "n": 0}
    failed = [record(1, None), record(2, None)]
    assert pooled(metric, failed)["missing"] == "cost needs an answer, which no record of this run has"


def test_the_figures_of_an_old_run_are_those_of_its_profile() -> None:
    (source,) = [path for path in BUILT_BEFORE.iterdir() if path.is_dir()]
    run = Run.scored(source)
    figures = run.figures("fathoms")
    metrics = profile_metrics(figures)
    assert metrics["correctness"].overall.value == figures.overall.correctness
    assert metrics["correctness"].micro.value == figures.overall.micro_correctness
    assert metrics["recall-in-prompt"].overall.value == figures.funnel.overall.prompt.recall
    # the values of the single answers lead to the same means
    values = [repeat.value("correctness", "fathoms") for one in run.questions() for repeat in one.repeats]
    assert len(values) == 8
    assert {value for value in values if value is not None} <= {0, 1, 0.5}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    store = new_run(tmp_path / "runs", "own", "0" * 8, {"name": "own", "config": {}, "folder": str(tmp_path)})
    store.records.append([record(1, "one two"), record(2, "one"), record(3, None)])
    return store


def own_metric(folder: Path, body: str) -> None:
    (folder / f"mine_{folder.name.replace('-', '_')}.py").write_text(body)


def test_a_metric_of_ones_own_is_scored_and_reported(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("words_metric.py").write_text("def words(record):\n    return len(record.answer.text.split())\n")
    out = ["--out", "runs"]
    assert main(["score", "own", *out, "--metric", "words_metric:words"]) == 0
    capsys.readouterr()
    assert main(["report", "own", *out, "--json"]) == 0
    (shown,) = json.loads(capsys.readouterr().out)
    assert shown["metrics"]["words"]["overall"]["value"] == 1.5
    view = next(Run.scored(run.path).questions())
    assert view.repeats[0].metrics["words"]["value"] == 2
    # a later scoring computes what the configuration asks for, and that is not this metric
    assert "words" not in score_run(run).plain()["metrics"]


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("return 'much'", "returned 'much' for question 'q1': expected a number from -1e300 to 1e300,"),
        ("return 1e301", "returned 1e\\+301"),
        ("return float('nan')", "returned nan for question 'q1'"),
        ("import fathoms.types as t; return t.Score(metric='x', value=float('nan'))", "value=nan"),
        ("raise KeyError('x')", "question 'q1': KeyError"),
    ],
)
def test_a_failing_metric_of_ones_own_names_the_question(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, complaint: str
) -> None:
    monkeypatch.chdir(tmp_path)
    name = f"failing_{sha256(body.encode()).hexdigest()[:8]}"
    Path(f"{name}.py").write_text(f"def score(record):\n    {body}\n")
    with pytest.raises(DataError, match=complaint):
        score_run(run, metrics=[PythonMetric(target=f"{name}:score").at(tmp_path)])


def test_a_metric_that_cannot_be_imported_is_refused_before_scoring(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no module 'no_such_metric'"):
        PythonMetric(target="no_such_metric:score").at(tmp_path).check()


def test_a_metric_asked_of_a_run_that_lacks_its_input_ends_with_exit_code_1(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["score", "own", "--out", "runs", "--metric", "cost"]) == 1
    assert (
        "cost needs a known number of US dollars, which no record of this run has" in capsys.readouterr().err
    )
    assert main(["score", "own", "--out", "runs"]) == 0


def test_the_metrics_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metrics", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in listed["metrics"]] == list(metric_kinds())
    assert main(["metrics"]) == 0
    assert "set fathoms: correctness, hallucination" in capsys.readouterr().out
