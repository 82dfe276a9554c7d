"""`run --repeats`: every question several times, each with a seed of its own, all of them kept."""

from __future__ import annotations

import json
from typing import Any

import pytest

import fathoms
from fathoms.cli import main
from fathoms.models import Embedded, OpenAILLM, ScriptedModel
from fathoms.models.caller import for_repeat
from fathoms.runs.run import Run
from tests.support.http_stub import serving
from tests.support.project import Project

pytestmark = pytest.mark.slow  # processes of their own


def views(run: Any) -> dict[str, list[Any]]:
    """The repeats of every question, by its id."""
    found = (json.loads(path.read_text()) for path in (run / "questions").glob("*.json"))
    return {view["question"]["id"]: view["repeats"] for view in found}


def test_seeds_count_up_from_that_of_the_configuration() -> None:
    model = Embedded(seed=7)
    assert [for_repeat(model, repeat)[1] for repeat in range(3)] == [7, 8, 9]
    again, _ = for_repeat(model, 2)
    assert isinstance(again, Embedded)
    assert again.seed == 9
    assert for_repeat(model, 0)[0] is model
    for unseeded in (ScriptedModel(), OpenAILLM(model="m")):
        assert for_repeat(unseeded, 3) == (unseeded, None)


def test_every_repeat_is_kept_and_scored(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.path)
    assert main(["run", "tiny.yaml", "--repeats", "3", "--no-score", "-j", "1"]) == 0
    (run,) = project.runs()
    wanted = [record.repeat for record in Run(run).records.all()]
    assert wanted == [0] * 4 + [1] * 4 + [2] * 4  # all once before any twice
    assert main(["score", "latest"]) == 0
    assert {name: [r["repeat"] for r in repeats] for name, repeats in views(run).items()} == {
        name: [0, 1, 2] for name in ("text-only-01", "text-only-02", "tables-01", "tables-02")
    }
    summary = json.loads((run / "summary.json").read_text())
    # by hand, as without repeats: of three answerable questions one is right
    overall = summary["profiles"]["fathoms"]["overall"]
    assert (overall["n"], overall["micro_correctness"]) == (3, pytest.approx(1 / 3))
    assert (summary["counts"]["answered"], summary["repeats"], summary["complete"]) == (12, 3, True)
    assert json.loads((run / "manifest.json").read_text())["seeds"] is None


def test_resuming_knows_question_and_repeat(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.path)
    failing = "generate.fail_on={How tall: boom}"
    assert main(["run", "tiny.yaml", "--repeats", "2", "--set", failing]) == 1
    (run,) = project.runs()
    lines = (run / "journal.jsonl").read_text().splitlines()
    some_lines = [line for line in lines if not ('"tables-02"' in line and '"repeat": 1' in line)]
    assert len(some_lines) == 7
    (run / "journal.jsonl").write_text("\n".join(some_lines) + "\n")
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["config"]["generate"]["fail_on"] = {}
    (run / "manifest.json").write_text(json.dumps(manifest))
    assert main(["run", "--resume"]) == 2  # another configuration: other answers
    manifest["config"]["generate"]["fail_on"] = {"How tall": "boom"}
    (run / "manifest.json").write_text(json.dumps(manifest))
    assert main(["run", "--resume"]) == 1
    lines = (run / "journal.jsonl").read_text().splitlines()[7:]
    parseds = [json.loads(line) for line in lines]
    assert sorted((row["question"]["id"], row.get("repeat", 0)) for row in parseds) == [
        ("tables-02", 1),
        ("text-only-01", 0),
        ("text-only-01", 1),
    ]
    assert all([r["repeat"] for r in repeats] == [0, 1] for repeats in views(run).values())


@pytest.mark.slow
def test_a_server_is_sent_the_seed_of_each_repeat(project: Project) -> None:
    chat, message = "/v1/chat/completions", {"role": "assistant", "content": "41.5 m"}
    answers = {
        "/v1/models": {"data": [{"id": "m"}]},
        chat: {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        },
    }
    with serving(answers) as server:
        generate = (
            f"generate={{kind: openai-compatible, base_url: '{server.address}/v1', model: m, seed: 40}}"
        )
        config = project.write("seeded.yaml", project.config.read_text().partition("generate:")[0])
        config.write_text(config.read_text().replace("tiny", "seeded"))
        done = project.fathoms(
            "run", "seeded.yaml", "--set", generate, "--repeats", "2", "--limit", "1", "-j", "1"
        )
    assert done.returncode == 0, done.stderr
    assert [body["seed"] for body in server.bodies(chat)] == [40, 41]
    (run,) = project.runs()
    assert json.loads((run / "manifest.json").read_text())["seeds"] == [40, 41]
    assert [record.seed for record in Run(run).records.all()] == [40, 41]


def test_from_python(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.path)
    result = fathoms.run("tiny.yaml", repeats=2, reuse_replies=True)
    assert [record.repeat for record in result.records()] == [0] * 4 + [1] * 4
    again = fathoms.run("tiny.yaml", repeats=3, reuse_replies=True)
    cached = [record.answer.cached for record in again.records() if record.answer]
    assert cached == [True] * 8 + [False] * 4  # a reply is kept for its repeat
    priced = fathoms.run("tiny.yaml", "generate.price={input: 1000000, output: 0}", max_cost=60.0)
    assert (priced.summary["complete"], priced.summary["cost"]) == (False, 43.0)
