"""The documents of the questions as parsed: from the cache, or by child processes, as for a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fathoms.ingest import Parser
from fathoms.models import ScriptedModel
from fathoms.pipeline.pipeline import Pipeline, Progress, silent
from fathoms.retrieve import WholeDocument
from fathoms.runs.cache import Cache
from fathoms.types import Document


@dataclass(frozen=True)
class Reading:
    """Documents as parsed by name, and why others could not be read."""

    documents: Mapping[str, Document]
    failures: Mapping[str, str]


def read_documents(
    paths: Mapping[str, Path],
    parser: Parser,
    cache: Cache,
    *,
    workers: int = 2,
    progress: Progress = silent,
) -> Reading:
    """Read PDFs as a pipeline does that needs nothing else of them: a later run finds them in the cache.

    Raises MissingExtraError for a parser that is not installed, StoreError for a cache that cannot be used.
    """
    tolerant = parser.model_copy(update={"on_error": "skip"})
    pipeline = Pipeline(ingest=tolerant, retrieve=WholeDocument(), generate=ScriptedModel())
    ready = pipeline.prepare(paths, cache, workers=workers, progress=progress)
    documents = {document.id: document for document in ready.documents}
    failures = {error.document: error.detail for error in ready.failures}
    return Reading(documents, failures)
