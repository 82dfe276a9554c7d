"""Disks that are full or closed: found before the first question, and in the middle nothing is corrupted."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support import faulty
from tests.support.fault_server.server import ScriptedServer
from tests.support.measured import unmeasured
from tests.support.project import Project
from tests.support.raw_service import answer, service

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="limits, capabilities and tmpfs are Linux's"),
]

QUESTIONS = 150
CONCURRENCY = 4
TEXTS = [f"What is <{number}>?" for number in range(QUESTIONS)]
_DROP_FROM_BOUNDING_SET, _DAC_OVERRIDE, _DAC_READ_SEARCH = 24, 1, 2


def without_power() -> None:
    """In a child process: root, too, is then kept out by the permissions of files."""
    libc = ctypes.CDLL(None)
    for capability in (_DAC_OVERRIDE, _DAC_READ_SEARCH):
        libc.prctl(_DROP_FROM_BOUNDING_SET, capability, 0, 0, 0)


def limited(project: Project, size: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line where no file grows beyond so many bytes, as if there the disk ended."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with project.start(*arguments, file_size=size, **streams) as process:
        out, err = process.communicate(timeout=300)
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)


def powerless(project: Project, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line in a process that permissions keep out."""
    return subprocess.run(
        [sys.executable, "-m", "fathoms", *arguments],
        cwd=project.path,
        env={**unmeasured(), "FATHOMS_CACHE_DIR": str(project.path / "cache")},
        preexec_fn=without_power,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return faulty.faulty_project(tmp_path, TEXTS)


@pytest.fixture
def server(project: Project) -> Iterator[ScriptedServer]:
    """A server that nothing is wrong with."""
    with ScriptedServer(default=faulty.SAID, latency=0.005).running() as running:
        project.write("faulty.yaml", faulty.config("http", running.address, at_once=CONCURRENCY))
        yield running


@contextmanager
def tmpfs(path: Path, size: str) -> Iterator[Callable[[str], None]]:
    """A disk of so many bytes at `path`; what it gives makes it larger. Skips where nobody may mount."""
    path.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(path)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("no right to mount a disk of its own")
    try:
        yield (
            lambda larger: (
                subprocess.run(["mount", "-o", f"remount,size={larger}", str(path)], check=True) and None
            )
        )
    finally:
        subprocess.run(["umount", str(path)], check=True)


def finish(project: Project, run: Path) -> dict[str, Any]:
    """Resume it, and its summary then."""
    done = project.fathoms("run", "--resume", str(run))
    assert done.returncode == 0, done.stderr
    found = faulty.summary(run)
    assert found["complete"]
    assert found["counts"]["answered"] == QUESTIONS
    assert found["profiles"]["fathoms"]["overall"]["correctness"] == 1
    return found


def test_a_closed_folder_is_found_before_the_first_question(project: Project, server: ScriptedServer) -> None:
    out = project.path / "runs"
    out.mkdir(mode=0o555)
    done = powerless(project, "run", "faulty.yaml")
    assert (done.returncode, server.requests) == (1, 0)
    assert done.stderr.splitlines()[-1] == "fathoms: runs cannot be written: Permission denied"
    assert list(out.iterdir()) == []


def test_a_closed_cache_is_found_before_the_first_question(project: Project, server: ScriptedServer) -> None:
    (project.path / "cache").mkdir(mode=0o555)
    done = powerless(project, "run", "faulty.yaml")
    assert (done.returncode, server.requests) == (1, 0)
    assert "the cache in" in done.stderr
    assert project.runs() == []


def test_a_full_disk_is_found_before_the_first_question(project: Project, server: ScriptedServer) -> None:
    with tmpfs(project.path / "runs", "64k"):
        (project.path / "runs" / "filler").write_bytes(b"x" * (64 * 1024 - 8192))
        with pytest.raises(OSError, match="No space"):
            (project.path / "runs" / "more").write_bytes(b"x" * 16384)
        done = project.fathoms("run", "faulty.yaml")
        assert (done.returncode, server.requests) == (1, 0)
        assert "cannot be written: No space left on device" in done.stderr
        assert project.runs() == []


def test_no_file_can_grow_at_all(project: Project, server: ScriptedServer) -> None:
    done = limited(project, 0, "run", "faulty.yaml")
    assert (done.returncode, server.requests) == (1, 0)
    assert project.runs() == []


def test_a_disk_that_fills_in_the_middle(project: Project, server: ScriptedServer) -> None:
    with tmpfs(project.path / "runs", "64k") as resize:
        done = project.fathoms("run", "faulty.yaml")
        assert done.returncode == 1
        assert "cannot be written: No space left on device" in done.stderr
        (run,) = project.runs()
        count = len(faulty.journal(run))
        assert 0 < count < QUESTIONS
        assert server.requests <= count + 2 * CONCURRENCY
        for text, view in faulty.views(run).items():  # none is half a file
            assert view["answer"]["text"] == faulty.SAID, text
        requests = server.requests
        resize("64m")
        finish(project, run)
        assert server.requests == requests + QUESTIONS - count


def test_a_journal_that_cannot_grow(project: Project, server: ScriptedServer) -> None:
    """The same without a right to mount: a limit on the size of files."""
    done = limited(project, 64 * 1024, "run", "faulty.yaml")
    assert done.returncode == 1
    assert "journal.jsonl cannot be written: File too large" in done.stderr
    (run,) = project.runs()
    count = len(faulty.journal(run))
    assert 0 < count < QUESTIONS
    requests = server.requests
    assert requests <= count + 2 * CONCURRENCY
    finish(project, run)
    assert server.requests == requests + QUESTIONS - count


def test_a_folder_that_is_closed_in_the_middle(project: Project) -> None:
    def act(connection: Any, sent: Any) -> None:
        if sent["question"] == TEXTS[40]:
            (run,) = project.runs()
            (run / "questions").mkdir(0o555)
        connection.sendall(answer({"answer": faulty.SAID}))

    with service(act) as one_server:
        common = faulty.COMMON.format(question_timeout=60, max_attempts=1, first_wait=0.01, give_up_after=600)
        project.write("faulty.yaml", f'{common}pipeline: {{kind: http, url: "{one_server.address}/ask"}}\n')
        done = powerless(project, "run", "faulty.yaml")
        (run,) = project.runs()
        (run / "questions").chmod(0o755)
        assert done.returncode == 1
        assert "cannot be written: Permission denied" in done.stderr
        assert len(faulty.journal(run)) == len(one_server.requests) == QUESTIONS
        finish(project, run)
        assert len(one_server.requests) == QUESTIONS  # nothing is asked again, only scored
    assert len(faulty.views(run)) == QUESTIONS


def test_scores_that_cannot_be_written(project: Project, server: ScriptedServer) -> None:
    """All answers are there, and no room for the page: nothing is asked again, only scored."""
    assert project.fathoms("run", "faulty.yaml", "--limit", "8", "--no-score").returncode == 0
    done = limited(project, 16 * 1024, "score", "latest")
    assert done.returncode == 1, done.stdout
    assert done.stderr.splitlines()[-1].endswith("cannot be written: File too large")
    assert project.fathoms("score", "latest").returncode == 0
    (run,) = project.runs()
    assert faulty.summary(run)["counts"]["answered"] == server.requests == 8
    assert (run / "report.html").stat().st_size > 16 * 1024
