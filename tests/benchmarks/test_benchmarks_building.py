"""The benchmark of a whole build still makes every question that it asks for, by the prompts of today."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

WHOLE = Path(__file__).resolve().parents[2] / "benchmarks" / "building" / "whole.py"


@pytest.mark.long
def test_a_whole_build_passes_with_its_scripted_model(tmp_path: Path) -> None:
    command = [sys.executable, str(WHOLE), "--pages", "40", "--work", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "questions 2.0" in done.stdout
