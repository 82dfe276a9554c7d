"""`fathoms view` as a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.support.project import Project
from tests.support.view import three_runs

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("one", [False, True])
def test_the_page_is_served_until_ctrl_c(tmp_path: Path, one: bool) -> None:
    [*_, newest] = three_runs(tmp_path / "runs")
    named = f"runs/{newest}" if one else "runs"
    command = [sys.executable, "-m", "fathoms", "view", named, "--no-browser"]
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout
            address = process.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:")
            assert address.endswith(f"/run/{newest}/") is one
            with urlopen(address) as reply:
                assert newest in reply.read().decode()
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, err) == (0, "")


def test_what_is_no_folder_is_refused(project: Project) -> None:
    done = project.fathoms("view", "nothing", "--no-browser")
    assert done.returncode == 2
    assert done.stderr.startswith("fathoms: nothing is not a folder")
