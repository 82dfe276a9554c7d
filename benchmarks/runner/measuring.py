"""Measures one process, reads what the server recorded about it, and describes the machine."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Cost:
    """Of one process with its children: seconds by the clock, seconds of CPU, the largest one's peak memory
    in MB, when it was started (`time.time()`), and what it printed."""

    wall: float
    cpu: float
    peak: float
    started: float
    output: str


def run(command: Sequence[str], folder: Path, env: Mapping[str, str] | None = None) -> Cost:
    """Run a command to its end; one that fails ends the benchmark with what it said."""
    log = folder / "output.log"
    with log.open("wb") as output:
        started, clock = time.time(), time.perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, env={**os.environ, **(env or {})}, stdout=output, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - clock
        process.returncode = os.waitstatus_to_exitcode(status)
    said = log.read_text(errors="replace")
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}\nended with {process.returncode}:\n{said[-4000:]}")
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, started, said)


class Server:
    """The server of this benchmark, in its own process."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.base_url = f"{address}/v1"

    def reset(self, latency: float) -> None:
        """Count from nothing, with this latency in seconds."""
        self._call("/reset", json.dumps({"latency": latency}).encode())

    def stats(self, answers: int) -> dict[str, Any]:
        """What it saw; ends the benchmark where it did not answer as often as it should have."""
        found = self._call("/stats")
        if not found["requests"] == found["responses"] == answers:
            raise SystemExit(f"the server saw {found}, and {answers} requests were expected")
        return found

    def _call(self, path: str, body: bytes | None = None) -> dict[str, Any]:
        """One of its own paths."""
        with urllib.request.urlopen(self.address + path, body, timeout=10) as response:
            found: dict[str, Any] = json.loads(response.read())
        return found


@contextmanager
def serving() -> Iterator[Server]:
    """The server, for as long as the block lasts."""
    process = subprocess.Popen([sys.executable, str(HERE / "server.py")], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield Server(process.stdout.readline().strip())
    finally:
        process.terminate()
        process.communicate()


def machine() -> str:
    """CPU, cores, memory, system, Python and load, in a sentence."""
    model = next(_values("/proc/cpuinfo", "model name"), platform.processor() or "unknown CPU")
    memory = int(next(_values("/proc/meminfo", "MemTotal"), "0 kB").split()[0]) / 2**20
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    return (
        f"{model}, {os.cpu_count()} cores, {memory:.0f} GB of memory, {platform.system()}"
        f" {platform.release()}, Python {platform.python_version()}; load before (1, 5, 15 minutes): {load}"
    )


def _values(path: str, key: str) -> Iterator[str]:
    """The values of a key in a file of `key : value` lines, none where there is no such file."""
    if Path(path).is_file():
        for line in Path(path).read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == key:
                yield value.strip()
