"""The campaign of faulty servers finds nothing wrong where nothing is, and runs a few of its trials."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks" / "campaigns"))

from servers import KEY, VARIABLE, trial

pytestmark = pytest.mark.slow  # processes of their own


@pytest.mark.parametrize(
    ("client", "fault", "code"),
    [
        pytest.param("build", "none", 0, marks=pytest.mark.long),
        ("judge", "none", 0),
        ("http", "key-echo", 1),
        ("reranker", "error-besides", 1),
    ],
)
def test_trials_of_the_campaign(monkeypatch: pytest.MonkeyPatch, client: str, fault: str, code: int) -> None:
    monkeypatch.setenv(VARIABLE, KEY)
    result, wrong = trial(1, client, fault, True)
    assert (result.code, wrong) == (code, []), result.said
