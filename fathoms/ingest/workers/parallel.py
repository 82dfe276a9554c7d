"""Reads many PDFs at once in child processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from fathoms.errors import DocumentError
from fathoms.ingest.parsers.base import MakeDocument, OnPage, PdfParser
from fathoms.ingest.workers.pool import pool_of
from fathoms.paths import sha256_file
from fathoms.safety.children import Children
from fathoms.safety.signals import next_of
from fathoms.types import Document

Outcome = Document | DocumentError
Event = tuple[int, Future[Any] | tuple[int, int]]
"""The index of a path with its document or the error that ended it, or with its progress: the pages that are
done, and all pages."""


def parse_all(
    parser: PdfParser,
    paths: Sequence[Path],
    *,
    workers: int,
    on_done: Callable[[Path, Outcome], None] | None = None,
    on_page: OnPage | None = None,
    hash_of: Callable[[Path], str] = sha256_file,
) -> list[Outcome]:
    """Read many PDFs with `workers` child processes at a time; the outcomes are in the order of `paths`.

    The outcome of a file that cannot be read is its DocumentError; obeying `on_error` is up to the caller.
    Both callbacks run in the calling thread: `on_done` as each file ends, `on_page` (only with parsers that
    report pages) with the pages done and the pages of all files opened so far. An exception, Ctrl-C included,
    ends all children first. `hash_of` returns the sha256 of a file that was read, and is called in several
    threads at a time.
    """
    parser.require()
    children = Children()
    workers = max(1, min(workers, len(paths)))
    events: SimpleQueue[Event] = SimpleQueue()
    outcomes: dict[int, Outcome] = {}
    pages: dict[int, tuple[int, int]] = {}
    with (
        closing(pool_of(parser, children, workers, hash_of)) as pool,
        ThreadPoolExecutor(max_workers=workers) as makers,  # of documents, while the next files are read
        ThreadPoolExecutor(max_workers=workers) as threads,
    ):
        try:
            for index, path in enumerate(paths):
                reading = threads.submit(pool.read, path, partial(_report_pages, events, index))
                reading.add_done_callback(partial(_report_read, makers, events, index))
            while len(outcomes) < len(paths):
                index, event = next_of(events)
                if isinstance(event, Future):
                    outcomes[index] = _outcome(event)
                    if on_done is not None:
                        on_done(paths[index], outcomes[index])
                elif on_page is not None:
                    pages[index] = event
                    done, total = map(sum, zip(*pages.values(), strict=True))
                    on_page(done, total)
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            children.stop()
            raise
    return [outcomes[index] for index in range(len(paths))]


def _report_pages(events: SimpleQueue[Event], index: int, done: int, total: int) -> None:
    """Report the progress of one file to the calling thread."""
    events.put((index, (done, total)))


def _report_read(
    makers: Executor, events: SimpleQueue[Event], index: int, reading: Future[MakeDocument]
) -> None:
    """Have the document of a file made that was read, or report the error to the calling thread."""
    if reading.cancelled() or reading.exception() is not None:
        events.put((index, reading))
        return
    making = makers.submit(reading.result())
    making.add_done_callback(lambda made: events.put((index, made)))


def _outcome(ended: Future[Document]) -> Outcome:
    """Return the document, or the error that occurred instead."""
    try:
        return ended.result()
    except DocumentError as error:
        return error
