"""Resuming a stopped run from its own directory, only where nothing has changed since it was started."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from fathoms.corpora import Corpus
from fathoms.errors import UsageError
from fathoms.pipeline.prepared import Prepared
from fathoms.pipeline.runnable import Runnable
from fathoms.runner.manifest import versions
from fathoms.runs.documents import listed_documents
from fathoms.runs.records import Flaw
from fathoms.runs.run import Run
from fathoms.types import Question
from fathoms.types.run.manifest import Manifest


class Turn(NamedTuple):
    """A question in one of its repeats; `repeat` counts from 0."""

    question: Question
    repeat: int = 0


@dataclass(frozen=True)
class Reopened:
    """A run's configuration and data, and the questions and repeats that have no answer yet (`missing`)."""

    run: Run
    experiment: Runnable
    corpus: Corpus
    folder: Path
    questions: tuple[Question, ...]
    missing: tuple[Turn, ...]
    repeats: int = 1
    flaws: tuple[Flaw, ...] = ()
    """The lines of the run's journal that cannot be used."""

    @property
    def retrieval_only(self) -> bool:
        """Whether the run only searches."""
        return self.experiment.depth is not None


def unanswered(run: Run, questions: Sequence[Question], repeats: int) -> tuple[Turn, ...]:
    """The questions without an answer, once per repeat. Failed questions count as unanswered."""
    answered = {key for key, entry in run.records.entries().items() if not entry.failed}
    turns = (Turn(question, repeat) for question in questions for repeat in range(repeats))
    return tuple(turn for turn in turns if (turn.question.id, turn.repeat) not in answered)


def require_same(run: Run, prepared: Prepared) -> None:
    """Raise UsageError that names what has changed, if any stage differs from when the run was started."""
    manifest = run.manifest
    before = manifest.fingerprints
    stage = next((name for name, state in prepared.fingerprints.items() if before.get(name) != state), None)
    if stage is None and before.keys() == prepared.fingerprints.keys():
        return
    found = [*_documents(run, manifest, prepared), *_versions(manifest)]
    raise changed(run, found or [f"the stage '{stage}'"])


def _documents(run: Run, manifest: Manifest, prepared: Prepared) -> Iterator[str]:
    """Describe each document that has changed."""
    before = {name: entry.sha256 for name, entry in listed_documents(run, manifest).items()}
    now = {document.id: document.sha256 for document in prepared.stated}
    for name in sorted(before.keys() | now.keys()):
        if before.get(name) != now.get(name):
            change = "is new" if name not in before else "is gone" if name not in now else "has changed"
            yield f"{name} {change}"


def _versions(manifest: Manifest) -> Iterator[str]:
    """Describe each package whose version has changed."""
    before, now = manifest.versions, versions()
    for name in sorted(before.keys() | now.keys()):
        if before.get(name) != now.get(name):
            yield f"{name} was {before.get(name, 'not there')}, is {now.get(name, 'not there')}"


def changed(run: Run, what: list[str]) -> UsageError:
    """The error for a run that has changed."""
    return UsageError(
        f"{run.id} cannot be resumed, because its answers would no longer be comparable; changed since:"
        f" {'; '.join(what)}. Start a new run"
    )
