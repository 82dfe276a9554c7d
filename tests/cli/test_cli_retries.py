"""What is asked again, how often, and what stands in the record: a service that fails by plan."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import Any

import pytest

from tests.support.ports import free_port
from tests.support.project import Project
from tests.support.raw_service import Act, answer, resets, sends, service

pytestmark = pytest.mark.slow  # processes of their own

CONFIG = """\
name: mine
data: {{questions: questions.json, documents: pdfs}}
pipeline: {{kind: http, url: "{address}/ask", timeout: 5, max_concurrency: 1}}
execution: {{first_wait: 0.05, max_attempts: 4}}
"""
GOOD = sends(answer({"answer": "It is 41.5 m tall."}))


def busy(status: str, *headers: str) -> Act:
    return sends(answer("not now", status, *headers))


def by_plan(plan: dict[str, list[Act]], wanted: Counter[str]) -> Act:
    """The acts for a word of the question, one after the other, and then a good answer."""

    def act(connection: Any, sent: Any) -> None:
        word = next((word for word in plan if word in sent["question"]), "")
        acts = plan.get(word, [])
        (acts[wanted[word]] if wanted[word] < len(acts) else GOOD)(connection, sent)
        wanted[word] += 1

    return act


def records(project: Project) -> dict[str, dict[str, Any]]:
    lines = (project.runs()[-1] / "journal.jsonl").read_text().splitlines()
    return {record["question"]["id"]: record for record in map(json.loads, lines)}


def test_asked_again_where_that_helps_and_nowhere_else(project: Project) -> None:
    wanted: Counter[str] = Counter()
    plan = {
        "tall": [busy("503 Busy"), resets],
        "colour": [busy("400 Bad")] * 9,
        "cost": [busy("429 Slow", "Retry-After: 1")],
        "owns": [busy("500 Broken")] * 9,
    }
    with service(by_plan(plan, wanted)) as server:
        project.write("mine.yaml", CONFIG.format(address=server.address))
        done = project.fathoms("run", "mine.yaml")
    assert done.returncode == 1
    assert wanted == {"tall": 3, "colour": 1, "cost": 2, "owns": 4}
    found = records(project)
    # an attempt is left out of the journal where it is the only one
    attempts = {name: record.get("attempts", 1) for name, record in found.items()}
    assert attempts == {"text-only-01": 3, "text-only-02": 1, "tables-01": 2, "tables-02": 4}
    latency = found["tables-01"]["answer"]["latency"]  # of the last attempt, without the wait
    assert found["tables-01"]["timings"]["generate"] >= 1.0 + latency
    assert {name: record["error"]["status"] for name, record in found.items() if "error" in record} == {
        "text-only-02": 400,
        "tables-02": 500,
    }


def test_a_service_that_went_down_is_resumed(project: Project) -> None:
    wanted: Counter[str] = Counter()
    with service(by_plan({}, wanted), port := free_port()) as server:
        address = server.address
        project.write("mine.yaml", CONFIG.format(address=address))
        assert project.fathoms("run", "mine.yaml", "--limit", "1").returncode == 0
    plan: dict[str, list[Act]] = {"colour": [resets] * 99, "cost": [resets] * 99}
    wanted.clear()
    with service(by_plan(plan, wanted), port) as server:
        started = time.monotonic()
        assert project.fathoms("run", "mine.yaml").returncode == 1
        assert (
            wanted["colour"] == wanted["cost"] == 4
        )  # the second was the probe: it might have been answered
        assert time.monotonic() - started < 60
        plan.clear()
        wanted.clear()
        done = project.fathoms("run", "--resume", "mine")
    assert done.returncode == 0, done.stderr
    assert "2 of 4 questions have no answer yet" in done.stderr
    assert sum(wanted.values()) == 2
    summary = json.loads((project.runs()[-1] / "summary.json").read_text())
    assert summary["counts"]["errors"] == 0
    assert summary["complete"]


@pytest.mark.long  # a minute; test_calling_lane.py tests the limit in simulated time, test_asking.py in a run
def test_no_faster_than_allowed(project: Project) -> None:
    with service(GOOD) as server:
        text = CONFIG.format(address=server.address).replace("max_attempts: 4", "requests_per_minute: 3")
        project.write("mine.yaml", text.replace("first_wait: 0.05, ", "") + "question_timeout: 5\n")
        started = time.monotonic()
        done = project.fathoms("run", "mine.yaml")
        # three in the first minute; the fourth waits for the second, and that is no failure of it
        assert (len(server.requests), done.returncode) == (4, 0)
        assert time.monotonic() - started > 59


@pytest.mark.parametrize("key", ["max_attempts: 0", "first_wait: -1", "retries: 3"])
def test_a_wrong_key_is_an_error_with_its_place(project: Project, key: str) -> None:
    project.write("mine.yaml", CONFIG.format(address="http://127.0.0.1:9").replace("max_attempts: 4", key))
    done = project.fathoms("validate", "mine.yaml")
    assert done.returncode == 2
    assert "mine.yaml:4:" in done.stderr


def test_nothing_is_begun_where_a_later_pipeline_cannot_be(project: Project) -> None:
    broken = project.path / "broken"
    broken.mkdir()
    (broken / "varn.pdf").write_bytes(b"no PDF at all")
    (broken / "lune.pdf").write_bytes(b"neither")
    config = project.config.read_text()
    project.write("second.yaml", config.replace("documents: pdfs", "documents: broken"))
    done = project.fathoms("run", "tiny.yaml", "second.yaml")
    assert done.returncode == 1
    assert "varn.pdf" in done.stderr or "lune.pdf" in done.stderr
    assert project.runs() == []
