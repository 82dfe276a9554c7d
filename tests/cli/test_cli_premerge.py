"""`fathoms premerge`: a branch and main behind a real HTTP service each, on the same questions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from fathoms.cli import main
from tests.support.http_stub import serving

pytestmark = pytest.mark.slow

QUESTIONS = 30
CONFIG = """\
name: rag
data: {{questions: questions.json}}
pipeline: {{kind: http, url: "{address}/ask", request: {{question: "{{question}}"}}}}
execution: {{max_attempts: 1}}
"""


class Services:
    """Services, each of which knows a part of the answers, or fails; and how often each was asked."""

    def __init__(self, stack: ExitStack) -> None:
        self.stack = stack
        self.asked: dict[str, list[str]] = {}

    def start(self, name: str, knows: Any, status: int = 200) -> None:
        """Start a service that answers rightly where `knows(number)`, and write the config that names it."""
        wanted = self.asked[name] = []

        def answer(body: Any) -> tuple[int, Any]:
            number = int(body["question"].split()[-1].rstrip("?"))
            wanted.append(body["question"])
            return status, {"answer": f"It is {number}." if knows(number) else "It is not known."}

        stub = self.stack.enter_context(serving({"/ask": answer}))
        Path(f"{name}.yaml").write_text(CONFIG.format(address=stub.address))


@pytest.fixture
def services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Services]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(tmp_path / "cache"))
    rows = [
        {"id": f"q{number}", "question": f"Which is number {number}?", "answers": [[str(number)]]}
        for number in range(100, 100 + QUESTIONS)
    ]
    Path("questions.json").write_text(json.dumps({"Numbers": rows}))
    with ExitStack() as stack:
        found = Services(stack)
        found.start("main", lambda number: number % 10)
        yield found


def judged(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str, str]:
    """Judge `branch.yaml`; returns the exit code, the last line, and the comment."""
    command = ["--quiet", "premerge", "branch.yaml", "--against", "main.yaml", "--comment", "comment.md"]
    code = main([*command, *options])
    out = capsys.readouterr().out
    lines = out.splitlines()
    return code, lines[-1] if lines else "", Path("comment.md").read_text()


def test_two_equal_pipelines_pass(services: Services, capsys: pytest.CaptureFixture[str]) -> None:
    services.start("branch", lambda number: number % 10)
    code, line, comment = judged(capsys)
    assert code == 0
    assert line.startswith("PASS: correctness 0.90, on main 0.90; at most 0.02 worse, by ")
    assert len(comment.splitlines()) <= 10
    assert comment.startswith("<!-- fathoms: branch_before_merging -->\n### fathoms: PASS, ")


def test_a_branch_that_lost_a_third_fails_before_all_questions_are_asked(
    services: Services, capsys: pytest.CaptureFixture[str]
) -> None:
    services.start("branch", lambda number: number % 10 and number % 3)
    code, line, comment = judged(capsys, "--junit", "found.xml", "--log-file", "log.jsonl")
    assert code == 100
    assert line.startswith("FAIL: correctness 0.")
    assert " lost (q1" in line
    assert line in comment.replace("\\", "")
    assert len(comment.splitlines()) <= 10
    assert sorted(services.asked["branch"]) == sorted(services.asked["main"])
    assert len(services.asked["branch"]) < QUESTIONS
    assert 'failures="1"' in Path("found.xml").read_text()
    (event,) = (
        json.loads(each) for each in Path("log.jsonl").read_text().splitlines() if "gate-judged" in each
    )
    assert event["verdict"] == "FAIL"


def test_a_few_lost_answers_are_undecided(services: Services, capsys: pytest.CaptureFixture[str]) -> None:
    services.start("branch", lambda number: number % 10 and number not in (101, 102))
    code, line, _ = judged(capsys)
    assert code == 0
    said = "chance may explain it, by 30 of 30 questions; 2 lost (q101 q102), 0 gained"
    assert line == f"UNDECIDED: correctness 0.83, on main 0.90; {said}"
    assert judged(capsys, "--strict")[0] == 101


def test_calls_of_the_branch_that_fail_are_named(
    services: Services, capsys: pytest.CaptureFixture[str]
) -> None:
    services.start("branch", lambda number: True, status=500)
    code, line, _ = judged(capsys)
    assert code == 100
    assert "calls of the branch failed (HTTP 500), more than --fail-on-error allows" in line


def test_a_main_that_fails_gives_no_verdict(services: Services, capsys: pytest.CaptureFixture[str]) -> None:
    services.start("branch", lambda number: True)
    services.start("main", lambda number: True, status=500)
    code, line, comment = judged(capsys)
    assert (code, line) == (1, "")
    assert "of main failed (HTTP 500)" in comment.replace("\\", "")
    assert comment.startswith("<!-- fathoms: branch_before_merging -->\n")


def test_one_service_for_both_is_refused(services: Services, capsys: pytest.CaptureFixture[str]) -> None:
    Path("branch.yaml").write_text(Path("main.yaml").read_text())
    assert judged(capsys)[0] == 2
    assert services.asked["main"] == []


def test_the_same_stages_and_model_pass_without_a_call(
    services: Services, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "data: {questions: questions.json}\nretrieve: {kind: none}\ngenerate: {kind: scripted}\n"
    for name in ("main", "branch"):
        Path(f"{name}.yaml").write_text(text)
    code, line, _ = judged(capsys)
    assert (code, line) == (0, "PASS: the branch has the same pipeline as main; nothing was asked")


def test_no_nightly_command_takes_such_a_run_for_a_night(
    services: Services, capsys: pytest.CaptureFixture[str]
) -> None:
    services.start("branch", lambda number: number % 10)
    judged(capsys)
    assert main(["gate", "rag", "--min", "correctness=0.1"]) == 2
    assert main(["trends", "rag"]) == 2
