"""Tools for writing question sets: a template to fill in, a linter, and statistics on what a set can measure.

    text = scaffold(documents, ".csv")              # two rows per PDF, to be filled in
    found = check(path, documents, reading)         # findings, each with file, line and column
    figures = describe(file.questions, documents)   # counts, phrase lengths, interval widths

Each linter rule is one function: those in `file_rules` look only at the question file, those in
`document_rules` compare it with the parsed documents. Only `nuggets`, which is asked for by name, calls a
model.
"""

from __future__ import annotations

from fathoms.build.checking import Checked, check, rule_codes
from fathoms.build.finding import Finding
from fathoms.build.parsing import ParsedPdfs, read_documents
from fathoms.build.question_source import QuestionSource, find_parser, find_source
from fathoms.build.scaffold import scaffold
from fathoms.build.set_statistics import describe

__all__ = [
    "Checked",
    "Finding",
    "ParsedPdfs",
    "QuestionSource",
    "check",
    "describe",
    "find_parser",
    "find_source",
    "read_documents",
    "rule_codes",
    "scaffold",
]
