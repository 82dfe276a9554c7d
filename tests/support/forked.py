"""Runs `fathoms` commands in processes that are forked from one that has imported the package already.

A new interpreter imports for two seconds before its command begins; a fork takes some milliseconds. The
command still is a process of its own, with its own folder, environment, output and exit code. What depends on
the start of the interpreter itself (how long the imports take, what they load, hash seeds) is tested with new
interpreters: `Project.fathoms(..., fresh=True)`.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.fork_server import ANSWER
from tests.support.measured import is_measured, variables

ROOT = Path(__file__).resolve().parents[2]

SHELL = """\
#!{python} -IS
import json, os, socket, sys

with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    socket.send_fds(server, [b"."], [0, 1, 2])
    order = {{"arguments": sys.argv[1:], "folder": os.getcwd(), "environment": {{**os.environ}}}}
    order |= {{"coverage": {{}}, "file_size": None, "memory": None}}
    server.sendall(json.dumps(order).encode() + b"\\n")
    process, code = server.makefile().read().split()
sys.exit(int(code))
"""


class Forked(subprocess.Popen[str]):
    """`python -m fathoms ARGUMENTS` in a fork, with the options and methods of `subprocess.Popen`.

    It differs where a process is begun and waited for, because this process is not its parent.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        file_size: int | None = None,
        memory: int | None = None,
        coverage: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        """No file of the command grows beyond `file_size` bytes, nor its address space beyond `memory`.
        `coverage` has the variables with which it measures itself; one that may be killed does not."""
        self._order = {"arguments": [*arguments], "file_size": file_size, "memory": memory}
        self._order["coverage"] = {**(coverage or {})}
        super().__init__(["fathoms", *arguments], text=True, **options)

    def _execute_child(self, *options: Any) -> None:
        _, _, preparing, _, _, folder, environment, *_ = options
        assert preparing is None, "nothing can be run in a fork before its command"
        pipes = options[10:16]
        streams = [own if own != -1 else number for number, own in enumerate((pipes[0], pipes[3], pipes[5]))]
        environment = {**(os.environ if environment is None else environment)}
        order = {**self._order, "folder": os.fspath(folder or Path.cwd()), "environment": environment}
        self._server = socket.socket(socket.AF_UNIX)
        self._server.connect(_address())
        socket.send_fds(self._server, [b"."], streams)
        self._server.sendall(json.dumps(order).encode() + b"\n")
        self.pid = self._answer()
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]

    def _answer(self) -> int:
        """The next number from the process that forks."""
        answer = self._server.recv(ANSWER, socket.MSG_WAITALL)
        assert answer, "the process that commands are forked from has ended"
        return int(answer)

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:
        if self.returncode is None and select.select([self._server], [], [], 0)[0]:
            self.returncode = self._answer()
            self._server.close()
        return self.returncode

    def _wait(self, timeout: float | None) -> int | None:
        if self.returncode is None and not select.select([self._server], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return self._internal_poll()


def run_forked(
    arguments: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    timeout: float,
    typed: str | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run `python -m fathoms ARGUMENTS` in a folder, like `subprocess.run` with its output captured.

    What is `typed` comes over a pipe; without it, the input is empty.
    """
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    streams["stdin"] = subprocess.DEVNULL if typed is None else subprocess.PIPE
    coverage = variables(is_measured(arguments))
    with Forked(arguments, coverage=coverage, cwd=folder, env=environment, **streams) as process:
        try:
            out, err = process.communicate(typed, timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(["fathoms", *arguments], process.returncode, out, err)


def write_command(folder: Path) -> None:
    """Write an executable `fathoms` into a folder, for lines of a shell. It runs each command in a fork."""
    path = folder / "fathoms"
    path.write_text(SHELL.format(python=sys.executable, address=_address()))
    path.chmod(0o755)


@functools.cache
def _address() -> str:
    """Where the process to fork from listens. It ends when its input is closed, as this process ends."""
    folder = tempfile.mkdtemp(prefix="fathoms-fork-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    address = f"{folder}/socket"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        _processes.append(
            subprocess.Popen(
                [sys.executable, "-m", "tests.support.fork_server", str(listening.fileno())],
                cwd=ROOT,
                env={**os.environ, "PYTHONWARNINGS": "error"},
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                pass_fds=[listening.fileno()],
            )
        )
    return address


_processes: list[subprocess.Popen[bytes]] = []
"""The process to fork from, once there is one."""
