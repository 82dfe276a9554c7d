"""Parses the PDFs of commands that work on question files, or takes them from the cache."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fathoms.cli import console, progress
from fathoms.cli.cache import opened
from fathoms.cli.loading import note_cut
from fathoms.errors import DataError

if TYPE_CHECKING:
    from fathoms.extras.questions.parsing import ParsedPdfs
    from fathoms.ingest import Parser
    from fathoms.models.calling.provider_calls import ExecutionSettings


def parsed(
    documents: Mapping[str, Path], parser: Parser, execution: ExecutionSettings | None = None
) -> ParsedPdfs:
    """Parse documents, by this machine unless `execution` says otherwise, or take them from the cache.
    `failures` of the result names those that cannot be read; the command has to report them."""
    from fathoms.extras.questions.parsing import read_documents

    workers = os.cpu_count() or 1
    with opened() as cache, progress.bars() as bars:
        return read_documents(
            documents, parser, cache, workers=workers, progress=bars.stage, execution=execution
        )


def find_documents(paths: Sequence[Path]) -> dict[str, Path]:
    """Find the documents of paths and print what is left out. Raises UsageError if there is none."""
    from fathoms.corpora import gather_pdfs

    found, warnings = gather_pdfs(paths)
    note_all(warnings, found)
    return found


def note_all(warnings: Iterable[str], documents: Mapping[str, Path]) -> None:
    """Print warnings about documents, and which of them are cut."""
    for warning in warnings:
        console.note(f"note: {warning}")
    note_cut(documents.values())


def read_text(paths: Sequence[Path], execution: ExecutionSettings | None = None) -> ParsedPdfs:
    """Read the text of PDFs, and of those in folders, by PDFium. Raises UsageError if there is none."""
    from fathoms.extras.questions.question_source import find_parser

    return parsed(find_documents(paths), find_parser("pdfium"), execution)


def read_any(paths: Sequence[Path], execution: ExecutionSettings | None = None) -> ParsedPdfs:
    """Read the text of PDFs as `read_text` does, and say which are left out because they cannot be read.
    Raises DataError if none can be read."""
    found = read_text(paths, execution)
    for name, why in found.failures.items():
        console.note(f"note: left out {name}: {why}")
    if not found.documents:
        raise DataError("none of these PDFs can be read")
    return found
