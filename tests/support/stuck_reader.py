"""A reader that never comes back: it starts a process of its own, and then a library holds Python's lock."""

from __future__ import annotations

import ctypes
import os
import subprocess
from pathlib import Path
from typing import Any


def read(path: str, options: dict[str, Any]) -> dict[str, Any]:
    """Write down both process ids and sleep; no other thread of Python can run meanwhile."""
    grandchild = subprocess.Popen(["sleep", "300"])
    note = Path(path).with_suffix(".new")
    note.write_text(f"{os.getpid()} {grandchild.pid}")
    note.rename(Path(path).with_suffix(".pids"))
    ctypes.PyDLL(None).sleep(300)
    return {}
