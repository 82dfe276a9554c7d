"""`fathoms doctor` from the shell: what is missing, by stage, and what mends it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fathoms.cli.doctor_findings import machine_lines, next_commands
from fathoms.models.weights.assets import ASSETS
from tests.support.ollama_server import OllamaServer
from tests.support.packages import skip_without
from tests.support.project import Project

pytestmark = pytest.mark.slow  # processes, models and sockets of their own

OLLAMA = """\
data: {questions: questions.json, documents: pdfs}
embed: {kind: ollama, model: nomic-embed-text}
generate: {kind: ollama, model: "gemma3:4b"}
"""
STAGES = ["config", "data", "ingest", "chunk", "embed", "retrieve", "generate", "scoring", "gate"]


def findings(project: Project, *arguments: str) -> tuple[int, dict[str, dict[str, Any]], str]:
    """The exit code, the checks of the first config by name, and what is printed for people."""
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
    assert checks["data"]["detail"].splitlines() == [
        "4 questions on 2 documents of questions",
        "2 of 2 documents not parsed yet: 'fathoms ingest' says what may be missing of their text",
    ]
    assert checks["generate"]["detail"] == "scripted"
    assert "fails" not in printed


def test_doctor_reports_an_invalid_ollama_host_once(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "http://me:word@127.0.0.1:9")
    (line,) = [line for line in project.fathoms("doctor").stdout.splitlines() if line.startswith("ollama")]
    assert line.startswith("ollama: the environment variable OLLAMA_HOST: ")
    assert "word@" not in line
    assert "ollama serve" not in line


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
    assert report["servers"] == [
        {"name": "ollama", "address": "http://127.0.0.1:9", "version": None, "models": []}
    ]
    assert all(row["use"] for row in report["weights"])
    assert report["next"][-1] == "fathoms init DIR"
    assert "fathoms models pull smollm2-135m minilm-l6-v2" in report["next"]
    printed = project.fathoms("doctor").stdout
    assert "ollama: does not answer at http://127.0.0.1:9" in printed
    assert "('ollama serve' starts it)" in printed
    assert "easyocr-en (OCR of ingest: docling)" in printed
    assert "(fathoms models pull NAME)" in printed
    assert "next: fathoms models pull smollm2-135m minilm-l6-v2; fathoms init DIR" in printed


def test_keys_are_told_by_presence_only(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-4711")
    monkeypatch.setenv("GEMINI_API_KEY", "  ")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    done = project.fathoms("doctor", "--json")
    assert {row["name"]: row["set"] for row in json.loads(done.stdout)["keys"]} == {
        "OPENAI_API_KEY": True,
        "ANTHROPIC_API_KEY": False,
        "COHERE_API_KEY": False,
        "GEMINI_API_KEY": False,
        "JINA_API_KEY": False,
        "VOYAGE_API_KEY": False,
    }
    printed = project.fathoms("doctor").stdout
    assert "keys: OPENAI_API_KEY; not set: ANTHROPIC_API_KEY, COHERE_API_KEY, GEMINI_API_KEY" in printed
    assert "4711" not in done.stdout + printed


def test_a_folder_that_cannot_be_written_is_a_failure(project: Project) -> None:
    project.write("file", "")
    done = project.fathoms("doctor", "tiny.yaml", "--out", "file/runs")
    assert done.returncode == 1
    assert "runs: file/runs (cannot be written: name another with --out)" in done.stdout
    assert "fails" not in done.stdout


def test_little_space_is_said() -> None:
    folder = {"folder": "runs", "free_gb": 1.9, "writable": True}
    machine = {"python": "3.11.7", "cpus": 2, "memory_gb": None, "cache": folder, "runs": folder}
    lines = list(machine_lines(machine))
    assert lines[0] == "Python 3.11.7, 2 CPUs, memory unknown"
    assert lines[1] == "cache: runs (1.9 GB free, which is little: set FATHOMS_CACHE_DIR to another)"


def test_what_lacks_for_a_first_run_is_named_in_order() -> None:
    extras = [{"extra": "embedded", "missing": ["xllamacpp"]}, {"extra": "docling", "missing": ["docling"]}]
    weights = [{"name": name, "here": name != "minilm-l6-v2"} for name in ASSETS]
    assert next_commands({"extras": extras, "weights": weights}) == [
        "pip install 'fathoms[embedded,llamaindex]'",
        "fathoms models pull minilm-l6-v2",
        "fathoms init DIR",
    ]


def test_the_models_of_a_server_are_listed(
    project: Project, ollama: OllamaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", ollama.address)
    (server,) = project.json("doctor")["servers"]
    assert server["version"]
    assert any(name.startswith("gemma3:4b") for name in server["models"])
    assert ", ".join(server["models"]) in project.fathoms("doctor").stdout


def test_a_missing_server_and_all_that_is_well_beside_it(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    skip_without("llama_index.llms.ollama")
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    project.write("ollama.yaml", OLLAMA)
    code, checks, printed = findings(project, "ollama.yaml", "tiny.yaml")
    assert code == 1
    assert [name for name, row in checks.items() if not row["ok"]] == ["embed", "generate"]
    assert "start it with 'ollama serve'" in checks["generate"]["detail"]
    assert printed.count("fails") == 2


def test_a_missing_model(project: Project, ollama: OllamaServer) -> None:
    skip_without("llama_index.llms.ollama")
    project.write("ollama.yaml", OLLAMA)
    here = ("--set", f"generate.base_url={ollama.address}", "--set", f"embed.base_url={ollama.address}")
    assert findings(project, "ollama.yaml", *here)[0] == 0
    code, checks, _ = findings(project, "ollama.yaml", *here, "--set", "generate.model=gemma3:27b")
    assert code == 1
    assert [name for name, row in checks.items() if not row["ok"]] == ["generate"]
    assert checks["generate"]["detail"].endswith("run 'ollama pull gemma3:27b'")


def test_missing_weights_and_documents(project: Project) -> None:
    skip_without("xllamacpp")
    settings = ("--set", "generate={kind: embedded}", "--set", "embed={kind: onnx}")
    (project.path / "pdfs" / "varn.pdf").unlink()
    code, checks, _ = findings(project, "tiny.yaml", *settings)
    assert code == 1
    assert [name for name, row in checks.items() if not row["ok"]] == ["data", "embed", "generate"]
    assert "varn.pdf" in checks["data"]["detail"]
    assert checks["embed"]["detail"].endswith("run 'fathoms models pull minilm-l6-v2'")
    assert checks["generate"]["detail"].endswith("run 'fathoms models pull smollm2-135m'")


@pytest.mark.slow
def test_all_that_docling_lacks_is_named_at_once(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    skip_without("docling")
    skip_without("easyocr")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("EASYOCR_MODULE_PATH", str(tmp_path / "easyocr"))
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")  # where nobody listens
    code, checks, _ = findings(project, "tiny.yaml", "--set", "ingest={kind: docling}")
    assert code == 1
    detail = checks["ingest"]["detail"]
    files = "EasyOCR's craft_mlt_25k.pth (ocr), EasyOCR's english_g2.pth (ocr)"
    models = "docling-project/docling-layout-heron (layout), docling-project/docling-models (tables)"
    assert f"cannot be downloaded: {files}, {models}" in detail
    offline = detail.split("and set ")[1].replace("ingest: ", "ingest=")
    code, checks, _ = findings(project, "tiny.yaml", "--set", offline)
    command = "run 'fathoms models pull easyocr-en layout-cdla'"
    assert checks["ingest"]["detail"].endswith(command)
    (tmp_path / "easyocr" / "model").mkdir(parents=True)
    for name in ("craft_mlt_25k.pth", "english_g2.pth"):
        (tmp_path / "easyocr" / "model" / name).touch()
    for name in ("docling-layout-heron", "docling-models"):
        (tmp_path / "hub" / f"models--docling-project--{name}" / "snapshots" / "main").mkdir(parents=True)
    assert findings(project, "tiny.yaml", "--set", "ingest={kind: docling}")[0] == 0
    german = "ingest={kind: docling, ocr: {kind: easyocr, languages: [en, de]}}"
    assert "EasyOCR's latin_g2.pth" in findings(project, "tiny.yaml", "--set", german)[1]["ingest"]["detail"]


def test_a_config_that_cannot_be_read(project: Project) -> None:
    project.write("wrong.yaml", "data: sample\ngenerate: {kind: olama}\n")
    code, checks, printed = findings(project, "wrong.yaml")
    assert code == 1
    assert list(checks) == ["config"]
    assert "did you mean 'ollama'" in checks["config"]["detail"]
    assert "wrong.yaml:2" in printed
