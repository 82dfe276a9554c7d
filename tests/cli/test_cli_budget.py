"""`run --max-cost` and `--max-tokens-total` against a server on a real socket that bills every answer."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.http_stub import serving
from tests.support.project import Project
from tests.support.raw_service import answer, service

pytestmark = pytest.mark.slow  # processes of their own

CHAT = "/v1/chat/completions"
BILLED = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
COST = 0.2
"""Dollars a question: 100 tokens at 1,000 dollars a million, 20 at 5,000."""
CONFIG = """\
name: paid
data: {{questions: twelve.json, documents: pdfs}}
chunk: {{kind: page}}
embed: {{kind: lexical}}
retrieve: {{kind: dense, top_k: {top_k}}}
generate:
  kind: openai-compatible
  base_url: {address}/v1
  model: m
  max_tokens: 500
  max_concurrency: 8
  price: {{input: 1000, output: 5000}}
"""
ANSWERS = {
    "/v1/models": {"object": "list", "data": [{"id": "m"}]},
    CHAT: {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "41.5 m"}}
        ],
        "usage": BILLED,
    },
}


RERANKED = """\
name: paid
data: {{questions: twelve.json, documents: pdfs}}
chunk: {{kind: page}}
embed: {{kind: lexical}}
retrieve:
  kind: rerank
  first: {{kind: dense, top_k: 1}}
  by:
    kind: llm
    generate:
      kind: openai-compatible
      base_url: {address}/v1
      model: m
      max_tokens: 500
      max_concurrency: 8
      price: {{input: 1000, output: 5000}}
generate: {{kind: scripted, default: It is 41.5 m tall., max_concurrency: 8, price: {{input: 0, output: 0}}}}
"""
"""The same price for the grade of the one candidate of each question; the answers cost nothing."""


@pytest.fixture
def twelve(project: Project) -> Project:
    """Twelve questions."""
    rows = [
        {"id": f"q{number:02}", "question": f"How tall is tower {number}?", "answers": [["41.5"]]}
        for number in range(12)
    ]
    project.write("twelve.json", json.dumps({"Towers": rows}))
    return project


def manifest(run: Path) -> Any:
    return json.loads((run / "manifest.json").read_text())


def summary(run: Path) -> Any:
    return json.loads((run / "summary.json").read_text())


@pytest.mark.slow
@pytest.mark.parametrize("config", [CONFIG, RERANKED], ids=["answers", "reranking"])
def test_max_cost_stops_within_a_question_and_the_run_goes_on(twelve: Project, config: str) -> None:
    graded = json.loads(json.dumps(ANSWERS).replace("41.5 m", "7"))
    with serving(graded if config == RERANKED else ANSWERS) as server:
        twelve.write("paid.yaml", config.format(address=server.address, top_k=1))
        done = twelve.fathoms("run", "paid.yaml", "--max-cost", "1.3")
        assert done.returncode == 3, done.stderr
        (run,) = twelve.runs()
        # six questions are $1.20; a seventh would be $1.40
        assert len(server.bodies(CHAT)) == 6
        assert "stopped by its budget: 6 of 12 questions are in" in done.stderr
        assert f"continue with: fathoms run --resume {run.relative_to(twelve.path)}" in done.stderr
        assert done.stdout.splitlines()[-1].startswith("paid: correctness 1.00 (6 of 12 questions, 0 failed)")
        assert done.stdout.splitlines()[-1].endswith(": STOPPED")
        assert manifest(run)["totals"]["cost"] == pytest.approx(6 * COST)
        assert manifest(run)["totals"]["stopped"] == "budget"
        found = summary(run)
        assert (found["complete"], found["cost"]) == (False, pytest.approx(6 * COST))
        assert found["incomplete"][-1] == "the run was stopped by its budget"
        again = twelve.fathoms("run", "--resume", "--max-cost", "0.5")
        assert (again.returncode, len(server.bodies(CHAT))) == (3, 8)
        last = twelve.fathoms("run", "--resume")
        assert (last.returncode, len(server.bodies(CHAT))) == (0, 12)
    assert "stopped" not in manifest(run)["totals"]
    assert summary(run)["complete"]
    assert summary(run)["cost"] == pytest.approx(12 * COST)
    parts = summary(run).get("usage_by_purpose")
    assert parts == manifest(run)["totals"].get("usage_by_purpose")
    if config == RERANKED:
        assert (parts["rerank"]["calls"], parts["answer"]["cost"]) == (12, 0)
        assert parts["rerank"]["cost"] == pytest.approx(12 * COST)


@pytest.mark.slow
def test_the_budget_is_for_all_runs_of_a_command(twelve: Project) -> None:
    with serving(ANSWERS) as server:
        twelve.write("paid.yaml", CONFIG.format(address=server.address, top_k=1))
        twelve.write("more.yaml", CONFIG.format(address=server.address, top_k=2).replace("paid", "more"))
        done = twelve.fathoms("run", "paid.yaml", "more.yaml", "--max-tokens-total", "1600")
        assert done.returncode == 3, done.stderr
        assert len(server.bodies(CHAT)) == 13  # of 120 tokens each
    assert [manifest(run)["totals"]["answers"] for run in twelve.runs()] == [12, 1]


def test_a_limit_of_cost_needs_a_price(twelve: Project) -> None:
    done = twelve.fathoms("run", "tiny.yaml", "--max-cost", "1")
    assert done.returncode == 2
    assert "no price is known for scripted" in done.stderr
    assert "set generate.price: {input: 2.5, output: 10}" in done.stderr
    assert twelve.runs() == []


@pytest.mark.slow
def test_a_model_on_this_machine_fits_into_every_limit_of_cost(twelve: Project) -> None:
    with serving(ANSWERS) as server:
        text = CONFIG.format(address=server.address, top_k=1)
        twelve.write("paid.yaml", text.replace("  price: {input: 1000, output: 5000}\n", ""))
        done = twelve.fathoms("run", "paid.yaml", "--max-cost", "0.01")
        assert done.returncode == 0, done.stderr
        assert len(server.bodies(CHAT)) == 12
    assert ", local model, " in done.stdout.splitlines()[-1]
    assert manifest(twelve.runs()[0])["totals"]["cost"] == 0


@pytest.mark.slow
def test_a_limit_of_cost_needs_a_price_of_the_reranker(twelve: Project) -> None:
    with serving(ANSWERS) as server:
        text = RERANKED.format(address=server.address).replace(
            "      price: {input: 1000, output: 5000}\n", "      api_key_env: GATEWAY_KEY\n"
        )
        twelve.write("paid.yaml", text)
        done = twelve.fathoms("run", "paid.yaml", "--max-cost", "1")
        assert (done.returncode, server.bodies(CHAT)) == (2, [])
    assert "no price is known for m" in done.stderr
    assert "set retrieve.by.generate.price: {input: 2.5, output: 10}" in done.stderr


HTTP = """\
name: own
data: {{questions: twelve.json, documents: pdfs}}
pipeline: {{kind: http, url: "{address}/ask", max_concurrency: 4{more}}}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("said", "more", "limit", "code", "wanted"),
    [
        ({"usage": BILLED}, "", ("--max-tokens-total", "500"), 3, 4),
        ({"usage": BILLED}, ", price: {input: 1000, output: 5000}", ("--max-cost", "0.9"), 3, 4),
        ({"cost": 0.25}, "", ("--max-cost", "1"), 3, 4),
        ({"usage": BILLED}, "", ("--max-cost", "1"), 2, 1),  # tokens, and no price for them
        ({}, "", ("--max-tokens-total", "500"), 2, 1),
    ],
)
def test_a_pipeline_of_ones_own(
    twelve: Project, said: dict[str, Any], more: str, limit: tuple[str, str], code: int, wanted: int
) -> None:
    """What the next question takes is what the one before took."""
    heard: list[Any] = []

    def act(connection: Any, sent: Any) -> None:
        heard.append(sent)
        connection.sendall(answer({"answer": "41.5 m", **said}))

    with service(act) as server:
        twelve.write("own.yaml", HTTP.format(address=server.address, more=more))
        done = twelve.fathoms("run", "own.yaml", *limit)
    assert (done.returncode, len(heard)) == (code, wanted), done.stderr
    assert ("cannot be enforced" in done.stderr) == (code == 2)


JUDGED = """\
metrics: [faithfulness]
judge:
  kind: llm
  claims: model
  claims_a_call: 1
  model:
    {{kind: openai-compatible, base_url: {address}/v1, model: m, price: {{input: 1000, output: 5000}}}}
"""


def judging(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Answers, claims and verdicts, each for the same price."""
    form = body.get("response_format", {}).get("json_schema", {}).get("schema", {})
    number = re.findall(r"tower (\d+)\?|It is (\d+) m tall", str(body["messages"]))[-1]
    said = f"It is {''.join(number)} m tall."
    if form:
        said = json.dumps({"label": "yes"} if "label" in form["properties"] else {"1": [said]})
    message = {"role": "assistant", "content": said}
    return 200, {**ANSWERS[CHAT], "choices": [{"index": 0, "finish_reason": "stop", "message": message}]}


def test_a_resumed_run_may_spend_its_whole_budget_on_judging_too(twelve: Project) -> None:
    """Six of twelve answers cost $1.20. Resumed, the others cost as much again, and the judge $4.80 for
    twelve texts to split and twelve verdicts: together $6.00, to which the first $1.20 does not count."""
    with serving({**ANSWERS, CHAT: judging}) as server:
        config = CONFIG.replace("max_concurrency: 8", "max_concurrency: 1") + JUDGED
        twelve.write("paid.yaml", config.format(address=server.address, top_k=1))
        assert twelve.fathoms("run", "paid.yaml", "--max-cost", "1.3", "--no-score").returncode == 3
        done = twelve.fathoms("run", "--resume", "--max-cost", "6.5")
    assert done.returncode == 0, done.stderr
    (run,) = twelve.runs()
    found = json.loads((run / "summary.json").read_text())["judging"]
    assert found["verdicts"] == {"supported": 12}
    assert found["total_cost"] == pytest.approx(4.8)
