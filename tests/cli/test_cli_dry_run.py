"""`run --dry-run`: what would be asked and what is missing, with nothing asked and no key shown."""

from __future__ import annotations

import json

import pytest
from support import Project

CLOSED = """\
name: closed
data: {questions: questions.json, documents: pdfs}
retrieve: {kind: files}
prompt: {template: attached}
generate: {kind: anthropic, model: some-model, api_key_env: DRY_RUN_KEY, base_url: http://127.0.0.1:9}
"""
KEY = "sk-ant-planted-0815"


def test_the_plan_of_attached_files(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRY_RUN_KEY", KEY)
    project.write("closed.yaml", CLOSED)
    done = project.fathoms("run", "closed.yaml", "--dry-run")
    assert (done.returncode, done.stderr) == (0, "")
    # two questions on varn.pdf with two pages, two on lune.pdf with one
    assert "closed: 4 questions of questions (Text-Only 2, Tables 2)" in done.stdout
    assert "4 requests, with 6 pages attached" in done.stdout
    assert "generate: anthropic some-model" in done.stdout
    assert KEY not in done.stdout
    assert project.runs() == []


def test_the_missing_key_is_named(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DRY_RUN_KEY", raising=False)
    project.write("closed.yaml", CLOSED)
    done = project.fathoms("run", "closed.yaml", "--dry-run")
    assert done.returncode == 2
    missing = "missing: generate: the environment variable DRY_RUN_KEY is not set: it holds the key"
    assert missing in done.stdout
    doctor = project.fathoms("doctor", "closed.yaml", "--json")
    assert doctor.returncode == 1
    checks = {check["name"]: check for check in json.loads(doctor.stdout)["configs"][0]["checks"]}
    assert checks["generate"]["detail"] == missing.removeprefix("missing: generate: ")
    assert checks["retrieve"]["ok"]


def test_splitting_shows_in_the_requests(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRY_RUN_KEY", KEY)
    project.write("closed.yaml", CLOSED)
    arguments = ("run", "closed.yaml", "--dry-run", "--set", "generate.max_pages=1")
    refused = project.fathoms(*arguments)
    assert refused.returncode == 2
    assert "2 questions have more attached than the model takes in one request (1 pages" in refused.stdout
    # the questions on varn.pdf take a request a page and one that merges
    split = project.fathoms(*arguments, "--set", "retrieve.too_long=split")
    assert split.returncode == 0
    assert "8 requests, with 6 pages attached" in split.stdout


def test_a_plan_of_stages_asks_nothing(project: Project) -> None:
    done = project.fathoms("run", "tiny.yaml", "tiny.yaml", "--dry-run", "--limit", "3")
    assert done.returncode == 0
    assert done.stdout.count("3 requests\n") == 2
    assert done.stdout.endswith("nothing was asked\n")
    assert project.runs() == []
