"""Scoring the shares of a run as work for an executor: this process, child processes, or a cluster.

Child processes have the run, so they get shares as entries of its journal. The workers of a cluster have no
disk in common with this machine. So a share is sent with the lines of the journal and the texts that scoring
reads of it, and the files that scoring writes come back.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from itertools import count, islice
from pathlib import Path
from platform import python_version
from queue import SimpleQueue
from typing import Any, NamedTuple

from fathoms.component import package_version
from fathoms.errors import FathomsError
from fathoms.executors import Executor, OnPage, Ready, Work
from fathoms.metrics.ingestion import COMPARED, ParsedTexts
from fathoms.paths import temporary_folder
from fathoms.runs.blobs import Texts
from fathoms.runs.documents import StoredDocuments
from fathoms.runs.folder import read_file
from fathoms.runs.journal import JOURNAL
from fathoms.runs.run import Run
from fathoms.safety.children import Child, ChildEndedError, Children
from fathoms.scoring.questions import QuestionScorer
from fathoms.scoring.shares import Share, ShareScorer
from fathoms.scoring.stored_verdicts import Found
from fathoms.types.run.manifest import KnownDocument, Manifest

_MORE = 50
"""So many documents are sent beyond those that are compared with every question, in place of gold ones."""


class ScoredShare(NamedTuple):
    """What the summary needs of a share, and its question files by their names if a machine without the run
    wrote them. `found` is `None` where this process has to score the share, and empty where verdicts are
    missing."""

    found: dict[str, Any] | None = None
    views: Mapping[str, bytes] = {}


def score_shares(
    scorer: QuestionScorer, shares: Sequence[Share], work: ScoreWork, executor: Executor
) -> Found | None:
    """Have an executor score shares, and add them up in their order, in whatever order they are done. Returns
    the verdicts that were found.

    What nobody else could score is scored here, which raises what may have ended a process. `None`, and
    `scorer` is of no use any more, where the work scores from the verdicts of the run and any are missing:
    then the run has to be judged first.
    """
    verdicts, is_judged = Found(), work.setup["judged"]
    waiting: dict[int, dict[str, Any] | None] = {}
    turn = 0

    def add(at: int, outcome: ScoredShare, seconds: float) -> None:
        nonlocal turn
        if is_judged and not outcome.found:
            raise _LackingError
        waiting[at] = outcome.found
        while turn in waiting:
            found, share = waiting.pop(turn), shares[turn]
            turn += 1
            if found is None:
                scorer.score(*share)
                continue
            scorer.extend(found)
            if is_judged:
                verdicts.add(found["verdicts_of_judge"])

    try:
        executor.run(work, shares, add, keep=False)
    except _LackingError:
        return None
    return verdicts


class _LackingError(Exception):
    """Verdicts are missing, so no further share needs to be scored."""


@dataclass(frozen=True)
class ScoreWork(Work[Share, ScoredShare]):
    """Scores shares of a run, by what `ScoreJob.setup` returned. On this machine, the processes do it that
    were started (`shares.working`); without any, each share is left to this process. A worker's files of a
    share are written into the run as they arrive, and are not in its outcome.
    """

    run: Run
    setup: Mapping[str, Any]
    processes: Sequence[Child] = ()

    def most(self, items: Sequence[Share]) -> int:
        """Return the number of processes."""
        return len(self.processes)

    def open(self, children: Children, workers: int) -> _Processes:
        """Return what has the processes score shares."""
        for child in self.processes:
            children.adopt(child)
        return _Processes(self.processes, self.setup)

    def identity(self) -> dict[str, Any]:
        """The versions of what computes the scores."""
        return _versions()

    def for_workers(self) -> SentWork:
        """The work with the stored verdicts, and the documents that every question is compared with.
        Documents that are missing here count as missing everywhere."""
        manifest, known = self._manifest, self._documents
        data = manifest.data.model_copy(update={"documents": known, "document_list": None})
        setup = {**self.setup, "manifest": manifest.model_copy(update={"data": data}).plain()}
        names = ParsedTexts(StoredDocuments(self.run, manifest)).sample((), COMPARED + _MORE)
        stored = self._stored(text for name in names if (text := known[name].text))
        files = {f"blobs/{name}.gz": data for name, data in stored.items()}
        folder = self.run.path / "verdicts"
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if path.is_file() and not path.is_symlink():
                files[f"verdicts/{path.name}"] = read_file(self.run.path, f"verdicts/{path.name}")
        return SentWork(self.run.id, setup, files)

    def sent(self, item: Share) -> SentShare:
        """The share with all that scoring reads of it."""
        lines = self.run.records.lines(entry for entries in item.questions for entry in entries)
        wanted: dict[str, None] = {}
        for line in lines:
            wanted |= dict.fromkeys(self._read_by(json.loads(line)))
        return SentShare(item, lines, self._stored(wanted))

    def received(self, item: Share, returned: ScoredShare) -> ScoredShare:
        """Write the files of the share into the run."""
        if returned.found:
            self.run.files.take(item.file, returned.views)
        return ScoredShare(returned.found)

    @cached_property
    def _manifest(self) -> Manifest:
        """The manifest of the run."""
        return Manifest.model_validate(self.setup["manifest"])

    @cached_property
    def _documents(self) -> dict[str, KnownDocument]:
        """What the manifest says of each document whose text is there."""
        documents = StoredDocuments(self.run, self._manifest)
        return {name: documents.listed[name] for name in documents}

    def _read_by(self, value: Any) -> Iterator[str]:
        """Yield the hashes of the texts that a part of a record names, and of the documents."""
        if isinstance(value, str):
            if (entry := self._documents.get(value)) and entry.text:
                yield entry.text
        elif isinstance(value, dict):
            if isinstance(name := value.get("blob"), str):
                yield name
            for part in value.values():
                yield from self._read_by(part)
        elif isinstance(value, list):
            for part in value:
                yield from self._read_by(part)

    def _stored(self, names: Iterator[str] | Mapping[str, None]) -> dict[str, bytes]:
        """Return texts as they are stored, without those that cannot be read."""
        found = {name: self.run.texts.stored(name) for name in names}
        return {name: data for name, data in found.items() if data is not None}


class _Processes:
    """Child processes that score shares: each is free, or has one share."""

    def __init__(self, processes: Sequence[Child], setup: Mapping[str, Any]) -> None:
        self._left = count(len(processes), -1)
        self._free: SimpleQueue[Child | None] = SimpleQueue()
        for child in processes:
            child.send(setup)
            self._free.put(child)
        self._count_down()

    def do(self, item: Share, on_page: OnPage) -> Ready[ScoredShare]:
        """Have the next free process score a share; one that ends is not used again."""
        child = self._free.get()
        if child is None:
            self._free.put(None)
            return Ready(ScoredShare())
        child.send(item)
        try:
            found = child.receive()[0]
        except ChildEndedError:
            self._count_down()
            return Ready(ScoredShare())
        self._free.put(child)
        return Ready(ScoredShare(found))

    def _count_down(self) -> None:
        """Count the processes that are left; without any, nobody must wait for one."""
        if next(self._left) == 0:
            self._free.put(None)

    def close(self) -> None:
        """Do nothing: the processes end with `shares.working`."""


class SentShare(NamedTuple):
    """A share with its lines of the journal, one after another, and with texts as they are stored, by their
    hashes."""

    share: Share
    lines: list[bytes]
    texts: dict[str, bytes]


@dataclass(frozen=True)
class SentWork(Work[Any, ScoredShare]):
    """Scores shares of a run that is on another machine. `files` are those of the run that all shares need,
    by their names."""

    run: str
    setup: Mapping[str, Any]
    files: Mapping[str, bytes]

    def open(self, children: Children, workers: int) -> _SentShareScorer:
        """Return what scores shares on a worker."""
        return _SentShareScorer(self)

    def identity(self) -> dict[str, Any]:
        """The versions of what computes the scores."""
        return _versions()


def _versions() -> dict[str, Any]:
    """Return the versions of what computes the scores; those of Python differ in their tables of Unicode."""
    versions = {name: package_version(name) for name in ("numpy", "scipy", "ir-measures")}
    return {"versions": {"Python": python_version(), **versions}}


class _SentShareScorer:
    """Scores shares on a worker, in a temporary folder that has as much of the run as was sent."""

    def __init__(self, work: SentWork) -> None:
        self._open = ExitStack()
        # a worker that is killed leaves it behind, and the next one on the machine removes it
        folder = self._open.enter_context(temporary_folder(Path(tempfile.gettempdir()), 0o700))
        self._run = Run(folder / work.run)
        self._run.texts = _SentTexts(self._run.path)
        for name, data in work.files.items():
            self._write(name, data)
        self._scorer = ShareScorer(self._run, work.setup)

    def do(self, item: SentShare, on_page: OnPage) -> Callable[[], ScoredShare]:
        """Return what scores a share."""
        return lambda: self._scored(item)

    def close(self) -> None:
        """Remove the temporary folder of the share."""
        self._open.close()

    def _scored(self, item: SentShare) -> ScoredShare:
        """Score a share. Where something cannot be read, the machine that has the run says what."""
        for name, data in item.texts.items():
            self._write(f"blobs/{name}.gz", data)
        self._write(JOURNAL, b"".join(item.lines))
        share, offset = item.share, 0
        lines = iter(item.lines)
        questions = []
        for entries in share.questions:
            placed = []
            for entry, line in zip(entries, islice(lines, len(entries)), strict=True):
                placed.append(entry._replace(offset=offset))
                offset += len(line)
            questions.append(placed)
        try:
            found = self._scorer.score(Share(questions, share.file))
        except FathomsError:
            return ScoredShare()
        files = list((self._run.path / "questions").glob("*"))
        views = {path.name: path.read_bytes() for path in files}
        for path in files:
            path.unlink()
        return ScoredShare(found, views)

    def _write(self, name: str, data: bytes) -> None:
        """Write a file of the run, unless it is a text that is there already."""
        path = self._run.path / name
        if name.startswith("blobs/") and path.exists():
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


class _SentTexts(Texts):
    """The texts of a part of a run. A document that was not sent is not missing from the run, so it is an
    error to ask for it."""

    def there(self, names: Collection[str]) -> set[str]:
        """Every text is in the whole run."""
        return set(names)
