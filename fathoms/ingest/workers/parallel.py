"""Many PDFs at once, each in a child process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from queue import SimpleQueue

from fathoms.errors import DocumentError
from fathoms.ingest.parsers.base import OnPage, PdfParser, Readers
from fathoms.ingest.workers.readers import readers_of
from fathoms.safety.children import Children
from fathoms.types import Document

Outcome = Document | DocumentError
Event = tuple[int, Future[Outcome] | tuple[int, int]]
"""The index of a path, and its end or its pages: how many are done, how many it has."""


def parse_all(
    parser: PdfParser,
    paths: Sequence[Path],
    *,
    workers: int,
    on_done: Callable[[Path, Outcome], None] | None = None,
    on_page: OnPage | None = None,
) -> list[Outcome]:
    """Read many PDFs, `workers` child processes at a time; the outcomes in the order of `paths`.

    A file that fails is its DocumentError in the list; `on_error` is for the caller to obey. Both
    callbacks are called in the calling thread: `on_done` as each file ends; `on_page`, by the parsers that
    can tell, with the pages done and the pages there are in all files opened so far. An exception, Ctrl-C
    included, ends all children first.
    """
    parser.require()
    children = Children()
    workers = max(1, min(workers, len(paths)))
    readers = readers_of(parser, children, workers)
    events: SimpleQueue[Event] = SimpleQueue()
    with closing(readers), ThreadPoolExecutor(max_workers=workers) as pool:
        try:
            for index, path in enumerate(paths):
                tell = partial(_tell, events, index)
                pool.submit(_outcome, readers, path, tell).add_done_callback(partial(_end, events, index))
            return _collect(paths, events, on_done, on_page)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            children.stop()
            raise


def _tell(events: SimpleQueue[Event], index: int, done: int, total: int) -> None:
    """Pages of one file, on their way to the calling thread."""
    events.put((index, (done, total)))


def _end(events: SimpleQueue[Event], index: int, future: Future[Outcome]) -> None:
    """The end of one file, on its way to the calling thread."""
    events.put((index, future))


def _collect(
    paths: Sequence[Path],
    events: SimpleQueue[Event],
    on_done: Callable[[Path, Outcome], None] | None,
    on_page: OnPage | None,
) -> list[Outcome]:
    """Pass on what the files tell, until each has ended."""
    outcomes: dict[int, Outcome] = {}
    pages: dict[int, tuple[int, int]] = {}
    while len(outcomes) < len(paths):
        index, event = events.get()
        if isinstance(event, Future):
            outcomes[index] = event.result()
            if on_done is not None:
                on_done(paths[index], outcomes[index])
        elif on_page is not None:
            pages[index] = event
            on_page(sum(done for done, _ in pages.values()), sum(total for _, total in pages.values()))
    return [outcomes[index] for index in range(len(paths))]


def _outcome(readers: Readers, path: Path, on_page: OnPage) -> Outcome:
    """The document, or the error that stands in its place."""
    try:
        return readers.read(path, on_page)
    except DocumentError as error:
        return error
