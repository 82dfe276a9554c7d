"""A real Ray cluster of several machines, as far as Ray can tell: raylets in a namespace of their own.

Ray binds all interfaces, so it runs where there is none but loopback. `python -m tests.support.ray_cluster`
is the process in the namespace: it reads requests from stdin, one JSON list a line, and answers each with a
line. `RayCluster` is the other end.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.support.measured import unmeasured

ROOT = Path(__file__).parents[2]
_NEW_USER, _NEW_NET = 0x10000000, 0x40000000
_SET_FLAGS, _UP = 0x8914, 0x1 | 0x40
_QUICK = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_timeout_ms": 2000}
"""How the head of the cluster looks for dead machines: in three seconds, rather than half a minute. One
that is only slow, on a busy machine, has ten."""


class RayCluster:
    """The cluster, and commands that run beside it. `why_not` says why there is none on this machine.
    `imported` are folders from which each of the first machines, the head first, imports before others."""

    def __init__(
        self, machines: int = 2, environment: Mapping[str, str] | None = None, imported: Sequence[str] = ()
    ) -> None:
        self.why_not: str | None = None
        if find_spec("ray") is None:
            self.why_not = "Ray is not installed (fathoms[ray])"
            return
        environment = {
            **(environment or {}),
            **unmeasured(),  # workers are killed before they could write what they measured
            "PYTHONPATH": str(ROOT),
            "RAY_TMPDIR": tempfile.mkdtemp(prefix="ray-"),  # short, because sockets lie below it
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
            "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.ray_cluster", str(machines), *imported],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
            start_new_session=True,
        )
        reported = self._answer()
        self.why_not = reported.get("why not")
        self.address = reported.get("address", "")

    def start(self, arguments: list[str], folder: Path, environment: Mapping[str, str]) -> int:
        """Start fathoms with arguments in a folder; returns a number for `wait` and `kill`."""
        return int(self._ask("start", arguments, str(folder), dict(environment))["command"])

    def has_ended(self, command: int) -> bool:
        """Whether a command has ended."""
        return bool(self._ask("poll", command)["ended"])

    def wait(self, command: int) -> subprocess.CompletedProcess[str]:
        """Wait until a command has ended."""
        output = self._ask("wait", command)
        return subprocess.CompletedProcess([], output["code"], output["out"], output["err"])

    def kill(self, command: int) -> None:
        """Kill a command by SIGKILL."""
        self._ask("kill", command)

    def kill_node(self) -> None:
        """Kill the raylet of a machine other than the head by SIGKILL; its workers die with it."""
        self._ask("kill node")

    def close(self) -> None:
        """End the cluster."""
        if hasattr(self, "_process"):
            self._process.stdin.close()  # type: ignore[union-attr]
            self._process.wait(60)
            self._process.stdout.close()  # type: ignore[union-attr]

    def _ask(self, *request: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process of the cluster ended with {self._process.wait(60)}")
        found: dict[str, Any] = json.loads(line)
        return found


def cached(folder: Path) -> dict[Any, bytes]:
    """All documents, chunks and vectors in a cache, and all files beside it."""
    kinds = ("document", "document-facts", "text", "chunks", "chunk-facts", "embedding")
    with closing(sqlite3.connect(folder / "cache.sqlite")) as database:
        rows = database.execute("SELECT kind, key, value FROM sealed").fetchall()
    found: dict[Any, bytes] = {(kind, key): value for kind, key, value in rows if kind in kinds}
    for name in ("indexes", "images"):
        files = [path for path in (folder / name).rglob("*") if path.is_file()]
        found |= {path.relative_to(folder): path.read_bytes() for path in files}
    return found


def enter_namespace() -> str | None:
    """Move this process into a network namespace with nothing but loopback; returns why it cannot."""
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    if libc.unshare(_NEW_NET if user == 0 else _NEW_NET | _NEW_USER) != 0:
        return f"network namespaces are not allowed here ({os.strerror(ctypes.get_errno())})"
    if user != 0:  # who we are goes on
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh", b"lo", _UP))
    return None


def serve(machines: int, imported: Sequence[str]) -> None:
    """Start a cluster of so many machines, which import from folders first, and do what is asked."""
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Ray prints

    def tell(**messages: Any) -> None:
        print(json.dumps(messages), file=output, flush=True)

    if (why_not := enter_namespace()) is not None:
        shutil.rmtree(os.environ["RAY_TMPDIR"])
        tell(**{"why not": why_not})
        return
    from ray.cluster_utils import Cluster

    options: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 100 * 2**20, "include_dashboard": False}
    # nobody reads the logs by Ray, or asks it for more machines
    head = {**options, "include_log_monitor": False, "no_monitor": True}
    head |= {"node_ip_address": "127.0.0.1", "_system_config": _QUICK}
    paths = [
        {"env_vars": {"PYTHONPATH": f"{one}{os.pathsep}{ROOT}" if one else str(ROOT)}} for one in imported
    ]
    paths += [{}] * (machines - len(paths))
    cluster = Cluster(initialize_head=True, head_node_args={**head, **paths[0]})
    others = [cluster.add_node(**options, **paths[number]) for number in range(1, machines)]
    tell(address=cluster.address)
    commands: list[subprocess.Popen[str]] = []
    for line in sys.stdin:
        request, *details = json.loads(line)
        if request == "start":
            arguments, folder, environment = details
            commands.append(
                subprocess.Popen(
                    [sys.executable, "-m", "fathoms", *arguments],
                    cwd=folder,
                    env={**os.environ, **environment},
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
            tell(command=len(commands) - 1)
        elif request == "wait":
            command = commands[details[0]]
            out, err = command.communicate()
            tell(code=command.returncode, out=out, err=err)
        elif request == "poll":
            tell(ended=commands[details[0]].poll() is not None)
        elif request == "kill":
            commands[details[0]].kill()
            tell()
        elif request == "kill node":
            raylet = others.pop().all_processes["raylet"][0].process
            os.kill(raylet.pid, signal.SIGKILL)
            tell()
    # the other end has closed the pipe, or is gone
    threading.Timer(30, os._exit, [1]).start()
    for command in commands:
        command.kill()
    cluster.shutdown()
    shutil.rmtree(os.environ["RAY_TMPDIR"], ignore_errors=True)
    os._exit(0)


if __name__ == "__main__":
    serve(int(sys.argv[1]), sys.argv[2:])
