"""Reading what a program shows on a pseudo-terminal."""

from __future__ import annotations

import os
import select
import time


def read_until(terminal: int, wanted: bytes) -> bytes:
    """What the terminal shows up to some words."""
    seen, deadline = b"", time.monotonic() + 120
    while wanted not in seen:
        assert time.monotonic() < deadline, seen
        if select.select([terminal], [], [], 1)[0]:
            seen += os.read(terminal, 4096)
    return seen
