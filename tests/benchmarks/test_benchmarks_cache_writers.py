"""Processes that write to the cache of one machine at once: none loses a value to the lock of the others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

WRITERS = Path(__file__).resolve().parents[2] / "benchmarks" / "cache_writers.py"


@pytest.mark.slow  # 63 processes
def test_32_writers_lose_nothing() -> None:
    command = [sys.executable, str(WRITERS), "--values", "64", "--size", "4000"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    rows = [line.split("|")[1:-1] for line in done.stdout.splitlines() if line.startswith("|")][2:]
    counts = [(int(row[0]), int(row[1]), int(row[-1])) for row in rows]
    assert counts == [(writers, 64, 0) for writers in (1, 2, 4, 8, 16, 32)]
