"""The example services as processes, with a server that answers by a script: the same pipeline measured both
ways. The examples' own model server is asked once."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from fathoms.models.weights.weights import is_installed
from tests.support.fault_server.server import ScriptedServer
from tests.support.forked import run_forked
from tests.support.ports import free_port, wait_for

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SAMPLE = EXAMPLES.parent / "data" / "sample"
SEED, OTHER = "The Hollin Seed Cooperative supplied it.", "Nobody can say."
COUNT = 2


@contextmanager
def running(*command: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A process for as long as the block lasts."""
    process = subprocess.Popen(
        [sys.executable, *command], env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    """The address of a server that knows one of the answers."""
    with ScriptedServer(answers={"seed": SEED}, default=OTHER).running() as server:
        yield f"{server.address}/v1"


def test_the_model_server_answers_with_what_the_services_read() -> None:
    if not is_installed("smollm2-135m") or find_spec("xllamacpp") is None:
        pytest.skip("no weights: run 'fathoms models pull smollm2-135m'")
    messages = [{"role": "user", "content": "Tell me a long story."}]
    body = {"model": "smollm2-135m", "messages": messages, "max_tokens": 4}
    with running(str(EXAMPLES / "llm_server.py"), "0") as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        request = urllib.request.Request(
            f"{address}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=300) as answer:
            parsed = json.loads(answer.read())
    (choice,) = parsed["choices"]
    assert choice["message"]["content"]
    assert choice["finish_reason"] == "length"
    assert parsed["usage"]["completion_tokens"] == 4


def measured(folder: Path, config: Path, *settings: str, **environment: str) -> dict[str, Any]:
    """Run a config by the command line; its question files by id, and the scores of the run."""
    arguments = ["run", str(config), "--limit", str(COUNT), *settings]
    done = run_forked(arguments, folder, {**os.environ, **environment}, timeout=1500)
    assert done.returncode == 0, done.stderr
    run = sorted(folder.glob("runs/*/manifest.json"))[-1].parent
    views = [json.loads(path.read_text()) for path in sorted((run / "questions").glob("*.json"))]
    return {
        "questions": {view["question"]["id"]: view["repeats"][0] for view in views},
        "profiles": json.loads((run / "summary.json").read_text())["profiles"],
    }


@pytest.mark.parametrize(
    ("name", "package", "path"),
    [
        ("llamaindex_rag", "llama_index.llms.openai_like", "/answer"),
        pytest.param("haystack_rag", "haystack", "/v1/query", marks=pytest.mark.long),
    ],
)
def test_both_ways_give_the_same(tmp_path: Path, model: str, name: str, package: str, path: str) -> None:
    if find_spec(package.partition(".")[0]) is None:
        pytest.skip(f"{package} is not installed")
    folder, port = EXAMPLES / name, free_port()
    documents = tmp_path / "documents"
    documents.mkdir()
    shutil.copy(SAMPLE / "kestrel-irrigation-trial.pdf", documents)
    own = {"LLM_BASE_URL": model, "DOCUMENTS": str(documents)}
    service = ["-m", "uvicorn", "--app-dir", str(folder), "service:app", "--port", str(port)]
    address = f"http://127.0.0.1:{port}"
    settings = ["--set", f"pipeline.url={address}{path}"]
    if "health:" in (folder / "http.yaml").read_text():
        settings += ["--set", f"pipeline.health={address}/health"]
    with running(*service, "--log-level", "warning", **own) as process:
        wait_for(port, process)
        over_http = measured(tmp_path, folder / "http.yaml", *settings)
    in_python = measured(tmp_path, folder / "python.yaml", **own)

    assert over_http["profiles"] == in_python["profiles"]
    assert sorted(reported["answer"]["text"] for reported in over_http["questions"].values()) == [OTHER, SEED]
    for wanted, reported in over_http["questions"].items():
        same = in_python["questions"][wanted]
        assert (reported["answer"]["text"], reported["scores"]) == (same["answer"]["text"], same["scores"])
        assert (reported["hits"], reported["citations"]) == (same["hits"], same["citations"])
        assert len(reported["hits"]) == 3
        for hit in reported["hits"]:
            assert (documents / hit["document"]).is_file()
            assert hit["pages"][0] >= 1
