"""The simulations of the statistics, as a module."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def simulation(root: Path) -> ModuleType:
    """The script that simulates years of nights."""
    spec = importlib.util.spec_from_file_location("simulate", root / "benchmarks" / "simulate_statistics.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
