"""A run in a real MLflow: written into a database of SQLite, then brought up to date through a server."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from fathoms.errors import ServerError
from fathoms.extras.exchange.writing.mlflow_names import metrics_of, params_of
from fathoms.extras.exchange.writing.mlflow_run import log_run
from fathoms.runs.run import Run
from tests.support.mlflow_server import mlflow_server
from tests.support.project import Project
from tests.support.report_runs import example_runs


def test_figures_and_options_get_the_names_that_mlflow_accepts() -> None:
    (run,) = example_runs(["alpha"], questions=12)
    found = metrics_of(run, "paper")
    assert found["correctness"] == 0.5  # alpha is right on even numbers
    assert (found["correctness.low"], found["correctness.high"], found["correctness.n"]) == pytest.approx(
        (0.4, 0.6, 12)
    )
    assert found["Tables/correctness"] == 0.5
    assert found["usage/cost"] == pytest.approx(0.12)
    config = {
        "retrieve": {"kind": "bm25", "top_k": 5, "filters": ["a", "b"]},
        "generate": {"api_key": "${KEY}", "url": "http://ann:secret@example.com/v1"},
        "pipeline": {"headers": {"X-Tenant": "t"}, "request": {"hit@1": "{question}"}},
        "seed": None,
    }
    assert params_of(config) == {
        "retrieve.kind": "bm25",
        "retrieve.top_k": "5",
        "retrieve.filters": '["a", "b"]',
        "pipeline.request.hit_at_1": "{question}",
    }
    assert params_of({"a": {"b:c": 1}, "a.b_c": 2}) == {"a.b_c": "1", "a.b_c_2": "2"}


@pytest.mark.slow
def test_a_run_is_exported_and_exported_again(project: Project) -> None:
    assert project.fathoms("run", "tiny.yaml").returncode == 0
    database = project.path / "mlflow.db"
    export = ("export", "mlflow", "latest", "--experiment", "nights")
    done = project.fathoms(*export, "--tracking-uri", f"sqlite:///{database}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(" made\n")
    assert done.stderr == ""
    id = done.stdout.split()[2]

    with mlflow_server(project.path, database) as address:
        run = ask(address, "runs/get", run_id=id)["run"]
        metrics = {one["key"]: one["value"] for one in run["data"]["metrics"]}
        params = {one["key"]: one["value"] for one in run["data"]["params"]}
        (figures,) = project.json("report", "latest")
        correctness = figures["metrics"]["correctness"]["overall"]
        assert metrics["correctness"] == correctness["value"]
        assert (metrics["correctness.low"], metrics["correctness.high"]) == tuple(
            correctness[end] for end in ("low", "high")
        )
        assert params["retrieve.top_k"] == "1"
        assert run["info"]["status"] == "FINISHED"

        # another rule of scoring, with other figures
        assert project.fathoms("score", "latest", "--profile", "paper-by-words").returncode == 0
        again = log_run(Run.scored(project.runs()[0]), address, "nights")
        assert (again.id, again.is_new) == (id, False)
        experiment = run["info"]["experiment_id"]
        assert len(ask(address, "runs/search", experiment_ids=[experiment], body=True)["runs"]) == 1
        histories = {key: history(address, id, key) for key in metrics}
        (figures,) = project.json("report", "latest", "--scores", "paper-by-words")
        now = figures["metrics"]["correctness"]["overall"]["value"]
        assert histories["correctness"] == list(dict.fromkeys([correctness["value"], now]))
        assert histories["usage/prompt_tokens"] == [metrics["usage/prompt_tokens"]]  # not twice

        # artifacts of a new experiment go through the server
        assert log_run(Run.scored(project.runs()[0]), address, "fathoms").is_new
    files = {path.name: path for path in (project.path / "artifacts").rglob("*") if path.is_file()}
    assert {"report.html", "report.json", "manifest.json", "questions.jsonl"} <= files.keys()
    lines = files["questions.jsonl"].read_text().splitlines()
    assert {json.loads(line)["question"]["text"] for line in lines} >= {"How tall is the Varn tower?"}

    with pytest.raises(ServerError, match=f"MLflow at {address}: "):  # it has ended
        log_run(Run.scored(project.runs()[0]), address, "fathoms")
    assert "--tracking-uri or MLFLOW_TRACKING_URI" in project.fathoms(*export).stderr


def ask(address: str, what: str, *, body: bool = False, **parameters: Any) -> Any:
    """What the REST interface says."""
    url = f"{address}/api/2.0/mlflow/{what}"
    reply = httpx.post(url, json=parameters) if body else httpx.get(url, params=parameters)
    assert reply.is_success, reply.text
    return reply.json()


def history(address: str, run: str, key: str) -> list[float]:
    """All values that a metric has had."""
    found = ask(address, "metrics/get-history", run_id=run, metric_key=key)
    return [one["value"] for one in found["metrics"]]
