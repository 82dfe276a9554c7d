"""Converts documents in a pool of long-lived processes, and retries a failed document page by page."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fathoms.errors import DocumentError
from fathoms.executors import OnPage
from fathoms.ingest.docling.process import BreakdownError, Converted, DoclingProcess, explain
from fathoms.models.cpus import available_cpus
from fathoms.paths import sha256_file
from fathoms.pdf.child import time_advice
from fathoms.pdf.finishing import clean_text
from fathoms.pdf.parsed import Parsed
from fathoms.pdf.parser import MakeDocument
from fathoms.pdf.raw import to_document
from fathoms.safety.children import Children
from fathoms.types import Document

if TYPE_CHECKING:
    from fathoms.ingest.docling.parser import Docling


def silent(done: int, total: int) -> None:
    """Ignore the progress: used where no progress callback was given."""


class DoclingPool:
    """A pool of processes that each convert one document at a time; safe for several threads.

    A thread that finds no idle process starts a new one.
    """

    def __init__(
        self,
        parser: Docling,
        children: Children,
        workers: int,
        hash_of: Callable[[Path], str] = sha256_file,
    ) -> None:
        self._parser = parser
        self._hash_of = hash_of
        self._children = children
        self._threads = parser.threads or max(1, available_cpus() // workers)
        self._idle: list[DoclingProcess] = []
        self._first = threading.Lock()
        self._weights_are_here = not parser.needs_hub

    def read(self, path: Path, on_page: OnPage | None = None) -> MakeDocument:
        """Convert one file; pages that fail, even when converted alone, are left empty and named in warnings.

        Raises DocumentError if no page can be converted, and ConfigError or ModelError if no converter can be
        built.
        """
        parser, tell = self._parser, on_page or silent
        parser.check_file(path)
        try:
            converted = self._convert(path, 1, parser.max_pages, parser.timeout, tell)
        except BreakdownError as broken:
            if broken.pages is None:
                raise DocumentError(path.name, broken.reason, clean_text(broken.detail)) from None
            whole = self._page_by_page(path, None, range(1, broken.pages + 1), broken.pages, tell)
            return partial(Parsed.of, whole)
        if converted.failed:
            total = len(converted.raw["pages"])
            joined = self._page_by_page(path, converted, sorted(converted.failed), total, tell)
            return partial(Parsed.of, joined)
        return partial(self._document, path, converted)

    def _document(self, path: Path, converted: Converted) -> Parsed:
        """Make the document of a file that was converted as a whole."""
        document = to_document(path, converted.raw, self._parser.max_pages, self._hash_of(path))
        return Parsed.of(document.model_copy(update={"native": converted.native}))

    def close(self) -> None:
        """End all idle conversion processes."""
        while self._idle:
            self._idle.pop().child.end()

    def _convert(self, path: Path, first: int, last: int, seconds: float, on_page: OnPage) -> Converted:
        """Convert the pages from `first` to `last` of a file in an idle or a new process."""
        process = self._take() or self._start()
        try:
            return process.convert(path, first, last, seconds, on_page)
        except BreakdownError:
            raise
        except BaseException:
            # after an interruption, the next request would take the messages about this file for its own
            process.child.end()
            raise
        finally:
            if process.child.alive:
                self._idle.append(process)

    def _take(self) -> DoclingProcess | None:
        """Take an idle process from the pool, without any that have died since; `None` if there is none."""
        with suppress(IndexError):
            while True:
                process = self._idle.pop()
                if process.child.alive:
                    return process
                process.child.end()
        return None

    def _start(self) -> DoclingProcess:
        """Start a process; if weights may have to be downloaded, the others wait for the first to do so."""
        with self._first:
            if not self._weights_are_here:
                process = DoclingProcess(self._parser, self._children, self._threads)
                self._weights_are_here = True
                return process
        return DoclingProcess(self._parser, self._children, self._threads)

    def _page_by_page(
        self, path: Path, whole: Converted | None, failed: Sequence[int], total: int, on_page: OnPage
    ) -> Document:
        """Convert the failed pages one by one and combine them with the pages that did not fail.

        `whole` is the conversion of the whole file, `None` if it failed. `failed` lists the numbers of the
        pages to retry, `total` is the number of all pages. Raises DocumentError if no page can be converted.
        """
        from fathoms.ingest.docling.export import Conversion, join, lost, unpack

        alone, broken = self._each_alone(path, failed, total, on_page)
        found = {number: unpack(converted.native) for number, converted in alone.items()}
        before = None if whole is None or len(broken) == total else unpack(whole.native)
        if before is None and not found:
            first = broken[failed[0]]
            raise DocumentError(path.name, first.reason, clean_text(first.detail))
        base = before or next(iter(found.values()))
        document = base.document
        if found:
            documents = {number: conversion.document for number, conversion in found.items()}
            document = join(range(1, total + 1), before.document if before else None, documents)
        lines = lost({number: breakdown.detail for number, breakdown in broken.items()})
        native = Conversion(document, base.page_count, (*base.complaints, *lines)).pack()
        return self._parser.from_native(path, self._hash_of(path), native)

    def _each_alone(
        self, path: Path, pages: Sequence[int], total: int, on_page: OnPage
    ) -> tuple[dict[int, Converted], dict[int, BreakdownError]]:
        """Convert pages one by one; return the conversions, and the errors of pages that fail again. All of
        them together may take the parser's `timeout`."""
        parser = self._parser
        deadline = time.monotonic() + parser.timeout
        alone: dict[int, Converted] = {}
        broken: dict[int, BreakdownError] = {}
        for done, number in enumerate(pages, total - len(pages)):
            on_page(done, total)
            try:
                left = deadline - time.monotonic()
                if left <= 0:  # raise here, because `_convert` might start a new process first
                    raise BreakdownError("timeout", time_advice(parser.timeout), None)
                converted = self._convert(path, number, number, left, silent)
            except BreakdownError as breakdown:
                broken[number] = breakdown
            else:
                if converted.failed:
                    said = converted.failed[number]
                    detail = f"cannot be converted ({said}); fetch it again, or try another kind"
                    broken[number] = BreakdownError(*explain(parser, "damaged", detail), None)
                else:
                    alone[number] = converted
        on_page(total, total)
        return alone, broken
