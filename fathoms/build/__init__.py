"""Making questions: a scaffold to fill in, a linter, and what a set of questions can measure.

    text = scaffold(documents, ".csv")              # two rows a PDF, to be filled in
    found = check(path, documents, reading)         # findings, each with its place
    figures = describe(file.questions, documents)   # counts, lengths, widths of intervals

The rules are one function each: `file_rules` look at what is written, `document_rules` compare it with the
documents as parsed. Nothing here asks a model.
"""

from __future__ import annotations

from fathoms.build.checking import Checked, check, rule_codes
from fathoms.build.finding import Finding
from fathoms.build.reading import Reading, read_documents
from fathoms.build.scaffold import scaffold
from fathoms.build.source import Source, find_parser, find_source
from fathoms.build.statistics import describe

__all__ = [
    "Checked",
    "Finding",
    "Reading",
    "Source",
    "check",
    "describe",
    "find_parser",
    "find_source",
    "read_documents",
    "rule_codes",
    "scaffold",
]
