"""Imports answers that another system produced, as records that are scored and reported like our own."""

from __future__ import annotations

from fathoms.importers.answers import read_answers
from fathoms.importers.fathoms_rag import read_result_file
from fathoms.importers.foreign import Options
from fathoms.importers.hits import read_hits
from fathoms.importers.imported import Imported, released_means
from fathoms.importers.inspect_log import read_inspect
from fathoms.importers.keeping import keep
from fathoms.importers.mirage import read_mirage
from fathoms.importers.mmdocrag import read_mmdocrag
from fathoms.importers.parsing import NO_DOCUMENTS, ParsedFolder, parse_folder
from fathoms.importers.promptfoo import read_promptfoo
from fathoms.importers.ragas import read_ragas
from fathoms.importers.ragchecker import read_ragchecker
from fathoms.importers.rebuilding import rebuild
from fathoms.importers.traces import read_traces
from fathoms.importers.trec import read_trec

__all__ = [
    "NO_DOCUMENTS",
    "Imported",
    "Options",
    "ParsedFolder",
    "keep",
    "parse_folder",
    "read_answers",
    "read_hits",
    "read_inspect",
    "read_mirage",
    "read_mmdocrag",
    "read_promptfoo",
    "read_ragas",
    "read_ragchecker",
    "read_result_file",
    "read_traces",
    "read_trec",
    "rebuild",
    "released_means",
]
