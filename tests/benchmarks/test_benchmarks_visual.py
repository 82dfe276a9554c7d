"""The benchmark of page vectors still runs, and searches in a new process find the same pages."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

VISUAL = Path(__file__).resolve().parents[2] / "benchmarks" / "visual"


@pytest.mark.long
def test_the_benchmark_runs(tmp_path: Path) -> None:
    small = ["--pages=12", "--vectors=40", "--queries=3", "--rounds=1", "--top-k=3", f"--work={tmp_path}"]
    done = subprocess.run([sys.executable, str(VISUAL), *small], capture_output=True, text=True, timeout=600)
    assert done.returncode in (0, 1), done.stderr  # 1: such a small search takes more than twice the products
    rows = [line.strip("|").split("|") for line in done.stdout.splitlines() if line.startswith("|")]
    cells = {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows}
    assert done.stdout.count("| yes |") == 4  # the same pages in a new process, in each format
    assert float(cells["bare"][2]) == 1
    # the last table: recall@1, recall@3, seconds, share of the bytes
    assert cells["float32"][:2] == ["1.000", "1.000"]
    assert float(cells["binary"][3]) == pytest.approx(1 / 32, abs=1e-3)
    assert any(re.fullmatch(r"pooled by 3 \(\d+ ms a page\)", name) for name in cells)
    assert cells["two stages, 3 candidates"][:2] <= ["1.000", "1.000"]
    assert not list(tmp_path.iterdir())
