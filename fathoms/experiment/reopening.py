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
from fathoms.runs.run import Run
from fathoms.runs.trust import demands, is_signed, refuse


def reopen(run: Run) -> Reopened:
    """Read a run back in order to resume it.

    Raises UsageError where its questions have changed, and for a run from elsewhere whose configuration names
    code, servers, variables or files, before any of these is used. Raises StoreError where the run cannot be
    resumed at all.
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
    corpus = corpora.load(experiment.data, folder)
    if corpus.questions_sha256 != data.questions_sha256:
        raise changed(run, [f"the questions of {corpus.name}"])
    asked = tuple(corpus.select(ids=data.asked_ids))
    if (pictures := pictures_of(experiment, asked)) and data.pictures_sha256 != pictures:
        raise changed(run, [f"the pictures of the quotes of {corpus.name}"])
    flaws = tuple(run.records.contents().flaws)
    missing = unanswered(run, asked, manifest.repeats)
    return Reopened(run, experiment, corpus, folder, asked, missing, manifest.repeats, flaws)


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
