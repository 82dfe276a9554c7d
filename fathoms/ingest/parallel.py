"""Many PDFs at once, each in its own child process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from fathoms.errors import DocumentError
from fathoms.ingest.child import Children, parse_in_child
from fathoms.ingest.parser import PdfParser
from fathoms.types import Document

Outcome = Document | DocumentError


def parse_all(
    parser: PdfParser,
    paths: Sequence[Path],
    *,
    workers: int,
    on_done: Callable[[Path, Outcome], None] | None = None,
    on_page: Callable[[int, int], None] | None = None,
) -> list[Outcome]:
    """Read many PDFs, `workers` child processes at a time; the outcomes in the order of `paths`.

    A file that fails is its DocumentError in the list; `on_error` is for the caller to obey. `on_done` is
    called in the calling thread as each file ends. An exception, Ctrl-C included, ends all children first.
    """
    parser.require()
    children = Children()
    with ThreadPoolExecutor(max_workers=workers) as pool:
        try:
            futures = {pool.submit(_outcome, parser, path, children): i for i, path in enumerate(paths)}
            outcomes: dict[int, Outcome] = {}
            for future in as_completed(futures):
                index = futures[future]
                outcomes[index] = future.result()
                if on_done is not None:
                    on_done(paths[index], outcomes[index])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            children.stop()
            raise
    return [outcomes[index] for index in range(len(paths))]


def _outcome(parser: PdfParser, path: Path, children: Children) -> Outcome:
    """The document, or the error that stands in its place."""
    try:
        return parse_in_child(parser, path, children)
    except DocumentError as error:
        return error
