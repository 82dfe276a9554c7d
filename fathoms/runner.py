"""Running an experiment: every question asked, every answer on disk before it counts."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import fathoms
from fathoms.cache import Cache
from fathoms.config import package_version
from fathoms.corpora import Corpus
from fathoms.experiment import AnyExperiment, Experiment, ExternalExperiment, Prepared, load_experiment
from fathoms.pipeline import Progress, silent
from fathoms.store import Run
from fathoms.types import Hit, Question, Record

__all__ = [
    "AnyExperiment",
    "Experiment",
    "ExternalExperiment",
    "Outcome",
    "Prepared",
    "Selection",
    "load_experiment",
    "run",
]

_PACKAGES = (
    "pydantic",
    "numpy",
    "pypdfium2",
    "pymupdf",
    "docling-slim",
    "easyocr",
    "torch",
    "bm25s",
    "llama-index-core",
    "llama-index-llms-ollama",
    "llama-index-embeddings-ollama",
    "llama-index-llms-openai-like",
    "llama-index-embeddings-openai-like",
    "sentence-transformers",
    "onnxruntime",
    "xllamacpp",
)

OnRecord = Callable[[Record, int, int], None]
"""Hears (record, done, total)."""


@dataclass(frozen=True)
class Outcome:
    """What became of a run: how many questions were asked for, answered or failed, and whether a signal
    stopped it before the end."""

    run: Run
    asked: int
    done: int
    errors: int
    stopped: bool


@dataclass(frozen=True)
class Selection:
    """Which of the questions are asked; empty means all. `limit` takes from the categories in turn."""

    limit: int | None = None
    categories: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()


def run(
    experiment: AnyExperiment,
    corpus: Corpus,
    *,
    out: Path,
    cache: Cache,
    selection: Selection = Selection(),
    workers: int = 2,
    progress: Progress = silent,
    on_record: OnRecord = lambda record, done, total: None,
) -> Outcome:
    """Ask the selected questions and keep what comes back; nothing is scored yet.

    What is missing (a package, weights, a server, a document) is raised before the first question. A
    question that fails becomes a record with an error. SIGINT and SIGTERM let what is in flight finish
    and start no more; a second signal stops at once.
    """
    asked = corpus.select(limit=selection.limit, categories=selection.categories, ids=selection.ids)
    experiment.check()
    Run.require_writable(out)
    prepared: Prepared = experiment.prepare(corpus.documents, cache, workers=workers, progress=progress)
    started = time.perf_counter()
    hits = prepared.retrieve(asked)
    share = (time.perf_counter() - started) / len(asked)
    *_, state = prepared.fingerprints.values()
    store = Run.create(out, experiment.name, state, _manifest(experiment, corpus, prepared, asked))
    _keep_documents(store, prepared)
    asking = _Asking(prepared, store, hits, share, experiment.question_timeout, on_record)
    stopped = asyncio.run(asking.all(in_order(asked), experiment.max_concurrency))
    _close(store, asking, time.perf_counter() - started)
    return Outcome(store, len(asked), asking.done, asking.errors, stopped)


def in_order(questions: Sequence[Question]) -> list[Question]:
    """Questions on the same files in a row, so that a server's prompt cache can help."""
    first: dict[tuple[str, ...], int] = {}
    for index, question in enumerate(questions):
        first.setdefault(question.files, index)
    return sorted(questions, key=lambda question: first[question.files])


class _Asking:
    """The questions of one run on their way through the model."""

    def __init__(
        self,
        prepared: Prepared,
        store: Run,
        hits: Mapping[str, tuple[Hit, ...]],
        retrieve_seconds: float,
        timeout: float,
        on_record: OnRecord,
    ) -> None:
        self.prepared = prepared
        self.store = store
        self.hits = hits
        self.retrieve_seconds = retrieve_seconds
        self.timeout = timeout
        self.on_record = on_record
        self.done = self.errors = 0

    async def all(self, questions: Sequence[Question], concurrency: int) -> bool:
        """Ask them, `concurrency` at a time, in order; returns whether a signal stopped it."""
        loop = asyncio.get_running_loop()
        stop, broken = asyncio.Event(), asyncio.Event()
        waiting = iter(questions)

        def on_signal() -> None:
            if stop.is_set():
                for task in tasks:
                    task.cancel()
            stop.set()

        async def worker() -> None:
            try:
                for question in waiting:
                    if stop.is_set() or broken.is_set():
                        return
                    await self._one(question, len(questions))
            except BaseException:
                broken.set()
                raise

        tasks = [asyncio.create_task(worker()) for _ in range(max(1, concurrency))]
        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(NotImplementedError, ValueError, RuntimeError):
                loop.add_signal_handler(number, on_signal)
        results = await asyncio.gather(*tasks, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, asyncio.CancelledError):
                raise result
        return stop.is_set()

    async def _one(self, question: Question, total: int) -> None:
        """Ask one question, write it down, tell."""
        hits = self.hits.get(question.id, ())
        record = await self.prepared.answer(question, hits, timeout=self.timeout)
        timings = {"retrieve": self.retrieve_seconds} if self.hits else {}
        finished = datetime.now(UTC).isoformat(timespec="milliseconds")
        record = record.model_copy(update={"timings": timings | record.timings, "finished": finished})
        self.store.append([record])
        self.store.write_view([record])
        self.done += 1
        self.errors += record.error is not None
        self.on_record(record, self.done, total)


def _manifest(
    experiment: AnyExperiment, corpus: Corpus, prepared: Prepared, asked: Sequence[Question]
) -> dict[str, Any]:
    """Everything a stranger needs to know what was run."""
    parsed = [document for document in prepared.documents if document.pages]
    return {
        "model": experiment.answerer,
        "config": experiment.model_dump(mode="json"),
        "data": {
            "name": corpus.name,
            "questions_sha256": corpus.questions_sha256,
            "questions": len(corpus.questions),
            "categories": list(corpus.categories),
            "category_sizes": corpus.sizes(),
            "asked": len(asked),
            "left_out": [question.id for question in corpus.left_out()],
            "missing_documents": list(corpus.missing),
            "warnings": list(corpus.warnings),
            "ingest": prepared.report() if parsed or prepared.failures else None,
            "documents": {
                document.id: {"sha256": document.sha256}
                | ({"pages": len(document.pages)} if document.pages else {})
                for document in prepared.documents
            },
        },
        "fingerprints": prepared.fingerprints,
        "served": experiment.served(),
        "versions": {
            "fathoms": fathoms.__version__,
            "python": platform.python_version(),
            **{name: version for name in _PACKAGES if (version := package_version(name))},
        },
        "git": _git_commit(),
        "host": {"system": platform.platform(), "cpus": os.cpu_count(), "name": platform.node()},
    }


def _keep_documents(store: Run, prepared: Prepared) -> None:
    """The parsed text of every document goes along, so that nobody needs the parser again."""
    manifest = store.manifest()
    for document in prepared.documents:
        if document.pages:
            entry = manifest["data"]["documents"][document.id]
            pages = [{"number": page.number, "text": page.text} for page in document.pages]
            entry["text"] = store.put_blob(json.dumps(pages, ensure_ascii=False))
    store.write_manifest(manifest)


def _close(store: Run, asking: _Asking, seconds: float) -> None:
    """The totals, once all is written."""
    totals = {"answers": asking.done, "errors": asking.errors, "seconds": round(seconds, 3)}
    finished = datetime.now(UTC).isoformat(timespec="seconds")
    store.write_manifest({**store.manifest(), "finished": finished, "totals": totals})


def _git_commit() -> str | None:
    """The commit of the checkout one stands in, with `+` where it has changes."""
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--abbrev=40", "--exclude=*"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip() or None
