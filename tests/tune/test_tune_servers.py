"""`fathoms tune` between models behind servers: a real one, and two providers with limits of their own."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from threading import Lock

import pytest

from tests.support.http_stub import serving
from tests.support.llama_server import KEY, MODEL, llama_server
from tests.support.project import Project

pytestmark = pytest.mark.slow

QUESTIONS = 12
SERVED = """\
data: {{questions: questions.json}}
retrieve: {{kind: none}}
generate: {{kind: openai-compatible, base_url: "{address}", model: {model}, {more}max_tokens: 4,
  max_concurrency: 2}}
execution: {{first_wait: 0.01, longest_wait: 1, max_attempts: 8}}
"""


def prepare(project: Project) -> None:
    rows = [
        {"question": f"Which is number {number}?", "files": ["varn.pdf"], "answers": [[str(number)]]}
        for number in range(100, 100 + QUESTIONS)
    ]
    project.write("questions.json", json.dumps({"Text-Only": rows}))


@pytest.fixture(scope="module")
def real_server() -> Iterator[str]:
    with llama_server(embedding=False) as address:
        yield address


def test_a_real_server_against_a_model_that_knows(
    project: Project, monkeypatch: pytest.MonkeyPatch, real_server: str
) -> None:
    prepare(project)
    monkeypatch.setenv("LLAMA_KEY", KEY)
    more = "api_key_env: LLAMA_KEY, "
    project.write("small.yaml", SERVED.format(address=real_server, model=MODEL, more=more))
    project.write(
        "knows.yaml",
        "data: {questions: questions.json}\nretrieve: {kind: none}\n"
        "generate: {kind: scripted, patterns: {'number (\\d+)': 'It is \\1.'}, max_concurrency: 2}\n",
    )
    found = project.json("tune", "small.yaml", "knows.yaml")
    assert found["best"]["candidate"]["name"] == "knows"
    (small,) = (one for one in found["standings"] if one["candidate"]["name"] == "small")
    assert small["candidate"]["failed"] == 0
    assert 0 < small["candidate"]["asked"] < QUESTIONS


def test_a_storm_of_429_at_one_of_two_providers_drops_nobody(project: Project) -> None:
    """The better model refuses the first eight requests; the other answers wrongly all the time. Both are
    asked at the same time."""
    prepare(project)
    lock, refused, spans = Lock(), [0], []

    def reply(text: str, provider: str) -> tuple[int, object]:
        started = time.monotonic()
        time.sleep(0.05)
        spans.append((started, time.monotonic(), provider))
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
        return 200, {
            "id": "1",
            "object": "chat.completion",
            "model": "m",
            "choices": [choice],
            "usage": usage,
        }

    def good(body: object) -> tuple[int, object]:
        with lock:
            refused[0] += 1
            storm = refused[0] <= 8
        if storm:
            return 429, {"error": {"message": "slow down", "type": "rate_limit"}}
        number = json.dumps(body).split("number ")[1][:3]
        return reply(f"It is {number}.", "good")

    def bad(body: object) -> tuple[int, object]:
        return reply("It is 7.", "bad")

    models = {
        "/v1/models": {
            "object": "list",
            "data": [{"id": name, "object": "model"} for name in ("good", "bad")],
        }
    }
    with (
        serving({**models, "/v1/chat/completions": good}) as first,
        serving({**models, "/v1/chat/completions": bad}) as second,
    ):
        for name, server in (("good", first), ("bad", second)):
            text = SERVED.format(address=f"{server.address}/v1", model=name, more="")
            project.write(f"{name}.yaml", text)
        found = project.json("tune", "good.yaml", "bad.yaml")
    assert found["best"]["candidate"]["name"] == "good"
    assert found["best"]["candidate"]["failed"] == 0
    assert refused[0] > 8
    goods = [span for span in spans if span[2] == "good"]
    bads = [span for span in spans if span[2] == "bad"]
    assert any(one[0] < other[1] and other[0] < one[1] for one in goods for other in bads)


def offering(reply: Callable[[str], str]) -> dict[str, object]:
    """A server's answers, whose model `m` answers a number with `reply` after a tenth of a second."""

    def answer(body: object) -> tuple[int, object]:
        time.sleep(0.1)
        said = {"role": "assistant", "content": reply(json.dumps(body).split("is number ")[-1][:3])}
        usage = {"prompt_tokens": 1000, "completion_tokens": 1000, "total_tokens": 2000}
        choice = {"index": 0, "message": said, "finish_reason": "stop"}
        return 200, {
            "id": "1",
            "object": "chat.completion",
            "model": "m",
            "choices": [choice],
            "usage": usage,
        }

    models = {"object": "list", "data": [{"id": "m", "object": "model"}]}
    return {"/v1/models": models, "/v1/chat/completions": answer}


def test_models_of_one_name_on_two_servers_are_two_candidates(project: Project) -> None:
    """They share neither a candidate nor replies; the server stands in the name where nothing else does."""
    prepare(project)
    wrong, right = offering(lambda number: "It is 7."), offering(lambda number: f"It is {number}.")
    with serving(wrong) as bad, serving(right) as good:
        for name, server in (("one", bad), ("two", good)):
            text = SERVED.format(address=f"{server.address}/v1", model="m", more="")
            project.write(f"{name}.yaml", f"name: race\n{text}")
        found = project.json("tune", "one.yaml", "two.yaml")
        values = {one["candidate"]["name"]: one["value"] for one in found["standings"]}
        host = {name: server.address.partition("//")[2] for name, server in (("bad", bad), ("good", good))}
        assert values[f"race at {host['good']}"] == pytest.approx(1)
        assert values[f"race at {host['bad']}"] == 0
        done = project.fathoms(
            "tune", "one.yaml", "--matrix", f"generate.base_url={bad.address}/v1,{good.address}/v1"
        )
        assert f"{host['good']}/v1 (correctness 1.00)" in done.stdout.splitlines()[0]


def test_a_shared_reply_costs_each_candidate_what_it_costs(project: Project) -> None:
    """Both candidates send the same prompts, which are answered and paid once; who keeps only one of them
    pays for all of its replies."""
    prepare(project)
    with serving(offering(lambda number: f"It is {number}.")) as server:
        more = "price: {input: 1, output: 2}, "
        text = SERVED.format(address=f"{server.address}/v1", model="m", more=more)
        text = text.replace("questions.json}", "questions.json, documents: pdfs}")
        project.write("base.yaml", text.replace("kind: none", "kind: bm25"))
        found = project.json("tune", "base.yaml", "--matrix", "retrieve.top_k=50,60")
        wanted = sum(path.endswith("completions") for _, path, _, _ in server.requests)
    first, second = (one["candidate"] for one in found["standings"])
    assert wanted == QUESTIONS
    assert found["cost"] == pytest.approx(QUESTIONS * 0.003)
    assert first["cost_each"] == second["cost_each"] == pytest.approx(0.003)
    assert min(first["latency"], second["latency"]) > 0.1


def test_edited_questions_start_a_new_race_that_pays_for_new_prompts_alone(project: Project) -> None:
    """One question is written anew, and another gets another gold answer."""
    prepare(project)
    with serving(offering(lambda number: f"It is {number}.")) as server:
        project.write("base.yaml", SERVED.format(address=f"{server.address}/v1", model="m", more=""))
        before = project.json("tune", "base.yaml", "--matrix", "generate.temperature=0,0.5")
        wanted = [path for _, path, _, _ in server.requests].count("/v1/chat/completions")
        rows = json.loads((project.path / "questions.json").read_text())
        rows["Text-Only"][0]["question"] = "Which, then, is number 100?"
        rows["Text-Only"][1]["answers"] = [["7"]]
        project.write("questions.json", json.dumps(rows))
        done = project.fathoms("tune", "--resume", "latest", "--json")
        assert done.returncode == 0, done.stderr
        again = [path for _, path, _, _ in server.requests].count("/v1/chat/completions")
    assert wanted == 2 * QUESTIONS
    assert again == wanted + 2
    assert "questions were edited" in " ".join(done.stderr.split())
    after = json.loads(done.stdout)
    assert before["best"]["value"] == pytest.approx(1)
    assert after["best"]["value"] == pytest.approx(1 - 1 / QUESTIONS)
    assert after["calls"] == after["whole"] == 2 * QUESTIONS
    runs = {one["candidate"]["run"] for one in after["standings"]}
    assert runs.isdisjoint(one["candidate"]["run"] for one in before["standings"])
    assert {one["candidate"]["name"] for one in after["standings"]} == {
        one["candidate"]["name"] for one in before["standings"]
    }
