"""Runs on disk, as fathoms stores them, for pages about several of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fathoms.runs.run import Run
from fathoms.runs.views import view_names
from tests.support.report_runs import example_runs
from tests.support.run_in_memory import RunInMemory


def stored(folder: Path, run: Run, id: str) -> Path:
    """Write a run as fathoms does, without checksums."""
    path = folder / id
    (path / "questions").mkdir(parents=True)
    wanted = [view["question"]["id"] for view in run.views()]
    manifest = {"data": {"asked_ids": wanted}, **run.manifest.plain(), "name": run.summary.plain()["name"]}
    (path / "manifest.json").write_text(json.dumps({"model": "a-model", **manifest, "run": id}))
    (path / "summary.json").write_text(json.dumps({**run.summary.plain(), "run": id}))
    for view in run.views():
        name = view_names(view["question"]["id"])[0]
        (path / "questions" / name).write_text(json.dumps({**view, "run": id}))
    return path


def three_runs(folder: Path) -> list[str]:
    """alpha, beta and gamma, of 120 questions each; their ids."""
    runs = example_runs()
    ids = [f"20260102T03040{at}000Z_{run.summary_json['name']}_0a1b2c3d" for at, run in enumerate(runs)]
    for id, run in zip(ids, runs, strict=True):
        stored(folder, run, id)
    return ids


MANIFEST: dict[str, Any] = {
    "data": {"name": "made", "questions_sha256": "a", "asked_ids": ["q-000", "q-001"]}
    | {"documents": {"mill.pdf": {"sha256": "m"}}},
    "model": "small-1",
    "served": {},
    "versions": {"fathoms": "0.1.0"},
    "fingerprints": {"retrieve": "r", "generate": "g"},
}


def night(folder: Path, number: int, rule: str, changes: dict[str, Any], **summary: Any) -> Run:
    """A night with the answers of alpha (right on 3 of 6) or beta (right on 2 of 6)."""
    [run] = example_runs([rule], 6)
    manifest = {**run.manifest_json, **MANIFEST, **changes, "created": f"2026-01-0{number}T03:00:00+00:00"}
    run_in_memory = RunInMemory(
        "night", manifest, {**run.summary_json, **summary, "name": "night"}, run.views
    )
    return Run(stored(folder, run_in_memory, f"2026010{number}T030000000Z_night_0a1b2c3d"))
