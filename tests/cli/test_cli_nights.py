"""A week of nights as cron has them: what exit code, morning line, log and JUnit file say of each.

Each runs the recipe of docs/nightly.md with a scripted model, and then the gate.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fathoms.cli import main
from tests.support.forked import Forked
from tests.support.project import Project, write_pdf
from tests.support.raw_service import answer, service

pytestmark = pytest.mark.slow  # processes of their own

QUESTIONS = 50
CONFIG = """\
name: night
data: {questions: questions.json, documents: pdfs}
chunk: {kind: page}
embed: {kind: lexical}
retrieve: {kind: dense, top_k: 1}
generate: {kind: scripted, default: It is seven., price: {input: 100, output: 100}}
"""
RECIPE = ("--fail-on-error", "2%", "--log-file", "night.jsonl", "--junit", "night.xml")


@dataclass
class Night:
    """What one left behind; `events` are the lines that it added to the log."""

    code: int
    out: str
    events: list[dict[str, Any]]
    cases: dict[str, str | None]

    @property
    def line(self) -> str:
        """The line of the morning."""
        return self.out.splitlines()[-1] if self.out else ""

    @property
    def counts(self) -> Counter[str]:
        """How often what happened."""
        return Counter(event["event"] for event in self.events)


@pytest.fixture
def nights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Fifty questions in two categories, all answered with seven; of the second, half are seven."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "pdfs").mkdir()
    write_pdf(tmp_path / "pdfs" / "a.pdf", ["It is seven, they say."])
    rows = [
        {
            "id": f"q{number:02}",
            "question": f"What is number {number:02}?",
            "files": ["a.pdf"],
            "answers": [["eight" if number % 4 == 1 else "seven"]],
        }
        for number in range(QUESTIONS)
    ]
    project = Project(tmp_path)
    project.write("questions.json", json.dumps({"Even": rows[::2], "Odd": rows[1::2]}))
    project.write("night.yaml", CONFIG)
    return project


def log(project: Project) -> list[dict[str, Any]]:
    path = project.path / "night.jsonl"
    lines = path.read_text().split("\n")[:-1] if path.is_file() else []  # the last one may be half written
    return [json.loads(line) for line in lines]


def cases(project: Project) -> dict[str, str | None]:
    """The cases of the JUnit file, and the type of what is wrong with each; empty where there is none."""
    path = project.path / "night.xml"
    found = ET.parse(path).getroot().iter("testcase") if path.is_file() else ()
    return {
        str(case.get("name")): next((trouble.get("type") for trouble in case if trouble.get("type")), None)
        for case in found
    }


def night(project: Project, capsys: pytest.CaptureFixture[str], *settings: str) -> Night:
    """One night in this process."""
    before = len(log(project))
    capsys.readouterr()
    arguments = [word for setting in settings for word in ("--set", setting)]
    code = main(["run", "night.yaml", *RECIPE, *arguments])
    return Night(code, capsys.readouterr().out, log(project)[before:], cases(project))


def gated(project: Project, capsys: pytest.CaptureFixture[str], *runs: str) -> Night:
    """The gate after a night."""
    before = len(log(project))
    capsys.readouterr()
    code = main(["gate", *(runs or ("latest",)), "--baseline", "baseline.json", *RECIPE])
    return Night(code, capsys.readouterr().out, log(project)[before:], cases(project))


@pytest.mark.slow
def test_a_week_of_nights(nights: Project, capsys: pytest.CaptureFixture[str]) -> None:
    good = night(nights, capsys)
    assert good.code == 0
    # 13 of the 25 odd numbers are 1 more than a multiple of 4: (1 + 12/25) / 2
    # 12 words of prompt and 3 of reply at 100 dollars a million, fifty times, are $0.075 or more
    assert good.line.startswith("night: correctness .74 (50 questions, 0 failed), $0.")
    assert good.line.endswith(": OK")
    assert good.counts == {
        "document-parsed": 1,  # before there is a run
        "run-started": 1,
        "question-answered": 50,
        "run-finished": 1,
        "run-reported": 1,
    }
    assert {event["run"] for event in good.events[1:]} == {nights.runs()[0].name}
    assert good.events[-1]["line"] == good.line
    assert good.events[-2]["cost"] == pytest.approx(sum(event.get("cost", 0) for event in good.events[2:52]))
    assert good.cases == {"Even": None, "Odd": None}

    for _ in range(2):
        night(nights, capsys)
    assert main(["gate", "night", "night~1", "night~2", "--save-baseline", "baseline.json"]) == 0

    same = night(nights, capsys)
    verdict = gated(nights, capsys)
    # nothing differs, and fifty questions cannot tell a change of two points
    assert (same.code, verdict.code) == (0, 0)
    assert verdict.line.startswith(f"{nights.runs()[-1].name}: correctness +0.000 [-0.")
    assert verdict.line.endswith("against 3 baseline runs: UNDECIDED")
    assert verdict.cases == {"Even": None, "Odd": None, "gate correctness": None}

    worse = night(nights, capsys, "generate.default=It is eight.")
    assert (worse.code, worse.cases) == (0, {"Even": None, "Odd": None})
    assert worse.line.startswith("night: correctness .26 (50 questions, 0 failed)")
    verdict = gated(nights, capsys)
    assert verdict.code == 100
    assert verdict.line.startswith(f"{nights.runs()[-1].name}: correctness -0.480 [")
    assert verdict.line.endswith("against 3 baseline runs: FAIL")
    (event,) = verdict.events
    assert (event["event"], event["level"], event["line"]) == ("gate-judged", "error", verdict.line)
    assert verdict.cases == {"Even": None, "Odd": None, "gate correctness": "FAIL"}

    unlucky = night(nights, capsys, 'generate.fail_on={"number 07": the server was busy}')
    assert unlucky.code == 0  # one of fifty is 2 %
    assert unlucky.line.startswith("night: correctness .72 (50 questions, 1 failed: the server was busy)")
    assert unlucky.line.endswith(": OK")
    assert unlucky.cases == {"Even": None, "Odd": None}
    (failed,) = [event for event in unlucky.events if event["event"] == "question-failed"]
    assert (failed["question"], failed["level"], failed["error"]) == ("q07", "error", "the server was busy")

    down = night(nights, capsys, 'generate.fail_on={"number": no answer}')
    assert down.code == 1
    assert down.line == "night: no answers (50 questions, 50 failed: no answer), cost not known, 0 s: FAILED"
    assert down.counts["question-failed"] == 50
    assert down.cases == {"Even": "failed", "Odd": "failed"}
    verdict = gated(nights, capsys)
    assert verdict.code == 1  # a server that was down is no model that got worse
    assert verdict.counts == {"command-failed": 1}
    assert verdict.cases == {"Even": "failed", "Odd": "failed", "gate": "DataError"}

    missing = night(
        nights, capsys, "generate={kind: openai-compatible, base_url: 'http://127.0.0.1:9/v1', model: m}"
    )
    assert missing.code == 2
    assert missing.line == "night: not finished, connection refused: FAILED"  # stderr has the sentence, once
    assert missing.counts == {"command-failed": 1}
    assert missing.cases == {"run": "ServerError"}

    again = night(nights, capsys)
    assert (again.code, again.line.partition("), ")[0]) == (0, good.line.partition("), ")[0])


def command(*arguments: str) -> list[str]:
    return ["run", "night.yaml", *RECIPE, *arguments]


@pytest.mark.slow
def test_a_full_disk(nights: Project, capsys: pytest.CaptureFixture[str]) -> None:
    pages = [f"{number}: {'It is seven, they say. ' * 16}" for number in range(60)]
    write_pdf(nights.path / "pdfs" / "a.pdf", pages)  # all of them in every record: a large journal
    nights.write("night.yaml", CONFIG.replace("top_k: 1", "top_k: 60"))
    assert night(nights, capsys).code == 0  # the documents are in the cache
    size = (nights.runs()[0] / "journal.jsonl").stat().st_size
    limit = max(path.stat().st_size for path in (nights.path / "cache").iterdir()) + size // 2
    assert limit < 3 * size  # the journal of four repeats does not fit, and all else does
    before = len(log(nights))
    with nights.start(
        *command("--repeats", "4"), file_size=limit, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        out, err = process.communicate(timeout=300)
    assert process.returncode == 1
    assert "journal.jsonl cannot be written: File too large" in err
    assert "defect" not in err
    last = out.splitlines()[-1]
    assert last == "night: not finished: FAILED"
    assert cases(nights) == {"run": "StoreError"}
    events = Counter(event["event"] for event in log(nights)[before:])
    assert (events["run-started"], events["run-finished"], events["command-failed"]) == (1, 1, 1)
    answered = events["question-answered"]
    assert 0 < answered < 4 * QUESTIONS
    capsys.readouterr()
    assert main(["run", "--resume", *RECIPE]) == 0  # there is room again
    rest = [event for event in log(nights) if event["event"] == "run-started"][-1]
    assert rest["answered_before"] >= answered
    assert "correctness .74 (50 questions x 4, 0 failed)" in capsys.readouterr().out.splitlines()[-1]


@pytest.mark.slow
def test_a_closed_pipe_does_not_stop_the_log_and_the_junit_file(nights: Project) -> None:
    """`fathoms run ... | tail`, and the `tail` is gone: the log and the JUnit file say what became of it."""
    with nights.start(*command(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        process.wait(timeout=120)
    assert process.returncode == 1
    assert cases(nights) == {"Even": None, "Odd": None}
    assert [event["event"] for event in log(nights)][-2:] == ["run-finished", "run-reported"]
    assert log(nights)[-1]["verdict"] == "OK"
    (run,) = nights.runs()
    assert (run / "report.md").is_file()


SLOW_PIPELINE = """\
import time

class Slow:
    def ingest(self, documents):
        print("reading", flush=True)
        time.sleep(60)

    def answer(self, question):
        return "It is seven."
"""


@pytest.mark.slow
def test_a_signal_before_the_first_question(nights: Project) -> None:
    nights.write("slow.py", SLOW_PIPELINE)
    nights.write(
        "night.yaml",
        "data: {questions: questions.json, documents: pdfs}\npipeline: {kind: python, target: 'slow:Slow'}\n",
    )
    with nights.start(*command(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        heard = next(line for line in process.stdout if "reading" in line)
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=120)
    assert process.returncode == 143, heard + said
    assert "night: not finished: INTERRUPTED" in said.splitlines()
    assert cases(nights) == {"run": "KeyboardInterrupt"}
    assert [event["event"] for event in log(nights)] == ["command-failed"]


@pytest.mark.slow
def test_a_killed_run_leaves_no_junit_file_and_resumes(
    nights: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    assert night(nights, capsys).code == 0
    before = len(log(nights))
    slow = command("--set", "generate.latency=0.1", "-j", "1")
    with nights.start(*slow, stdout=subprocess.PIPE) as process:
        while len(log(nights)) < before + 3 and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        said, _ = process.communicate(timeout=120)
    assert (process.returncode, said) == (-signal.SIGKILL, "")
    assert cases(nights) == {}  # that of the night before is gone: nobody takes it for this one's
    events = Counter(event["event"] for event in log(nights)[before:])
    assert events["question-answered"] >= 2
    assert (events["run-started"], events["run-finished"]) == (1, 0)
    capsys.readouterr()
    assert main(["run", "--resume", *RECIPE]) == 0
    assert "correctness .74 (50 questions, 0 failed)" in capsys.readouterr().out.splitlines()[-1]
    assert cases(nights) == {"Even": None, "Odd": None}


OWN = """\
name: night
data: {{questions: questions.json, documents: pdfs}}
pipeline: {{kind: http, url: "{address}/ask", headers: {{Authorization: "Bearer ${{NIGHT_KEY}}"}}}}
execution: {{first_wait: 0.01, longest_wait: 0.05}}
"""
KEY = "sk-planted-in-the-night-0815"


def test_retries_are_logged_without_secrets(
    nights: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NIGHT_KEY", KEY)
    seen: Counter[str] = Counter()

    def act(connection: Any, sent: Any) -> None:
        seen[sent["question"]] += 1
        busy = seen[sent["question"]] == 1
        said = {"error": f"busy, {KEY}"} if busy else {"answer": "It is seven."}
        connection.sendall(answer(said, "503 Service Unavailable" if busy else "200 OK"))

    with service(act) as made:
        nights.write("night.yaml", OWN.format(address=made.address))
        capsys.readouterr()
        code = main(["run", "night.yaml", *RECIPE, "--limit", "2"])
    assert code == 0
    again = [event for event in log(nights) if event["event"] == "question-retried"]
    assert {(event["question"], event["attempt"], event["level"]) for event in again} == {
        ("q00", 1, "warning"),
        ("q01", 1, "warning"),
    }
    assert {event["run"] for event in again} == {nights.runs()[0].name}
    assert all("503" in event["error"] for event in again)
    assert KEY not in (nights.path / "night.jsonl").read_text()
    assert [event["attempts"] for event in log(nights) if event["event"] == "question-answered"] == [2, 2]


def test_the_log_is_opened_anew_where_it_was_rotated(
    nights: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    assert night(nights, capsys).code == 0
    (nights.path / "night.jsonl").rename(nights.path / "night.jsonl.1")
    assert night(nights, capsys).code == 0
    assert len(log(nights)) == 53


def test_a_page_on_github(
    nights: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = nights.path / "summary.md"
    page.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    found = night(nights, capsys)
    text = page.read_text()
    assert text.startswith("before\n- night: correctness .74 (50 questions, 0 failed), ")
    assert "| Overall (macro) | Correctness | ↑ | 0.74 |" in text
    assert found.code == 0
    assert night(nights, capsys, "generate.nothing=1").code == 2
    assert "**night: not finished: FAILED**" in page.read_text()


@pytest.mark.parametrize("option", ["--log-file", "--junit"])
def test_unwritable_log_and_junit_files_are_reported_before_the_run(
    nights: Project, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    assert main(["run", "night.yaml", option, "nowhere/file"]) == 2
    assert f"{option} nowhere/file: cannot be written" in capsys.readouterr().err
    assert nights.runs() == []


def test_a_junit_file_that_cannot_be_written_is_no_success(
    nights: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever waits for it must not take its absence for a good night; the scores are there all the same."""
    nights.write(
        "own.py",
        "from pathlib import Path\n\n\ndef ask(question):\n"
        '    Path("night.xml").mkdir(exist_ok=True)\n    return {"answer": "seven"}\n',
    )
    nights.write(
        "night.yaml",
        "name: night\ndata: {questions: questions.json, documents: pdfs}\n"
        'pipeline: {kind: python, target: "own:ask"}\n',
    )
    assert main(["run", "night.yaml", *RECIPE]) == 1
    told = capsys.readouterr()
    assert "--junit night.xml: cannot be written" in told.err
    assert told.out.splitlines()[-1].endswith(": OK")
    assert (nights.runs()[0] / "summary.json").is_file()
    (nights.path / "other.xml").write_text("<html></html>")
    assert main(["gate", "latest", "--save-baseline", "baseline.json"]) == 0
    assert main(["run", "night.yaml"]) == 0
    assert main(["gate", "latest", "--baseline", "baseline.json", "--junit", "other.xml"]) == 1
    assert "other.xml: is not a JUnit file of fathoms and was left unchanged" in capsys.readouterr().err
    assert (nights.path / "other.xml").read_text() == "<html></html>"


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
@pytest.mark.slow
def test_progress_on_a_terminal(nights: Project) -> None:
    """Done, failed and cost stand beside the provider; a pipe and --quiet see nothing of it."""
    outer, inner = os.openpty()
    words = ["--set", "generate.latency=0.05", "--set", "generate.fail_on={number 07: boom}", "--no-score"]
    environment = {key: value for key, value in os.environ.items() if key != "CI"} | {"TERM": "xterm"}
    with Forked(
        command(*words),
        cwd=nights.path,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=inner,
    ) as process:
        os.close(inner)
        seen = b""
        while True:
            try:
                part = os.read(outer, 65536)
            except OSError:  # the other end is closed
                break
            seen += part
            if not part:
                break
    os.close(outer)
    assert process.returncode == 0
    text = seen.decode(errors="replace")
    for word in ("answer scripted", "50/50", "1 failed", "$0."):
        assert word in text
    piped = nights.fathoms(*command("--no-score"))
    assert piped.stderr.startswith("night: 50 questions of questions\nnight: correctness n/a (50 questions, ")
    assert len(piped.stderr.splitlines()) == 2
