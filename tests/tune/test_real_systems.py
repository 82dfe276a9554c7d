"""Races between real systems, against a test that knows everything beforehand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MATRIX = ROOT.parent / "shared" / "data" / "mmdocrag" / "quote-f1-by-question.csv"
needs_matrix = pytest.mark.skipif(not MATRIX.exists(), reason="../shared/data is not here")


def measured(matrix: Path, *options: str) -> dict[str, float]:
    command = [sys.executable, "benchmarks/tuning", str(matrix), "--json", *options]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return dict(json.loads(found.stdout))


@needs_matrix
@pytest.mark.slow
def test_24_systems_and_2000_questions() -> None:
    """The goal is 1.2 times the bound, and the best chosen in 95 %."""
    found = measured(MATRIX, "--draws", "12")
    assert found["calls"] <= 1.2 * found["bound"]
    assert found["errors"] <= 0.05


def test_a_category_column_is_read_as_such(tmp_path: Path) -> None:
    rows = [f"{number},{'ab'[number % 2]},1,0" for number in range(40)]
    (tmp_path / "m.csv").write_text("\n".join(["id,category,x,y", *rows]))
    found = measured(tmp_path / "m.csv", "--draws", "3")
    assert found["errors"] == 0
    assert found["calls"] < 0.5
