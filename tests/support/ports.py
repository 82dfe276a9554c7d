"""Ports on which nobody listens, and nobody will until the test itself does."""

from __future__ import annotations

import random
import socket
import subprocess
import time
from pathlib import Path

import pytest

_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port() -> int:
    """A port that the system gives to nobody who asks for any, such as a server of another test."""
    first = int(_RANGE.read_text().split()[0]) if _RANGE.exists() else 32768
    low = max(1024, first - 16384)
    for port in random.SystemRandom().sample(range(low, first), min(100, first - low)):
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def wait_for(port: int, process: subprocess.Popen[str], seconds: float = 300) -> None:
    """Until somebody listens; reading PDFs takes a while on a busy machine."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.2)
    pytest.fail("the service did not start")
