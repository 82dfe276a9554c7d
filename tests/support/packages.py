"""Skipping tests where an optional package is missing, without importing it."""

from __future__ import annotations

from importlib.util import find_spec

import pytest


def skip_without(*packages: str) -> None:
    """Skip the test, or the module of tests that is being collected, where a package is not installed.

    `pytest.importorskip` would import the package, which takes seconds, even where none of the tests is
    chosen, or where only the commands that they start need it.
    """
    for package in packages:
        try:
            found = find_spec(package)
        except ModuleNotFoundError:  # the parent of a submodule is missing
            found = None
        if found is None:
            pytest.skip(f"{package} is not installed", allow_module_level=True)
