"""Imports answers that another system produced, as records that are scored and reported like our own."""

from __future__ import annotations

from fathoms.importers.answers import read_answers
from fathoms.importers.fathoms_rag import read_result_file
from fathoms.importers.imported import Imported
from fathoms.importers.keeping import keep
from fathoms.importers.parsing import NO_DOCUMENTS, ParsedFolder, parse_folder
from fathoms.importers.rebuilding import rebuild

__all__ = [
    "NO_DOCUMENTS",
    "Imported",
    "ParsedFolder",
    "keep",
    "parse_folder",
    "read_answers",
    "read_result_file",
    "rebuild",
]
