"""Data sets: reading questions and finding their documents, and downloading data sets with checksums.

`load(source)` returns a `Corpus`, `read_questions` reads a question file on its own, and
`write_questions` writes one. `pull`, `verify` and `list_sets` manage the data sets that have a manifest
in `data/*.yaml`. Each question file format has its module (`fathoms_json`, `jsonl`, `csv_table`); the
rules that all formats share are in `rows`.
"""

from __future__ import annotations

from fathoms.corpora.corpus import Corpus
from fathoms.corpora.fathoms_json import dump_fathoms_json
from fathoms.corpora.fetch import FileReport, PullReport, SetInfo, list_sets, pull, verify
from fathoms.corpora.loading import load, located
from fathoms.corpora.manifests import data_dir, find_manifest, known_sets
from fathoms.corpora.pdfs import cut_short, gather_pdfs
from fathoms.corpora.places import Place, Places
from fathoms.corpora.questions import QuestionFile, find_places, read_questions
from fathoms.corpora.sources import DataSource, FileSource, NamedSource
from fathoms.corpora.writing import add_ids, refuse_existing, write_new, write_questions

__all__ = [
    "Corpus",
    "DataSource",
    "FileReport",
    "FileSource",
    "NamedSource",
    "Place",
    "Places",
    "PullReport",
    "QuestionFile",
    "SetInfo",
    "add_ids",
    "cut_short",
    "data_dir",
    "dump_fathoms_json",
    "find_manifest",
    "find_places",
    "gather_pdfs",
    "known_sets",
    "list_sets",
    "load",
    "located",
    "pull",
    "read_questions",
    "refuse_existing",
    "verify",
    "write_new",
    "write_questions",
]
