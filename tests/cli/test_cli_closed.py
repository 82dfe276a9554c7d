"""Every shipped config of a closed API from the shell, on questions of the sample corpus, against a server of
the tests that speaks the vendors' APIs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from fathoms.experiment import Experiment, load_experiment
from tests.support.packages import skip_without
from tests.support.project import Project
from tests.support.vendor_servers import KEY, Request, Vendors, vendors
from tests.support.vendor_wire import Breaks, Fails, Said, Step, error_body

pytestmark = pytest.mark.slow  # processes and sockets of their own

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "data" / "sample"
CONFIGS = {
    "claude-sonnet-4": ("anthropic", "ANTHROPIC_API_KEY", "claude-sonnet-4-20250514"),
    "gpt-4.1": ("openai", "OPENAI_API_KEY", "gpt-4.1"),
    "gpt-4o": ("openai", "OPENAI_API_KEY", "gpt-4o"),
    "gemini-2.5-flash": ("google", "GEMINI_API_KEY", "gemini-2.5-flash"),
}
REFUSED, LIMITED, BROKEN = "text-01", "table-01", "image-01"
"""Questions that the script refuses, limits, and breaks off."""
WANTED = (REFUSED, LIMITED, BROKEN, "text-04", "multi-01")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Vendors]:
    skip_without("anthropic", "google.genai", "openai")
    for _, variable, _ in CONFIGS.values():
        monkeypatch.setenv(variable, KEY)
    with vendors() as running:
        yield running


def questions() -> dict[str, dict[str, Any]]:
    """The questions of the sample corpus by id."""
    found = json.loads((SAMPLE / "questions.json").read_text())
    return {item["id"]: item for items in found.values() for item in items}


def script(request: Request) -> Step:
    """Refuses one question, limits one, breaks one off, and answers all others with their own words."""
    texts = {item["question"]: name for name, item in questions().items()}
    name = texts[request.text]
    if name == REFUSED:
        more = {"anthropic": {"stop": "refusal"}, "chat": {"refusal": "No."}, "google": {"stop": "SAFETY"}}
        return Said("" if request.api == "chat" else "No.", **more[request.api])
    if name == LIMITED:
        code = {
            "anthropic": "rate_limit_error",
            "chat": "rate_limit_exceeded",
            "google": "RESOURCE_EXHAUSTED",
        }
        return Fails(429, error_body(request.api, 429, "Slow down", code[request.api]), {"retry-after": "1"})
    return Breaks("reset") if name == BROKEN else Said(f"It is {name}.")


def command(config: str, *settings: str) -> list[str]:
    """A shipped config on the sample corpus, scored without weights."""
    pairs = ("data=sample", "scoring.profile=fathoms", *settings)
    shipped = str(ROOT / "configs" / f"{config}.yaml")
    return ["run", shipped, *(word for pair in pairs for word in ("--set", pair))]


def run(project: Project, server: Vendors, config: str, *settings: str, only: Sequence[str] = ()) -> Path:
    """The run of a shipped config on the sample corpus, or some questions of it, each of which is asked once,
    whatever comes back."""
    kind = CONFIGS[config][0]
    once = "execution.max_attempts=1"
    chosen = [word for name in only for word in ("--question", name)]
    wanted = command(config, f"generate.base_url={server.base_url(kind)}", once, *settings)
    done = project.fathoms(*wanted, *chosen)
    assert done.returncode in (0, 1), done.stderr
    assert KEY not in done.stdout + done.stderr
    return project.runs()[-1]


def records(folder: Path) -> dict[str, dict[str, Any]]:
    """What a run has of every question, by its id."""
    found = [json.loads(path.read_text()) for path in (folder / "questions").glob("*.json")]
    return {record["question"]["id"]: record["repeats"][0] for record in found}


def digests(files: tuple[bytes, ...]) -> list[str]:
    return [hashlib.sha256(data).hexdigest() for data in files]


def on_disk(names: list[str]) -> list[str]:
    return digests(tuple((SAMPLE / name).read_bytes() for name in names))


def assert_no_key(folder: Path) -> None:
    """The key stands in no file below a folder."""
    for path in folder.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


def test_the_configs_of_one_vendor_differ_in_the_model_only() -> None:
    """So one of them is run below."""
    one, other = (load_experiment(ROOT / "configs" / f"{name}.yaml") for name in ("gpt-4.1", "gpt-4o"))
    assert isinstance(other, Experiment)
    generate = other.generate.model_copy(update={"model": "gpt-4.1"})
    assert other.model_copy(update={"name": "gpt-4.1", "generate": generate}) == one


@pytest.mark.parametrize("config", ["claude-sonnet-4", "gpt-4.1", "gemini-2.5-flash"])
def test_a_shipped_config_on_the_sample_corpus(
    config: str, project: Project, server: Vendors, tmp_path: Path
) -> None:
    server.script = script
    folder = run(project, server, config, only=WANTED)
    known, found = {name: questions()[name] for name in WANTED}, records(folder)
    assert found.keys() == known.keys()
    texts = {item["question"]: item for item in known.values()}
    for request in server.asked:
        assert digests(request.files) == on_disk(texts[request.text]["files"])
    assert sorted(request.text for request in server.asked) == sorted(texts)
    assert {
        request.body.get("model") or request.path.split("/")[-1].split(":")[0] for request in server.asked
    } == {CONFIGS[config][2]}
    for name, record in found.items():
        if name not in (REFUSED, LIMITED, BROKEN):
            assert record["answer"]["text"] == f"It is {name}."
            assert record["answer"]["usage"]["prompt_tokens"] == 11
            assert record["answer"]["stop_reason"] in ("end_turn", "stop", "STOP")
            assert record["answer"]["refusal"] is None
    refused = found[REFUSED]["answer"]
    assert (refused["text"], refused["refusal"]) == ("No.", "SAFETY" if "gemini" in config else "refusal")
    limited, broken = found[LIMITED]["error"], found[BROKEN]["error"]
    assert (limited["kind"], limited["status"], limited["retry_after"]) == ("RateLimitError", 429, 1.0)
    assert broken["kind"] == "NoAnswerError"
    assert_no_key(tmp_path)


def test_every_pdf_is_uploaded_once(project: Project, server: Vendors, tmp_path: Path) -> None:
    """By one vendor; `test_models_closed.py` has the uploads of all."""
    texts = ["image-01", "table-01", "table-02", "text-03", "text-04", "multi-01"]
    run(project, server, "gpt-4.1", "generate.attach=upload", "generate.stream=true", only=texts)
    needed = {name for question in texts for name in questions()[question]["files"]}
    assert sorted(digests(tuple(data for _, _, data in server.uploads))) == sorted(on_disk(sorted(needed)))
    assert sorted(name for _, name, _ in server.uploads) == sorted(needed)
    assert len(server.asked) == len(texts) > len(needed) > 1
    assert not any(texts.inline for texts in server.asked)
    (folder,) = project.runs()
    assert all(record["answer"]["first_token"] > 0 for record in records(folder).values())
    assert_no_key(tmp_path)


@pytest.mark.parametrize("config", CONFIGS)
def test_a_missing_key_is_named_beforehand(
    config: str, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, variable, _ = CONFIGS[config]
    skip_without({"google": "google.genai"}.get(kind, kind))
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.delenv(variable)
    done = project.fathoms(*command(config), "--dry-run")
    assert done.returncode == 2
    assert f"missing: generate: the environment variable {variable} is not set" in done.stdout
    assert KEY not in done.stdout + done.stderr
    assert project.runs() == []


def test_doctor_names_the_missing_key(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    skip_without("anthropic")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    shipped = str(ROOT / "configs" / "claude-sonnet-4.yaml")
    done = project.fathoms("doctor", shipped)
    assert "ANTHROPIC_API_KEY" in done.stdout + done.stderr
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    done = project.fathoms("doctor", shipped)
    assert KEY not in done.stdout + done.stderr
