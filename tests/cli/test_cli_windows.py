"""fathoms on Windows, played by tests/support/windows in processes of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.project import CONFIG, QUESTIONS, Project

pytestmark = pytest.mark.slow  # processes of their own
ROOT = Path(__file__).parents[2]
IMPORT_ALL = """
import importlib, pkgutil, sys, fathoms
for module in pkgutil.walk_packages(fathoms.__path__, "fathoms."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print(len(sys.modules))
"""
COMMANDS = """
import sys
from fathoms.cli import main
for line in sys.stdin:
    code = main(line.split())
    if code:
        sys.exit(f"{line.strip()}: {code}")
"""


def start(project: Project, *command: str) -> subprocess.Popen[str]:
    """Start Python in the folder of a project, with a system that has what Windows has."""
    path = os.pathsep.join(str(folder) for folder in (ROOT / "tests" / "support" / "windows", ROOT))
    own = {"PYTHONPATH": path, "FATHOMS_TEST_FOLDER": str(project.path), "FATHOMS_CACHE_DIR": "cache"}
    own["FATHOMS_KEY_FILE"] = str(project.path / "signing.key")
    return subprocess.Popen(
        [sys.executable, *command],
        cwd=project.path,
        env={**os.environ, **own},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def done(project: Project, code: str, typed: str = "") -> str:
    """What a program prints there."""
    with start(project, "-c", code) as process:
        out, err = process.communicate(typed, timeout=300)
    assert process.returncode == 0, err
    return out


@pytest.mark.long
def test_every_module_is_imported(project: Project) -> None:
    assert int(done(project, IMPORT_ALL)) > 500


def test_the_commands_of_a_first_day_work_with_names_that_windows_keeps(project: Project) -> None:
    questions = json.loads(json.dumps(QUESTIONS))
    names = ("CON", "aux.1", "a" * 200)
    for row, name in zip(questions["Text-Only"] + questions["Tables"], names, strict=False):
        row["id"] = name
    project.write("questions.json", json.dumps(questions))
    project.write("tiny.yaml", CONFIG.replace("name: tiny", f"name: {'n' * 60}"))
    lines = (
        "init new",
        "validate tiny.yaml",
        "run tiny.yaml",
        "score latest",
        "show latest --question CON",
        "gate latest --min correctness=0",
        "run tiny.yaml",
        "export csv latest --to tables",
        "report --site site",
    )
    done(project, COMMANDS, "\n".join(lines))
    files = project.runs()[0].glob("questions/*.json")
    assert {json.loads(path.read_text())["question"]["id"] for path in files} >= set(names)


def test_ctrl_c_keeps_what_was_answered_and_scores_it(project: Project) -> None:
    slow = ("-j", "1", "--set", "generate.latency=1.5")
    with start(project, "-m", "fathoms", "run", "tiny.yaml", *slow) as process:
        journal = project.path / "runs"
        until = time.monotonic() + 120
        while not any(path.stat().st_size for path in journal.glob("*/journal.jsonl")):
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    (run,) = project.runs()
    summary = json.loads((run / "summary.json").read_text())
    assert 1 <= len(list(run.glob("questions/*.json"))) < 4
    assert not summary["complete"]


PARENT = """
import sys
from fathoms.safety.children import Child
child = Child(sys.argv[1], stderr="inherit")
child.send({})
print(child.receive(60)[0], flush=True)
child.receive(600)
"""
BUSY = """
import os, time
def serve(process):
    for request in process.requests():
        process.answer(os.getpid())
        time.sleep(600)
"""


def test_a_child_that_works_ends_with_its_killed_parent(project: Project) -> None:
    project.write("busy.py", BUSY)
    with start(project, "-c", PARENT, "busy.py") as process:
        assert process.stdout
        child = int(process.stdout.readline())
        process.kill()
        process.wait()
        until = time.monotonic() + 60
        while Path(f"/proc/{child}/stat").exists() and _state(child) != "Z":
            assert time.monotonic() < until, "the child works on"
            time.sleep(0.05)


def _state(process: int) -> str:
    """The state of a process, as Linux has it; `Z` for one that has ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"
