"""`fathoms doctor` from the shell: what is missing, by stage, and what mends it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ollama_server import OllamaServer
from support import Project

from fathoms.models.assets import ASSETS

pytestmark = pytest.mark.slow  # processes, models and sockets of their own

OLLAMA = """\
data: {questions: questions.json, documents: pdfs}
embed: {kind: ollama, model: nomic-embed-text}
generate: {kind: ollama, model: "gemma3:4b"}
"""
STAGES = ["config", "data", "ingest", "chunk", "embed", "retrieve", "generate", "scoring"]


def findings(project: Project, *arguments: str) -> tuple[int, dict[str, dict[str, Any]], str]:
    """The exit code, the checks of the first config by name, and what is printed for people."""
    import json

    done = project.fathoms("doctor", *arguments, "--json")
    report = json.loads(done.stdout)
    assert report["ok"] is (done.returncode == 0)
    printed = project.fathoms("doctor", *arguments)
    assert printed.returncode == done.returncode
    assert printed.stderr == ""
    return done.returncode, {row["name"]: row for row in report["configs"][0]["checks"]}, printed.stdout


def test_all_is_well(project: Project) -> None:
    code, checks, printed = findings(project, "tiny.yaml")
    assert code == 0
    assert list(checks) == STAGES
    assert all(row["ok"] for row in checks.values())
    assert checks["data"]["detail"] == "4 questions on 2 documents of questions"
    assert checks["generate"]["detail"] == "scripted scripted"
    assert "fails" not in printed


def test_the_machine(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    report = project.json("doctor")
    assert report["configs"] == []
    assert report["machine"]["cpus"] >= 1
    assert report["machine"]["memory_gb"] > 0.1
    assert report["machine"]["cache"]["free_gb"] >= 0
    assert Path(report["machine"]["cache"]["folder"]) == project.path / "cache"
    extras = {row["extra"]: row["missing"] for row in report["extras"]}
    assert {"embedded", "ollama", "docling"} <= set(extras)
    assert "all" not in extras
    assert {row["name"]: row["here"] for row in report["weights"]} == dict.fromkeys(ASSETS, False)
    assert report["servers"] == [{"name": "ollama", "address": "http://127.0.0.1:9", "version": None}]
    printed = project.fathoms("doctor").stdout
    assert "ollama: does not answer at http://127.0.0.1:9" in printed
    assert "(fathoms models pull NAME)" in printed


def test_a_missing_server_and_all_that_is_well_beside_it(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("llama_index.llms.ollama")
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    project.write("ollama.yaml", OLLAMA)
    code, checks, printed = findings(project, "ollama.yaml", "tiny.yaml")
    assert code == 1
    assert [name for name, row in checks.items() if not row["ok"]] == ["embed", "generate"]
    assert "start it with 'ollama serve'" in checks["generate"]["detail"]
    assert printed.count("fails") == 2


def test_a_missing_model(project: Project, ollama: OllamaServer) -> None:
    pytest.importorskip("llama_index.llms.ollama")
    project.write("ollama.yaml", OLLAMA)
    here = ("--set", f"generate.base_url={ollama.address}", "--set", f"embed.base_url={ollama.address}")
    assert findings(project, "ollama.yaml", *here)[0] == 0
    code, checks, _ = findings(project, "ollama.yaml", *here, "--set", "generate.model=gemma3:27b")
    assert code == 1
    assert [name for name, row in checks.items() if not row["ok"]] == ["generate"]
    assert checks["generate"]["detail"].endswith("run 'ollama pull gemma3:27b'")


def test_missing_weights_and_documents(project: Project) -> None:
    pytest.importorskip("xllamacpp")
    settings = ("--set", "generate={kind: embedded}", "--set", "embed={kind: onnx}")
    (project.path / "pdfs" / "varn.pdf").unlink()
    code, checks, _ = findings(project, "tiny.yaml", *settings)
    assert code == 1
    assert [name for name, row in checks.items() if not row["ok"]] == ["data", "embed", "generate"]
    assert "varn.pdf" in checks["data"]["detail"]
    assert checks["embed"]["detail"].endswith("run 'fathoms models pull minilm-l6-v2'")
    assert checks["generate"]["detail"].endswith("run 'fathoms models pull smollm2-135m'")


def test_a_config_that_cannot_be_read(project: Project) -> None:
    project.write("wrong.yaml", "data: sample\ngenerate: {kind: olama}\n")
    code, checks, printed = findings(project, "wrong.yaml")
    assert code == 1
    assert list(checks) == ["config"]
    assert "did you mean 'ollama'" in checks["config"]["detail"]
    assert "wrong.yaml:2" in printed
