"""`kill -9` while a run is judged costs what was in flight; scored again, it ends as if nothing had been."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from fathoms.cli import main
from tests.support import faulty
from tests.support.fault_server.server import ScriptedServer
from tests.support.ports import free_port
from tests.support.project import Project

pytestmark = pytest.mark.slow

QUESTIONS, AT_ONCE = 40, 4
POINTS = (3, 29)
CONFIG = """\
name: judged
data: {questions: questions.json, documents: pdfs}
retrieve: {kind: whole-document}
generate: {kind: scripted, replies: {REPLIES}, default: "Nobody can say."}
metrics: [fathoms]
"""
JUDGE = """\
kind: llm
claims: sentences
claims_a_call: 1
model: {{kind: openai-compatible, base_url: "{address}/v1", model: scripted,
  max_concurrency: {at_once}{more}}}
"""


def scores(run: Path) -> dict[str, Any]:
    """Everything that must not depend on being killed."""
    summary = json.loads((run / "summary.json").read_text())
    found = {name: summary[name] for name in ("profiles", "metrics")}
    return {**found, "verdicts": summary["judging"]["verdicts"], "cost": summary["judging"]["total_cost"]}


@pytest.fixture
def answered(tmp_path: Path) -> Project:
    """A run with an answer of its own for each question, which is not scored yet."""
    texts = [f"What is <{number}>?" for number in range(QUESTIONS)]
    project = faulty.faulty_project(tmp_path, texts)
    replies = json.dumps({f"<{number}>": f"It is v{number}v." for number in range(QUESTIONS)})
    project.write("judged.yaml", CONFIG.replace("{REPLIES}", replies))
    assert project.fathoms("run", "judged.yaml", "--no-score").returncode == 0
    return project


def start(project: Project, *more: str) -> subprocess.Popen[str]:
    scoring = ["score", "latest", "--metric", "faithfulness", "--judge", "judge.yaml", *more]
    return project.start(*scoring, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def test_killed_at_two_points_and_scored_again(answered: Project) -> None:
    (run,) = answered.runs()
    journal = run / "verdicts" / "judge.jsonl"
    with ScriptedServer(answers={"v1": "yes", "v3": "yes"}, default="no", latency=0.02).running() as server:
        answered.write("judge.yaml", JUDGE.format(address=server.address, at_once=AT_ONCE, more=""))
        with start(answered) as process:
            assert process.wait() == 0
        undisturbed = scores(run)
        # v1, v10 to v19, v3 and v30 to v39
        assert undisturbed["verdicts"] == {"supported": 22, "unsupported": 18}
        assert server.requests == QUESTIONS
        journal.unlink()
        server.requests = 0
        for point in POINTS:
            with start(answered) as process:
                while server.requests < point and process.poll() is None:
                    time.sleep(0.001)
                process.send_signal(signal.SIGKILL)
        with start(answered) as process:
            assert process.wait() == 0
        assert scores(run) == undisturbed
        # only what was in flight or being written at a kill was asked for twice
        assert server.requests - QUESTIONS <= 2 * AT_ONCE * len(POINTS)
        judging = json.loads((run / "summary.json").read_text())["judging"]
        assert judging["asked"] + judging["found"] == QUESTIONS
        assert judging["found"] >= POINTS[-1] - 2 * AT_ONCE * len(POINTS)


def test_a_signal_keeps_the_verdicts_and_ends_with_130(answered: Project) -> None:
    with ScriptedServer(["latency=3@6"], default="yes").running() as server:
        answered.write("judge.yaml", JUDGE.format(address=server.address, at_once=1, more=""))
        with start(answered) as process:
            while server.requests < 6:
                time.sleep(0.001)
            process.send_signal(signal.SIGINT)
            assert process.stderr is not None
            assert process.stderr.read().endswith("fathoms: stopped\n")
            assert process.wait() == 130
        requests = server.requests
        journal = answered.runs()[0] / "verdicts" / "judge.jsonl"
        assert len(journal.read_bytes().splitlines()) == requests  # the one in flight was waited for


def test_a_scheduler_that_ends_the_scoring_is_told_so(answered: Project) -> None:
    """SIGTERM, while answers are scored without a judge."""
    answered.write("ends.py", "import os, signal\ndef ends(record): os.kill(os.getpid(), signal.SIGTERM)\n")
    done = answered.fathoms("score", str(answered.runs()[0]), "--metric", "ends:ends")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (143, "fathoms: stopped")


def test_a_signal_ends_the_wait_that_a_server_asks_for(answered: Project) -> None:
    with ScriptedServer(["429=50@3"], default="yes").running() as server:
        answered.write("judge.yaml", JUDGE.format(address=server.address, at_once=1, more=""))
        with start(answered) as process:
            while server.requests < 3:
                time.sleep(0.001)
            time.sleep(0.3)  # so that it waits
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=30) == 130
        with start(answered) as process:
            assert process.wait() == 0
        assert server.requests == QUESTIONS + 1


def test_the_budget_stops_judging_with_exit_code_3_and_scoring_again_goes_on(answered: Project) -> None:
    price = ", price: {input: 1000000, output: 0}"  # a dollar a token
    with ScriptedServer(default="yes").running() as server:
        answered.write("judge.yaml", JUDGE.format(address=server.address, at_once=AT_ONCE, more=price))
        with start(answered, "--max-cost", "500") as process:
            assert process.wait() == 3
        (run,) = answered.runs()
        judging = json.loads((run / "summary.json").read_text())["judging"]
        assert 0 < judging["cost"] <= 500
        assert 0 < judging["asked"] < QUESTIONS
        with start(answered) as process:
            assert process.wait() == 0
        assert server.requests == QUESTIONS


SICK = {
    "too many requests": "429@v1",
    "an error": "status=500@v1",
    "overload": "status=503@v1",
    "silence": "hang@v1",
    "a slow answer": "drip=0.2@v1",
    "a cut connection": "cut@v1",
    "no body": "empty@v1",
    "a page for people": "html@v1",
    "half of the JSON": "truncated@v1",
    "no words": "blank@v1",
    "a closed connection": "drop@v1",
    "another schema": "v1",
    "nobody who listens": "",
}
TWO = """\
name: judged
data: {questions: questions.json, documents: pdfs}
retrieve: {kind: whole-document}
generate: {kind: scripted, replies: {<1>: It is v1v., <2>: It is v2v., <3>: It is v3v., <4>: It is v4v.}}
execution: {max_attempts: 1, first_wait: 0.01, give_up_after: 600}
question_timeout: 1
metrics: [fathoms, faithfulness]
judge:
  kind: llm
  claims: sentences
  claims_a_call: 1
  model: {kind: openai-compatible, base_url: "ADDRESS/v1", model: scripted, request_timeout: 0.5}
"""


@pytest.mark.parametrize("fault", SICK)
def test_a_sick_judge_makes_a_run_partial(
    tmp_path: Path, fault: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It fails on one answer of four, or, where nobody listens, on all: the run is PARTIAL with the code of
    failed questions, the last line says how many answers lack a verdict, and scoring again ends so, too. When
    the judge is well, that one answer is asked for again, and nothing else."""
    monkeypatch.chdir(faulty.faulty_project(tmp_path, [f"What is <{n}>?" for n in range(1, 5)]).path)
    rules = [SICK[fault]] if "@" in SICK[fault] else []
    answers = {"v1": '{"verdict": "sure"}'} if SICK[fault] == "v1" else {}
    with ScriptedServer(rules, answers=answers, default="yes").running() as server:
        address = server.address if SICK[fault] else f"http://127.0.0.1:{free_port()}"
        Path("judged.yaml").write_text(TWO.replace("ADDRESS", address))
        if not SICK[fault]:  # the check before the first question finds that
            assert main(["run", "judged.yaml"]) == 2
            return
        code = main(["run", "judged.yaml"])
        printed = capsys.readouterr()
        assert (code, printed.out.splitlines()[-1].rpartition(" ")[2]) == (1, "PARTIAL"), (
            printed.out + printed.err
        )
        assert "(4 questions, 0 failed, 1 judged only in part)" in printed.out.splitlines()[-1]
        assert "1 of 4 answers are judged only in part" in printed.err
        assert main(["score", "latest"]) == 1
        assert main(["score", "latest", "--fail-on-error", "25%"]) == 0
        server.rules.clear()
        server.answers.clear()
        capsys.readouterr()
        before = server.requests
        assert main(["score", "latest"]) == 0
        assert server.requests == before + 1
        again = "1 reply of the judge that could not be read was asked for again: 1 can be read now"
        assert (again in capsys.readouterr().err) == (SICK[fault] in ("v1", "blank@v1"))
