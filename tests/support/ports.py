"""Ports on which nobody listens, and nobody will until the test itself does."""

from __future__ import annotations

import random
import socket
from pathlib import Path

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
