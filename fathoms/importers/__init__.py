"""Answers that another system gave or its authors released, read as records and stored as a run.

Published tables are compared with them (`extras/papers`), and `fathoms import` makes runs of them
(`extras/exchange`, which reads the files of other tools, too).
"""

from __future__ import annotations

from fathoms.importers.answers import read_answers
from fathoms.importers.fathoms_rag import read_result_file, read_result_files, result_files
from fathoms.importers.imported import Imported, released_means
from fathoms.importers.keeping import NO_DOCUMENTS, ParsedFolder, keep, parse_folder
from fathoms.importers.mmdocrag import read_mmdocrag

__all__ = [
    "NO_DOCUMENTS",
    "Imported",
    "ParsedFolder",
    "keep",
    "parse_folder",
    "read_answers",
    "read_mmdocrag",
    "read_result_file",
    "read_result_files",
    "released_means",
    "result_files",
]
