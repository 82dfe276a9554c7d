"""The history of question sets: which runs used which version, and what differs between these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fathoms.compare.pairing import Difference, difference
from fathoms.corpora.questions import QuestionFile, read_questions
from fathoms.corpora.versions import Questions, questions_in, questions_of_run, text_of
from fathoms.runs.blobs import hash_of
from fathoms.runs.run import Run, read_summary
from fathoms.safety.inputs import expanded
from fathoms.types.run.manifest import Data, Manifest


@dataclass(frozen=True)
class RunOf:
    """A run that used a version: when it was made, and the file whose gold answers its scores rest on, `None`
    where that is the version itself."""

    id: str
    created: str | None
    scored_by: str | None


@dataclass(frozen=True)
class Version:
    """A version of a question set: the hash of its copy and of its file, `None` where not known, the runs
    that used it, and what differs from the version before, `None` of the first."""

    copy: str | None
    sha256: str | None
    questions: int
    runs: tuple[RunOf, ...]
    changes: Difference | None
    whole: bool = True


@dataclass(frozen=True)
class History:
    """The versions of the question set `name`, in the order in which runs first used them. `now` says how the
    file differs from the last one, `None` where no file was named."""

    name: str
    versions: tuple[Version, ...]
    now: Difference | None = None


def between(old: Questions, new: Questions) -> Difference:
    """Say what differs between two versions."""
    return difference(old.identities, new.identities, (old.name, new.name))


def histories(runs: Sequence[Run], file: Path | None = None) -> list[History]:
    """Return the history of each question set that runs used, oldest run first, or that of one file alone.
    Raises StoreError for a run that cannot be read."""
    manifests = {run.id: run.manifest for run in runs}
    read = None if file is None else read_questions(file)
    sets: dict[str, list[Run]] = {}
    for run in runs:
        manifest = manifests[run.id]
        if file is None or read is None or _used(manifest, file, read):
            sets.setdefault(manifest.data.name or "questions" if file is None else str(file), []).append(run)
    if file is not None and read is not None:
        return [_history(str(file), sets.get(str(file), []), manifests, questions_in(str(file), read))]
    return [_history(name, some, manifests, None) for name, some in sets.items()]


def _used(manifest: Manifest, file: Path, read: QuestionFile) -> bool:
    """Return whether a run used a file: that of its configuration, or one with the same content; of an
    imported run, one with its name."""
    data = manifest.data
    if data.questions_sha256 == read.sha256 or data.questions_copy == hash_of(
        text_of(read.questions, read.derived)
    ):
        return True
    if manifest.imported:
        return data.name == file.stem
    section = manifest.config.get("data")
    named = section.get("questions") if isinstance(section, Mapping) else None
    return (
        isinstance(named, str) and (Path(manifest.folder) / expanded(Path(named))).resolve() == file.resolve()
    )


def _history(
    name: str, runs: Sequence[Run], manifests: Mapping[str, Manifest], now: Questions | None
) -> History:
    """Return the versions that runs used, each with its difference from the one before."""
    keys = _keys({run.id: manifests[run.id].data for run in runs})
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(keys[run.id], []).append(run)
    versions: list[Version] = []
    before: Questions | None = None
    for some in groups.values():
        data = manifests[some[0].id].data
        found = questions_of_run(some[0])
        changes = None if before is None else between(before, found)
        used = tuple(_run_of(run, manifests[run.id]) for run in some)
        count = data.questions or len(found.identities)
        versions.append(
            Version(data.questions_copy, data.questions_sha256, count, used, changes, found.whole)
        )
        before = found
    return History(name, tuple(versions), between(before, now) if before and now else None)


def _run_of(run: Run, manifest: Manifest) -> RunOf:
    summary = read_summary(run.path)
    return RunOf(run.id, manifest.created, summary.questions.file if summary and summary.questions else None)


def _keys(runs: Mapping[str, Data]) -> dict[str, str]:
    """Return by run what its version is known by: its copy, or that of a run with the same file, or else the
    file. A run that says nothing of either is alone."""
    copies = {data.questions_sha256: data.questions_copy for data in runs.values() if data.questions_copy}
    return {
        run: data.questions_copy or copies.get(data.questions_sha256 or "") or data.questions_sha256 or run
        for run, data in runs.items()
    }
