"""Runs in memory, from the JSON of their files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

from fathoms.paths import safe_name
from fathoms.runs.folder import typed
from fathoms.runs.run import Run
from fathoms.types.run.manifest import Manifest
from fathoms.types.run.summary import Summary

Json = dict[str, Any]


class RunInMemory(Run):
    """A run that has the JSON of its files in memory. Its manifest and summary are read when they are first
    needed, and a test may change them until then."""

    def __init__(
        self,
        id: str,
        manifest: Json,
        summary: Json,
        views: Callable[[], Iterable[Json]],
        path: Path | None = None,
    ) -> None:
        super().__init__(path or Path("in memory") / safe_name(id), views=views)
        self.id = id
        self.manifest_json = {**manifest, "run": id}
        self.summary_json = summary

    @property
    def is_scored(self) -> bool:
        return True

    @cached_property
    def manifest(self) -> Manifest:
        return typed(Manifest, self.manifest_json, f"manifest.json of {self.id}", whole=False)

    @cached_property
    def summary(self) -> Summary:
        return typed(Summary, self.summary_json, f"summary.json of {self.id}", whole=False)


def changed(run: Run, manifest: Json | None = None, summary: Json | None = None, **parts: Any) -> RunInMemory:
    """A run with other JSON of its manifest or summary, and other parts."""
    views = parts.pop("views", run.views)
    run_in_memory = RunInMemory(
        run.id, manifest or json_of(run)[0], summary or json_of(run)[1], views, run.path
    )
    for name, part in parts.items():
        setattr(run_in_memory, name, part)
    return run_in_memory


def json_of(run: Run) -> tuple[Json, Json]:
    """The JSON of a run's manifest and summary."""
    if isinstance(run, RunInMemory):
        return run.manifest_json, run.summary_json
    return run.manifest.plain(), run.summary.plain()
