"""A run a combination of settings."""

from __future__ import annotations

import json

import pytest
from support import Project

from fathoms.cli.asking import combinations
from fathoms.errors import UsageError


def test_every_combination_once() -> None:
    assert list(combinations([])) == [{}]
    assert list(combinations(["a=1,x:2", "b=[1, 2],null"])) == [
        {"a": 1, "b": [1, 2]},
        {"a": 1, "b": None},
        {"a": "x:2", "b": [1, 2]},
        {"a": "x:2", "b": None},
    ]


@pytest.mark.parametrize("axis", ["a", "a=", "=1,2", "a=[1,2"])
def test_what_is_no_axis(axis: str) -> None:
    with pytest.raises(UsageError, match="want KEY=V1,V2"):
        list(combinations([axis]))


def test_a_run_a_cell(project: Project) -> None:
    done = project.fathoms(
        "run", "tiny.yaml", "--matrix", "retrieve.top_k=1,2", "--matrix", "generate.model=small,large"
    )
    assert done.returncode == 0, done.stderr
    manifests = [json.loads((run / "manifest.json").read_text()) for run in project.runs()]
    cells = [(m["config"]["retrieve"]["top_k"], m["config"]["generate"]["model"]) for m in manifests]
    assert cells == [(1, "small"), (1, "large"), (2, "small"), (2, "large")]
    # each has its values in its name, so that the table can be read and the next night finds its own
    assert [m["name"] for m in manifests][:2] == ["tiny top_k=1 model=small", "tiny top_k=1 model=large"]
    assert "top_k=2" in done.stdout
    assert project.json("show", "tiny top_k=2 model=large")["manifest"]["name"] == manifests[3]["name"]
    assert all(m["totals"]["answers"] == 4 for m in manifests)
