"""Reads the documents of a question set as a run does: from the cache, or parsed in worker processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fathoms.ingest import Parser
from fathoms.models import ScriptedModel
from fathoms.models.calling.provider_calls import ExecutionSettings
from fathoms.pipeline.pipeline import Pipeline
from fathoms.pipeline.preparation import Progress, silent
from fathoms.retrieve import WholeDocument
from fathoms.runs.cache import Cache
from fathoms.types import Document


@dataclass(frozen=True)
class ParsedPdfs:
    """The parsed documents by name, and for each of the others the reason why it could not be parsed."""

    documents: Mapping[str, Document]
    failures: Mapping[str, str]


class _Reading(Pipeline):
    """A pipeline that only reads documents."""

    execution: ExecutionSettings

    @property
    def _calling(self) -> ExecutionSettings:
        return self.execution


def read_documents(
    paths: Mapping[str, Path],
    parser: Parser,
    cache: Cache,
    *,
    workers: int = 2,
    progress: Progress = silent,
    execution: ExecutionSettings | None = None,
) -> ParsedPdfs:
    """Parse PDFs with the same cache keys as a pipeline, so that a later run finds them in the cache.
    `execution` says where; by default by `workers` processes of this machine.

    Documents that cannot be parsed do not raise; they are listed in `failures`. Raises MissingExtraError if
    the parser is not installed, and StoreError if the cache cannot be used.
    """
    tolerant = parser.model_copy(update={"on_error": "skip"})
    where = execution or ExecutionSettings()
    pipeline = _Reading(ingest=tolerant, retrieve=WholeDocument(), generate=ScriptedModel(), execution=where)
    ready = pipeline.prepare(paths, cache, workers=workers, progress=progress)
    documents = {document.id: document for document in ready.documents}
    failures = {error.document: error.detail for error in ready.failures}
    return ParsedPdfs(documents, failures)
