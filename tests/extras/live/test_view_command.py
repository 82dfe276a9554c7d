"""`fathoms view` as a process of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from pathlib import Path
from urllib.parse import quote
from urllib.request import urlopen

import pytest

from tests.support.forked import Forked
from tests.support.project import Project
from tests.support.view import three_runs

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("one", "ends"), [(False, signal.SIGINT), (True, signal.SIGTERM)])
def test_the_page_is_served_until_it_is_ended(tmp_path: Path, one: bool, ends: signal.Signals) -> None:
    [*_, newest] = three_runs(tmp_path / "runs")
    renamed = 'mine, "the" newest'  # by its owner
    (tmp_path / "runs" / newest).rename(tmp_path / "runs" / renamed)
    (tmp_path / "temporary").mkdir()
    named = f"runs/{renamed}" if one else "runs"
    environment = {**os.environ, "PYTHONWARNINGS": "error", "TMPDIR": str(tmp_path / "temporary")}
    with Forked(
        ["view", named, "--no-browser"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            assert process.stdout
            address = process.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:")
            assert address.endswith(f"/run/{quote(renamed)}/") is one
            with urlopen(address) as reply:
                assert (newest if one else json.dumps(renamed)) in reply.read().decode()
            process.send_signal(ends)
            _, err = process.communicate(timeout=300)
        finally:
            process.kill()
    assert (process.returncode, err) == (0, "")
    assert list((tmp_path / "temporary").iterdir()) == []  # the file that leads the browser to the page


def test_what_is_no_folder_is_refused(project: Project) -> None:
    done = project.fathoms("view", "nothing", "--no-browser")
    assert done.returncode == 2
    assert done.stderr.startswith("fathoms: nothing is not a folder")


@pytest.mark.parametrize("command", [["view", "."], ["questions", "edit", "questions.json"]])
def test_a_port_that_is_taken_is_refused(project: Project, command: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = project.fathoms(*command, "--port", str(port), "--no-browser")
    said = f"fathoms: port {port} cannot be used: Address already in use: name another with --port\n"
    assert (done.returncode, done.stderr) == (2, said)


def test_a_log_that_cannot_be_read_is_told_at_once(project: Project) -> None:
    done = project.fathoms("view", ".", "--log", "nothing.jsonl", "--no-browser")
    assert done.returncode == 2
    assert done.stderr.startswith("fathoms: nothing.jsonl cannot be read")
