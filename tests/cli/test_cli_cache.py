"""What is kept from one command to the next: how much, for how long, and when it is not looked at."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.project import Project

pytestmark = pytest.mark.slow  # processes of their own


def kinds(project: Project) -> dict[str, int]:
    """Entries by kind."""
    return {share["kind"]: share["entries"] for share in project.json("cache", "info")["kinds"]}


def last(project: Project) -> list[dict[str, Any]]:
    lines = (project.runs()[-1] / "journal.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_a_run_fills_the_cache_with_documents_chunks_and_embeddings(project: Project) -> None:
    assert project.fathoms("run", "tiny.yaml").returncode == 0
    found = kinds(project)
    # two documents; three pages and four questions embedded; one matrix
    assert (found["document"], found["chunks"], found["embedding"], found["indexes"]) == (2, 2, 7, 1)
    assert "reply" not in found
    said = project.fathoms("cache", "info").stdout
    assert "embedding" in said
    assert f"in {project.path / 'cache'}" in said


def test_clear_and_prune(project: Project) -> None:
    assert project.fathoms("ingest", "tiny.yaml").returncode == 0
    assert "0.0 MB freed" in project.fathoms("cache", "prune", "--max-size", "1GB").stdout
    assert kinds(project)["document"] == 2
    assert project.fathoms("cache", "clear").returncode == 0
    assert kinds(project) == {}
    again = project.json("ingest", "tiny.yaml")
    assert not again["cached"]
    assert project.json("ingest", "tiny.yaml")["cached"]
    wrong = project.fathoms("cache", "prune", "--max-size", "much")
    assert (wrong.returncode, "expected a size such as 500MB or 2GB" in wrong.stderr) == (2, True)


def test_no_cache_keeps_nothing(project: Project) -> None:
    assert project.fathoms("run", "tiny.yaml", "--no-cache").returncode == 0
    assert kinds(project) == {}
    both = project.fathoms("run", "tiny.yaml", "--no-cache", "--refresh")
    assert (both.returncode, "--no-cache" in both.stderr, "--refresh" in both.stderr) == (2, True, True)


def test_refresh_looks_at_nothing(project: Project) -> None:
    assert not project.json("ingest", "tiny.yaml")["cached"]
    assert not project.json("ingest", "tiny.yaml", "--refresh")["cached"]
    assert project.json("ingest", "tiny.yaml")["cached"]


def test_replies_are_taken_again_only_where_asked_for(project: Project) -> None:
    assert project.fathoms("run", "tiny.yaml").returncode == 0
    assert project.fathoms("run", "tiny.yaml", "--reuse-replies").returncode == 0
    assert not any(record["answer"].get("cached") for record in last(project))  # nothing was kept before
    first = {record["question"]["id"]: record["answer"]["text"] for record in last(project)}
    assert project.fathoms("run", "tiny.yaml", "--reuse-replies", "--set", "name=again").returncode == 0
    again = last(project)
    assert all(record["answer"]["cached"] for record in again)
    assert {record["question"]["id"]: record["answer"]["text"] for record in again} == first
    summary = json.loads((project.runs()[-1] / "summary.json").read_text())
    assert summary["counts"]["cached"] == 4
    assert summary["usage"] == {"prompt_tokens": 0, "completion_tokens": 0}
    assert summary["seconds"]["generate"] is None
    # a nightly run measures anew
    assert project.fathoms("run", "tiny.yaml").returncode == 0
    assert not any(record["answer"].get("cached") for record in last(project))


@pytest.mark.parametrize(
    "change", ["generate.default=Who knows?", "prompt.system=Be brief.", "generate.max_tokens=9"]
)
def test_another_prompt_or_model_is_asked(project: Project, change: str) -> None:
    assert project.fathoms("run", "tiny.yaml", "--reuse-replies").returncode == 0
    assert project.fathoms("run", "tiny.yaml", "--reuse-replies", "--set", change).returncode == 0
    assert not any(record["answer"].get("cached") for record in last(project))


def test_a_failure_is_never_kept(project: Project) -> None:
    fails = ("--set", 'generate.fail_on={"How tall": "boom"}')
    assert project.fathoms("run", "tiny.yaml", "--reuse-replies", *fails).returncode == 1
    assert kinds(project)["reply"] == 3
