"""Reading a stopped run back in order to resume it: its experiment, its data, and what has no answer yet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fathoms import corpora
from fathoms.config import Source, validate
from fathoms.errors import StoreError
from fathoms.experiment.kinds import AnyExperiment, Experiment, ExternalExperiment, SearchExperiment
from fathoms.pipeline.external.mapping import Response
from fathoms.runner.manifest import pictures_of
from fathoms.runner.reopen import Reopened, changed, unanswered
from fathoms.runner.runner import Job
from fathoms.runs.run import Run
from fathoms.runs.trust import demands, is_signed, refuse


def reopen(run: Run) -> Reopened:
    """Read a run back in order to resume it; raises what `job_of` raises, and UsageError where its questions
    have changed."""
    return unfinished(run, job_of(run))


def job_of(run: Run) -> Job:
    """What a run was made of, with its questions as they are now.

    Raises UsageError for a run from elsewhere whose configuration names code, servers, variables or files,
    before any of these is used. Raises StoreError where the run cannot be resumed at all.
    """
    manifest = run.manifest
    config, data = manifest.config, manifest.data
    if "asked_ids" not in data.model_fields_set or "folder" not in manifest.model_fields_set:
        raise StoreError(
            f"{run.path} cannot be resumed: its manifest does not say which questions were asked"
        )
    folder = Path(manifest.folder)
    source = Source(str(run.path / "manifest.json"), _as_written(config))
    trusted = is_signed(manifest)
    read: AnyExperiment
    if manifest.retrieval_only:
        read = validate(SearchExperiment, source, trusted=trusted)
    elif "pipeline" in config:
        read = validate(ExternalExperiment, source, trusted=trusted)
    else:
        read = validate(Experiment, source, trusted=trusted)
    if not trusted:
        refuse(run.id, manifest, demands(read, ("config",)))
    experiment = read.at(folder)  # this imports a Python pipeline
    return Job(experiment, corpora.load(experiment.data, folder), folder, manifest.sweep.cell)


def edited(run: Run, job: Job) -> str | None:
    """What of the questions of a run has changed since it was started, if anything has."""
    data, corpus = run.manifest.data, job.corpus
    if corpus.questions_sha256 != data.questions_sha256:
        return f"the questions of {corpus.name}"
    pictures = pictures_of(job.experiment, corpus.select(ids=data.asked_ids))
    return (
        f"the pictures of the quotes of {corpus.name}"
        if pictures not in (None, data.pictures_sha256)
        else None
    )


def unfinished(run: Run, job: Job) -> Reopened:
    """What a run of this job has left to ask; raises UsageError where its questions have changed."""
    if (what := edited(run, job)) is not None:
        raise changed(run, [what])
    manifest = run.manifest
    questions = tuple(job.corpus.select(ids=manifest.data.asked_ids))
    missing, flaws = unanswered(run, questions, manifest.repeats), tuple(run.records.contents().flaws)
    return Reopened(run, job.experiment, job.corpus, job.folder, questions, missing, manifest.repeats, flaws)


def _as_written(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration without the default paths into the replies of a service, which the manifest spells
    out: only a path that the configuration named is missed where it matches nothing."""
    pipeline = config.get("pipeline")
    if not (isinstance(pipeline, dict) and isinstance(pipeline.get("response"), dict)):
        return dict(config)
    response = _without(pipeline["response"], Response().model_dump(mode="json"))
    return {**config, "pipeline": {**pipeline, "response": response}}


def _without(values: Mapping[str, Any], usual: Mapping[str, Any]) -> dict[str, Any]:
    """A mapping without what is the same in the usual one."""
    return {
        key: _without(value, usual[key])
        if isinstance(value, dict) and isinstance(usual.get(key), dict)
        else value
        for key, value in values.items()
        if key not in usual or value != usual[key]
    }
