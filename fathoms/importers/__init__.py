"""Answers that were made elsewhere, as records: they are then scored and reported like our own."""

from __future__ import annotations

from fathoms.importers.answers import read_answers
from fathoms.importers.fathoms_rag import read_result_file
from fathoms.importers.imported import Imported
from fathoms.importers.keeping import keep

__all__ = ["Imported", "keep", "read_answers", "read_result_file"]
