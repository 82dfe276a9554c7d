"""Reads many PDFs at once in child processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from queue import SimpleQueue

from fathoms.errors import DocumentError
from fathoms.ingest.parsers.base import OnPage, ParserPool, PdfParser
from fathoms.ingest.workers.pool import pool_of
from fathoms.paths import sha256_file
from fathoms.safety.children import Children
from fathoms.safety.signals import next_of
from fathoms.types import Document

Outcome = Document | DocumentError
Event = tuple[int, Future[Outcome] | tuple[int, int]]
"""The index of a path with its outcome, or with its progress: the pages that are done, and all pages."""


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
        ThreadPoolExecutor(max_workers=workers) as threads,
    ):
        try:
            for index, path in enumerate(paths):
                future = threads.submit(_outcome, pool, path, partial(_report_pages, events, index))
                future.add_done_callback(partial(_report_end, events, index))
            while len(outcomes) < len(paths):
                index, event = next_of(events)
                if isinstance(event, Future):
                    outcomes[index] = event.result()
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


def _report_end(events: SimpleQueue[Event], index: int, future: Future[Outcome]) -> None:
    """Report the end of one file to the calling thread."""
    events.put((index, future))


def _outcome(pool: ParserPool, path: Path, on_page: OnPage) -> Outcome:
    """Return the document, or the error that occurred instead."""
    try:
        return pool.read(path, on_page)
    except DocumentError as error:
        return error
