"""Scoring the shares of a large run as work for the workers of a cluster.

They have no disk in common with this machine. So a share is sent with the lines of the journal and the texts
that scoring reads of it, and the files that scoring writes come back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from platform import python_version
from typing import Any, NamedTuple

from fathoms.component import package_version
from fathoms.errors import FathomsError
from fathoms.executors import Executor, OnPage, Work
from fathoms.executors.ray_worker import worker_folder
from fathoms.metrics.ingestion import COMPARED, ParsedTexts
from fathoms.runs.documents import StoredDocuments
from fathoms.runs.folder import read_file
from fathoms.runs.journal import JOURNAL
from fathoms.runs.store import Run
from fathoms.safety.children import Children
from fathoms.scoring.held import Found
from fathoms.scoring.questions import QuestionScorer
from fathoms.scoring.shares import Share, ShareScorer

_MORE = 50
"""So many documents are sent beyond those that are compared with every question, in place of gold ones."""


class SentShare(NamedTuple):
    """A share with its lines of the journal, one after another, and with texts as they are stored, by their
    hashes."""

    share: Share
    lines: list[bytes]
    texts: dict[str, bytes]


class ScoredShare(NamedTuple):
    """What the summary needs of a share, and its question files by their names. `found` is `None` where the
    share has to be scored on the machine that has the run, and empty where verdicts are missing."""

    found: dict[str, Any] | None
    views: dict[str, bytes]


@dataclass(frozen=True)
class ScoreWork(Work[Any, ScoredShare]):
    """Scores shares of a run, by what `shares.setup_of` returned. An item is a `Share`, and a `SentShare` on
    a worker. The files of a share are written into the run as they arrive, and are not in its outcome.

    `files` are those files of the run that all shares need, and only a work that is sent has them.
    """

    run: Run
    setup: Mapping[str, Any]
    texts: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, run: Run, setup: Mapping[str, Any]) -> ScoreWork:
        """Return the work on a run. Documents that are missing here count as missing everywhere."""
        manifest = setup["manifest"]
        data = manifest.get("data") or {}
        there, entries = StoredDocuments(run, manifest), data.get("documents") or {}
        documents = {name: entries[name] for name in there}
        texts = {name: entry["text"] for name, entry in documents.items()}
        there_only = {**manifest, "data": {**data, "documents": documents}}
        return cls(run, {**setup, "manifest": there_only}, texts)

    def open(self, children: Children, workers: int) -> _SentShareScorer:
        """Return what scores shares on a worker."""
        return _SentShareScorer(self)

    def identity(self) -> dict[str, Any]:
        """The versions of what computes the scores; those of Python differ in their tables of Unicode."""
        versions = {name: package_version(name) for name in ("numpy", "scipy", "ir-measures")}
        return {"versions": {"Python": python_version(), **versions}}

    def for_workers(self) -> ScoreWork:
        """The same work with the stored verdicts, and the documents that every question is compared with."""
        names = ParsedTexts(self.texts).sample((), COMPARED + _MORE)  # type: ignore[arg-type]
        stored = self._stored(self.texts[name] for name in names)
        files = {f"blobs/{name}.gz": data for name, data in stored.items()}
        folder = self.run.path / "verdicts"
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if path.is_file() and not path.is_symlink():
                files[f"verdicts/{path.name}"] = read_file(self.run.path, f"verdicts/{path.name}")
        return ScoreWork(Run(Path(self.run.id)), self.setup, files=files)

    def sent(self, item: Share) -> SentShare:
        """The share with all that scoring reads of it."""
        lines = self.run.lines(entry for entries in item.questions for entry in entries)
        wanted: dict[str, None] = {}
        for line in lines:
            wanted |= dict.fromkeys(self._read_by(json.loads(line)))
        return SentShare(item, lines, self._stored(wanted))

    def received(self, item: Share, returned: ScoredShare) -> ScoredShare:
        """Write the files of the share into the run."""
        if returned.found:
            self.run.take_views(item.file, returned.views)
        return ScoredShare(returned.found, {})

    def _read_by(self, value: Any) -> Iterator[str]:
        """Yield the hashes of the texts that a part of a record names, and of the documents."""
        if isinstance(value, str):
            if value in self.texts:
                yield self.texts[value]
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
        found = {name: self.run.stored_text(name) for name in names}
        return {name: data for name, data in found.items() if data is not None}


class _SentShareScorer:
    """Scores shares on a worker, in a temporary folder that has as much of the run as was sent."""

    def __init__(self, work: ScoreWork) -> None:
        self._open = ExitStack()
        self._run = _SentRun(self._open.enter_context(worker_folder()) / work.run.id)
        for name, data in work.files.items():
            self._write(name, data)
        self._scorer = ShareScorer(self._run, work.setup)

    def do(self, item: SentShare, on_page: OnPage) -> Callable[[], ScoredShare]:
        """Return what scores a share."""
        return lambda: self._scored(item)

    def close(self) -> None:
        """Remove the temporary folder."""
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
            return ScoredShare(None, {})
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


class _SentRun(Run):
    """A part of a run. A document that was not sent is not missing from the run, so asking for it is an
    error."""

    def has_text(self, name: str) -> bool:
        """Every text is in the whole run."""
        return True


def score_on_cluster(
    scorer: QuestionScorer, shares: Sequence[Share], work: ScoreWork, executor: Executor
) -> Found | None:
    """Score shares on a cluster as `shares.score_in_shares` does, or as `shares.score_held` where the work
    scores from held verdicts. They are added up in their order, in whatever order they are done."""
    held, is_judged = Found(), work.setup["judged"]
    waiting: dict[int, dict[str, Any] | None] = {}
    lacking: list[Share] = []
    queue = iter(enumerate(shares))
    turn = next(queue)

    def add(at: int, outcome: ScoredShare, seconds: float) -> None:
        nonlocal turn
        waiting[at] = outcome.found
        while turn[0] in waiting:
            found, share = waiting.pop(turn[0]), turn[1]
            turn = next(queue, (-1, share))
            if found:
                scorer.extend(found)
                if is_judged:
                    held.add(found["held"])
            elif is_judged:
                lacking.append(share)
            else:
                scorer.score(*share)

    executor.run(work, shares, add, keep=False)
    return None if lacking else held
