"""What is printed and written for golden runs is what it was; `python -m tests.golden` shows differences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.golden.outputs import (
    QUICK,
    SHARED,
    difference,
    names,
    outputs,
    quick_outputs,
    shared_outputs,
    workplace,
)

MOST = 40
ALIKE = (
    *("settings-closed-book", "settings-oracle", "distractors-gold", "distractors-distractors"),
    *("injected-injected", "matrix-one", "promptfoo-echo", "qwen3_llm_only-annotator-1"),
    *("qwen_72b_cag-annotator-1", "other", "hybrid", "oracle", "bm25", "whole-document", "matrix-words"),
)
"""Runs that have a run like them beside them; what a sweep of them prints is compared below."""


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A copy of the runs, as the current folder of all tests here."""
    with workplace() as folder:
        yield folder


def check(name: str, found: Iterable[tuple[str, str]]) -> None:
    """Fail with the first lines of all differences."""
    lines = [line for file, text in found for line in difference(f"{name}/{file}", text)]
    assert not lines, "\n".join(lines[:MOST])


@pytest.mark.parametrize("name", QUICK)
def test_some_runs_are_shown_and_scored_as_ever(name: str, place: Path) -> None:
    check(name, quick_outputs(name, place))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if name in ALIKE else ()) for name in names()]
)
def test_outputs_of_a_run(name: str, place: Path) -> None:
    check(name, outputs(name, place))


@pytest.mark.slow
def test_outputs_of_several_runs(place: Path) -> None:
    check(SHARED, shared_outputs(place))
