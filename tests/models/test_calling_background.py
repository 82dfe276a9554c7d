"""A process that used the API, whose calls run on a loop in the background, closes what they opened."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
from fathoms.models.calling.background import run_in_background

async def read():
    try:
        yield 9
    finally:
        print("closed")

async def first():
    kept.append(read())
    return await anext(kept[-1])

kept = []
print(run_in_background(first()), run_in_background(first()))
"""


@pytest.mark.slow  # a new interpreter
def test_a_process_that_used_the_loop_ends() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "9 9\nclosed\nclosed\n", "")
