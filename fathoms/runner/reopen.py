"""Resuming a stopped run from its own directory, only where nothing has changed since it was started."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from fathoms import corpora
from fathoms.config import Source, validate
from fathoms.corpora import Corpus
from fathoms.errors import StoreError, UsageError
from fathoms.pipeline.experiment import (
    AnyExperiment,
    Experiment,
    ExternalExperiment,
    Prepared,
    SearchExperiment,
)
from fathoms.pipeline.external.mapping import Response
from fathoms.runner.manifest import pictures_of, versions
from fathoms.runs.store import Flaw, Run
from fathoms.runs.trust import demands, is_signed, refuse
from fathoms.types import Question


class Turn(NamedTuple):
    """A question in one of its repeats; `repeat` counts from 0."""

    question: Question
    repeat: int = 0


@dataclass(frozen=True)
class Reopened:
    """A run's configuration and data, and the questions and repeats that have no answer yet (`missing`)."""

    run: Run
    experiment: AnyExperiment
    corpus: Corpus
    folder: Path
    asked: tuple[Question, ...]
    missing: tuple[Turn, ...]
    repeats: int = 1
    flaws: tuple[Flaw, ...] = ()
    """The lines of the run's journal that cannot be used."""

    @property
    def retrieval_only(self) -> bool:
        """Whether the run only searches."""
        return isinstance(self.experiment, SearchExperiment)


def reopen(run: Run) -> Reopened:
    """Read a run back in order to resume it.

    Raises UsageError where its questions have changed, and for a run from elsewhere whose configuration names
    code, servers, variables or files, before any of these is used. Raises StoreError where the run cannot be
    resumed at all.
    """
    manifest = run.manifest()
    config, data = manifest.get("config") or {}, manifest.get("data") or {}
    if "asked_ids" not in data or "folder" not in manifest:
        raise StoreError(
            f"{run.path} cannot be resumed: its manifest does not say which questions were asked"
        )
    folder = Path(manifest["folder"])
    source = Source(str(run.path / "manifest.json"), _as_written(config))
    trusted = is_signed(manifest)
    read: AnyExperiment
    if manifest.get("retrieval_only"):
        read = validate(SearchExperiment, source, trusted=trusted)
    elif "pipeline" in config:
        read = validate(ExternalExperiment, source, trusted=trusted)
    else:
        read = validate(Experiment, source, trusted=trusted)
    if not trusted:
        refuse(run.id, manifest, demands(read, ("config",)))
    experiment = read.at(folder)  # this imports a Python pipeline
    corpus = corpora.load(experiment.data, folder)
    if corpus.questions_sha256 != data.get("questions_sha256"):
        raise _changed(run, [f"the questions of {corpus.name}"])
    asked = tuple(corpus.select(ids=tuple(data["asked_ids"])))
    if any(data.get(name) != found for name, found in pictures_of(experiment, asked).items()):
        raise _changed(run, [f"the pictures of the quotes of {corpus.name}"])
    repeats = manifest.get("repeats") or 1
    flaws = tuple(run.contents().flaws)
    return Reopened(run, experiment, corpus, folder, asked, unanswered(run, asked, repeats), repeats, flaws)


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


def unanswered(run: Run, asked: Sequence[Question], repeats: int) -> tuple[Turn, ...]:
    """The questions without an answer, once per repeat. Failed questions count as unanswered."""
    answered = {key for key, entry in run.entries().items() if not entry.failed}
    turns = (Turn(question, repeat) for question in asked for repeat in range(repeats))
    return tuple(turn for turn in turns if (turn.question.id, turn.repeat) not in answered)


def require_same(run: Run, prepared: Prepared) -> None:
    """Raise UsageError that names what has changed, if any stage differs from when the run was started."""
    manifest = run.manifest()
    before = manifest.get("fingerprints") or {}
    stage = next((name for name, state in prepared.fingerprints.items() if before.get(name) != state), None)
    if stage is None and before.keys() == prepared.fingerprints.keys():
        return
    found = [*_documents(manifest, prepared), *_versions(manifest)]
    raise _changed(run, found or [f"the stage '{stage}'"])


def _documents(manifest: Mapping[str, Any], prepared: Prepared) -> Iterator[str]:
    """Describe each document that has changed."""
    before = {name: entry["sha256"] for name, entry in manifest["data"]["documents"].items()}
    now = {document.id: document.sha256 for document in prepared.stated}
    for name in sorted(before.keys() | now.keys()):
        if before.get(name) != now.get(name):
            change = "is new" if name not in before else "is gone" if name not in now else "has changed"
            yield f"{name} {change}"


def _versions(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Describe each package whose version has changed."""
    before, now = manifest.get("versions") or {}, versions()
    for name in sorted(before.keys() | now.keys()):
        if before.get(name) != now.get(name):
            yield f"{name} was {before.get(name, 'not there')}, is {now.get(name, 'not there')}"


def _changed(run: Run, what: list[str]) -> UsageError:
    """The error for a run that has changed."""
    return UsageError(
        f"{run.id} cannot be resumed, because its answers would no longer be comparable; changed since:"
        f" {'; '.join(what)}. Start a new run"
    )
