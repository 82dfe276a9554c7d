"""Races on disk: what is needed to go on with one, and the configurations of its candidates."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from fathoms.errors import StoreError, UsageError
from fathoms.experiment.reopening import edited, job_of, unfinished
from fathoms.paths import write_atomic
from fathoms.runner.reopen import Reopened
from fathoms.runner.runner import Job
from fathoms.runs.run import Run
from fathoms.safety.inputs import parse_json, read_text
from fathoms.tune.result import Settings

FOLDER = ".tune"
"""The folder beside the runs with one file for each race."""
_SCHEMA = 1
Config = Mapping[str, Any]
"""The keys of a configuration."""


@dataclass(frozen=True)
class Saved:
    """A race on disk: its settings, and its runs in the order of the candidates. `configs` are their
    configurations as people wrote them; older files have none."""

    path: Path
    settings: Settings
    runs: tuple[Run, ...]
    retrieval: tuple[float | None, ...] = ()
    configs: tuple[Config, ...] = ()

    @property
    def id(self) -> str:
        """The id that the runs share as a sweep."""
        return self.path.stem

    def config_of(self, run: Run) -> Config:
        """The configuration of a candidate without what nobody wrote, if that is known."""
        known = zip((one.id for one in self.runs), self.configs, strict=False)
        return dict(known).get(run.id, run.manifest.config)

    def jobs(self) -> list[Job]:
        """The candidates, with the questions as they are now; raises UsageError and StoreError."""
        return [job_of(run) for run in self.runs]

    def is_edited(self, jobs: Sequence[Job]) -> bool:
        """Whether questions have changed since, so that the answers are not comparable."""
        return any(edited(run, job) is not None for run, job in zip(self.runs, jobs, strict=True))

    def unfinished(self, jobs: Sequence[Job]) -> list[Reopened]:
        """What the candidates have left to ask."""
        return [unfinished(run, job) for run, job in zip(self.runs, jobs, strict=True)]


def as_written(job: Job) -> Config:
    """The configuration of a job as a person wrote it: without defaults."""
    found = job.experiment
    whole = found.model_dump(mode="json", exclude_unset=True) if isinstance(found, BaseModel) else {}
    return {key: value for key, value in whole.items() if value not in ({}, [])}


def save(
    out: Path,
    sweep: str,
    settings: Settings,
    runs: Sequence[Run],
    retrieval: Sequence[float | None] = (),
    configs: Sequence[Config] = (),
) -> Saved:
    """Write what is needed to go on with a race; raises StoreError. `retrieval` are the figures of
    `retrieval_figures`, which the race went by."""
    path = out / FOLDER / f"{sweep}.json"
    data = {
        "schema": _SCHEMA,
        "settings": {name: getattr(settings, name) for name in settings.__dataclass_fields__},
        "runs": [run.id for run in runs],
        "retrieval": list(retrieval),
        "configs": list(configs),
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, (json.dumps(data, indent=2) + "\n").encode())
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error
    return Saved(path, settings, tuple(runs), tuple(retrieval), tuple(configs))


def find(out: Path, reference: str) -> Saved:
    """Find a race by its id or file, or the `latest`; raises UsageError and StoreError."""
    path = Path(reference)
    if path.suffix != ".json":
        known = sorted((out / FOLDER).glob("*.json"))
        if not known:
            raise UsageError(f"{out} holds no race: 'fathoms tune CONFIG --matrix KEY=V1,V2' starts one")
        named = known if reference == "latest" else [one for one in known if one.stem == reference]
        if not named:
            raise UsageError(f"no race '{reference}' in {out}; the latest is {known[-1].stem}")
        path = named[-1]
    found = parse_json(read_text(path), str(path))
    try:
        settings = Settings(**found["settings"])
        runs = tuple(Run(path.parent.parent / str(name)) for name in found["runs"])
        retrieval = tuple(None if one is None else float(one) for one in found.get("retrieval", ()))
        configs = tuple(dict(one) for one in found.get("configs", ()))
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{path} is not a race that fathoms wrote") from error
    return Saved(path, settings, runs, retrieval, configs)
