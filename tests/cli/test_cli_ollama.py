"""The paper's first pipeline from the shell, against a real Ollama server."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.forked import Forked
from tests.support.ollama_server import OllamaServer
from tests.support.packages import skip_without
from tests.support.project import Project, write_one_page

pytestmark = pytest.mark.slow  # processes, models and sockets of their own

ROOT = Path(__file__).resolve().parents[2]
CONFIG = str(ROOT / "configs" / "llamaindex.yaml")

WORDS = "scoring.profile=fathoms"  # the cache of these tests has no weights


@pytest.fixture
def own(project: Project, ollama: OllamaServer, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project of two small PDFs, where Ollama is found as a user's shell says."""
    skip_without("pymupdf", "llama_index.embeddings.ollama")
    monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{ollama.port}")
    return project


def command(*settings: str) -> list[str]:
    """The shipped config on the project's own data, with short replies."""
    pairs = ("data={questions: questions.json, documents: pdfs}", "generate.max_tokens=12", WORDS, *settings)
    return ["run", "llamaindex.yaml", *(word for pair in pairs for word in ("--set", pair))]


@pytest.fixture
def paper(own: Project) -> Project:
    own.write("llamaindex.yaml", Path(CONFIG).read_text())
    return own


def summary(project: Project) -> dict[str, dict[str, int]]:
    (run,) = project.runs()
    return json.loads((run / "summary.json").read_text())


def test_the_shipped_config_end_to_end_on_a_sample_document(own: Project) -> None:
    # one page, short chunks and replies, and an embedder that reads only the beginning of each chunk
    write_one_page(own.path / "one", ROOT)
    data = f"data={{questions: {own.path}/one/questions.json, documents: {own.path}/one/pdfs}}"
    short = ("generate.max_tokens=16", "chunk.size=128", "chunk.overlap=16", "embed.n_ctx=64")
    settings = (data, *short, WORDS)
    arguments = [word for setting in settings for word in ("--set", setting)]
    done = own.fathoms("run", CONFIG, *arguments, "--limit", "1", timeout=1800)
    assert done.returncode == 0, done.stderr
    (run,) = own.runs()
    manifest = json.loads((run / "manifest.json").read_text())
    assert len(manifest["data"]["documents"]) == 1
    assert {stage: len(reported["digest"]) for stage, reported in manifest["served"].items()} == {
        "generate": 64,
        "embed": 64,
    }
    for path in (run / "questions").iterdir():
        (answer,) = json.loads(path.read_text())["repeats"]
        assert answer["answer"]["text"]
        assert answer["answer"]["prompt_cut"] is False
        assert answer["answer"]["usage"]["prompt_tokens"] > 200
        assert [hit["rank"] for hit in answer["hits"]] == [1, 2, 3]
        assert "page_number: " in answer["prompt"]["messages"][-1]["text"]
    assert summary(own)["counts"]["answered"] == 1


def test_missing_models_are_named_before_the_first_question(paper: Project) -> None:
    for setting, missing in (("generate.model=gemma3:27b", "gemma3:27b"), ("embed.model=bge-m3", "bge-m3")):
        done = paper.fathoms(*command(setting))
        assert done.returncode == 2
        assert done.stderr.strip().endswith(f"has no model '{missing}': run 'ollama pull {missing}'")
    assert not paper.runs()


def test_a_server_that_is_not_there(paper: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    done = paper.fathoms(*command())
    assert done.returncode == 2
    assert "no Ollama server at http://127.0.0.1:9: start it with 'ollama serve'" in done.stderr
    assert not paper.runs()


@pytest.mark.long
def test_cut_prompts_are_seen_everywhere(paper: Project) -> None:
    """The template alone takes about 170 tokens."""
    done = paper.fathoms(*command("generate.n_ctx=96"), "--limit", "2")
    assert done.returncode == 0, done.stderr
    assert "2 prompts were cut by the server: raise generate.n_ctx" in done.stdout
    assert summary(paper)["counts"]["cut_by_server"] == 2
    view = paper.json("show", "latest", "--question", "text-only-01")
    assert view["repeats"][0]["answer"]["prompt_cut"] is True
    assert "cut by the server" in paper.fathoms("show", "latest", "--question", "text-only-01").stdout
    again = paper.fathoms(*command("generate.n_ctx=1024"), "--limit", "1", "--out", "whole")
    assert "cut by the server" not in again.stdout
    (whole,) = (paper.path / "whole").glob("*/summary.json")
    assert json.loads(whole.read_text())["counts"]["cut_by_server"] == 0


@pytest.mark.long
def test_a_server_that_stops_in_the_middle(paper: Project, ollama_folder: Path) -> None:
    """The questions after it fail one by one, and are counted as failed."""
    arguments = command("generate.max_tokens=150", "execution={max_attempts: 2, give_up_after: 3}")
    with (
        OllamaServer(ollama_folder).running() as server,
        Forked(
            arguments,
            cwd=paper.path,
            env={
                **os.environ,
                "OLLAMA_HOST": f"127.0.0.1:{server.port}",
                "FATHOMS_CACHE_DIR": str(paper.path / "cache"),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process,
    ):
        end = time.monotonic() + 240
        while not any(path.stat().st_size for path in (paper.path / "runs").glob("*/journal.jsonl")):
            assert time.monotonic() < end
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        server.stop()
        stdout, _ = process.communicate(timeout=240)
    assert process.returncode == 1
    counts = summary(paper)["counts"]
    assert counts["answered"] + counts["errors"] == 4
    assert counts["answered"] >= 1
    assert counts["errors"] >= 2
    assert set(summary(paper)["errors"]) <= {"NoAnswerError", "ModelError"}  # the one in flight has a status
    assert summary(paper)["errors"]["NoAnswerError"] >= 1
    assert "NoAnswerError" in stdout
