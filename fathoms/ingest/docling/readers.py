"""Documents through lasting processes; what breaks one is tried again page by page."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fathoms.errors import DocumentError
from fathoms.ingest.docling.process import BreakdownError, Converted, DoclingProcess, explain
from fathoms.ingest.parsers.base import OnPage
from fathoms.ingest.parsers.reading import check_source, clean_text, to_document
from fathoms.ingest.workers.child import Children, time_advice
from fathoms.models.cpus import available_cpus
from fathoms.paths import sha256_file
from fathoms.types import Document

if TYPE_CHECKING:
    from fathoms.ingest.docling.parser import Docling


def silent(done: int, total: int) -> None:
    """The progress that nobody listens to."""


class DoclingReaders:
    """Processes that each serve one document at a time; a thread that finds none idle starts one."""

    def __init__(self, parser: Docling, children: Children, workers: int) -> None:
        self._parser = parser
        self._children = children
        self._threads = parser.threads or max(1, available_cpus() // workers)
        self._idle: list[DoclingProcess] = []
        self._first = threading.Lock()
        self._weights_are_here = not parser.needs_hub

    def read(self, path: Path, on_page: OnPage | None = None) -> Document:
        """The document of one file; raises DocumentError, and ModelError where there is no converter."""
        check_source(path)
        parser, tell = self._parser, on_page or silent
        try:
            converted = self._convert(path, 1, parser.max_pages, parser.timeout, tell)
        except BreakdownError as broken:
            if broken.pages is None:
                raise DocumentError(path.name, broken.reason, clean_text(broken.detail)) from None
            return self._page_by_page(path, None, range(1, broken.pages + 1), broken.pages, tell)
        if converted.failed:
            total = len(converted.reading["pages"])
            return self._page_by_page(path, converted, sorted(converted.failed), total, tell)
        document = to_document(path, converted.reading, parser.max_pages)
        return document.model_copy(update={"native": converted.native})

    def close(self) -> None:
        """End the processes that wait for a file."""
        while self._idle:
            self._idle.pop().end()

    def _convert(self, path: Path, first: int, last: int, seconds: float, on_page: OnPage) -> Converted:
        """Convert some pages of a file in a process that is free."""
        with self._process() as process:
            return process.convert(path, first, last, seconds, on_page)

    @contextmanager
    def _process(self) -> Iterator[DoclingProcess]:
        """A process for one request; it is idle again afterwards, if it lives."""
        process = self._take() or self._start()
        try:
            yield process
        except BaseException as error:
            if not isinstance(error, BreakdownError):  # it may have more to say of that file
                process.end()
            raise
        finally:
            if process.alive:
                self._idle.append(process)

    def _take(self) -> DoclingProcess | None:
        """A process that waits for a file, `None` where there is none; one may have been killed meanwhile."""
        with suppress(IndexError):
            while True:
                process = self._idle.pop()
                if process.alive:
                    return process
                process.end()
        return None

    def _start(self) -> DoclingProcess:
        """A new process. Where weights may have to be downloaded, the first one does so alone."""
        with self._first:
            if not self._weights_are_here:
                process = DoclingProcess(self._parser, self._children, self._threads)
                self._weights_are_here = True
                return process
        return DoclingProcess(self._parser, self._children, self._threads)

    def _page_by_page(
        self, path: Path, whole: Converted | None, failed: Sequence[int], total: int, on_page: OnPage
    ) -> Document:
        """The document of the pages that did not fail, and of those that can be had alone.

        Raises DocumentError where there are none.
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
        return self._parser.from_native(path, sha256_file(path), native)

    def _each_alone(
        self, path: Path, pages: Sequence[int], total: int, on_page: OnPage
    ) -> tuple[dict[int, Converted], dict[int, BreakdownError]]:
        """The pages that can be converted by themselves, and those that fail again; `timeout` for all."""
        parser = self._parser
        deadline = time.monotonic() + parser.timeout
        alone: dict[int, Converted] = {}
        broken: dict[int, BreakdownError] = {}
        for done, number in enumerate(pages, total - len(pages)):
            on_page(done, total)
            try:
                left = deadline - time.monotonic()
                if left <= 0:  # nor is it worth a new process
                    raise BreakdownError("timeout", time_advice(parser.timeout), None)
                converted = self._convert(path, number, number, left, silent)
            except BreakdownError as breakdown:
                broken[number] = breakdown
            else:
                if converted.failed:
                    broken[number] = _failure(parser, converted.failed[number])
                else:
                    alone[number] = converted
        on_page(total, total)
        return alone, broken


def _failure(parser: Docling, said: str) -> BreakdownError:
    """A page that Docling itself gave up on."""
    detail = f"cannot be converted ({said}); fetch it again, or try another kind"
    return BreakdownError(*explain(parser, "damaged", detail), None)
