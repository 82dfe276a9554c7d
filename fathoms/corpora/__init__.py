"""Documents and questions: `load(source) -> Corpus`, and data sets fetched with checksums.

`load` and `read_questions` read, `write_questions` writes; `pull`, `verify` and `list_sets` manage the
data sets of `data/*.yaml`. The formats of question files are `fathoms_json`, `jsonl` and `csv_table`,
their common rules are in `rows`.
"""

from __future__ import annotations

from fathoms.corpora.corpus import Corpus
from fathoms.corpora.documents import gather_pdfs
from fathoms.corpora.fathoms_json import dump_fathoms_json
from fathoms.corpora.fetch import FileReport, PullReport, SetInfo, list_sets, pull, verify
from fathoms.corpora.loading import load, located
from fathoms.corpora.manifests import data_dir, find_manifest, known_sets
from fathoms.corpora.places import Place, Places
from fathoms.corpora.questions import QuestionFile, find_places, read_questions
from fathoms.corpora.sources import DataSource, FileSource, NamedSource
from fathoms.corpora.writing import refuse_existing, write_new, write_questions

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
