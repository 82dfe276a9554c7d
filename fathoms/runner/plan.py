"""What a run would do, and what it lacks: before the first question, and without one call to a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fathoms.corpora import Corpus
from fathoms.errors import FathomsError
from fathoms.ingest import Docling
from fathoms.models import Embedded, LexicalEmbedder, OnnxEmbedder, SentenceTransformersEmbedder
from fathoms.pipeline.attachments import attached
from fathoms.pipeline.experiment import AnyExperiment, Experiment
from fathoms.pipeline.pipeline import Progress, silent
from fathoms.retrieve.llm_reranker import LLMReranker
from fathoms.runner.estimate import Estimate, estimate
from fathoms.runs.cache import Cache
from fathoms.types import Question

_IN_PROCESS = (OnnxEmbedder, LexicalEmbedder, SentenceTransformersEmbedder)


@dataclass(frozen=True)
class Plan:
    """The questions by category, the stages by name, and what they take.

    `estimate` is of all questions and repeats, `None` where it cannot be made, and `unknown` then says why.
    It leaves out a reranking model and embeddings. `attached` counts pages and bytes of PDFs (or of images of
    their pages) in all requests, `None` where none are attached. `missing` are the reasons why the run would
    not start.
    """

    name: str
    data: str
    provider: str
    questions: dict[str, int]
    documents: int
    stages: dict[str, str]
    requests: int | None
    attached: dict[str, int] | None
    missing: dict[str, str]
    estimate: Estimate | None
    unknown: str | None


def plan(
    experiment: AnyExperiment,
    corpus: Corpus,
    asked: Sequence[Question],
    cache: Cache,
    *,
    repeats: int = 1,
    workers: int = 2,
    progress: Progress = silent,
) -> Plan:
    """What a run of these questions would do. No model is called but those that run in this process; servers
    of one's own are asked whether they are there."""
    missing = dict(_failing({**experiment.checks(), "scoring": experiment.scoring.check}))
    requests: int | None = len(asked) * repeats
    attached: dict[str, int] | None = None
    found: Estimate | None = None
    unknown = _obstacle(experiment, corpus, cache, missing)
    if unknown is None and isinstance(experiment, Experiment):
        try:
            found, attached = _estimated(experiment, corpus, asked, cache, workers, progress)
            found = sum([found] * repeats, Estimate())
            requests = found.requests
        except FathomsError as error:
            unknown = missing["retrieve"] = str(error)
            requests = None
    return Plan(
        name=experiment.name,
        data=corpus.name,
        provider=experiment.provider,
        questions=dict(Counter(question.category for question in asked)),
        documents=len(corpus.documents),
        stages={name: described(getattr(experiment, name)) for name in experiment.checks()},
        requests=requests,
        attached=attached,
        missing=missing,
        estimate=found,
        unknown=unknown,
    )


def described(component: Any) -> str:
    """A component by its kind, and its model, target or address where it has one."""
    parts = (getattr(component, name, None) for name in ("kind", "model", "target", "url"))
    return " ".join(str(part) for part in parts if part) or "built in"


def _failing(checks: dict[str, Callable[[], None]]) -> Iterator[tuple[str, str]]:
    """The stages that lack something, and what."""
    for name, check in checks.items():
        try:
            check()
        except FathomsError as error:
            yield name, str(error)


def _obstacle(
    experiment: AnyExperiment, corpus: Corpus, cache: Cache, missing: Mapping[str, str]
) -> str | None:
    """Why prompts cannot be packed beforehand, `None` where they can."""
    if not isinstance(experiment, Experiment):
        return "the pipeline makes its own prompts"
    absent = [stage for stage in ("ingest", "chunk", "embed", "retrieve") if stage in missing]
    if absent:
        return f"{', '.join(absent)}: something is missing"
    if isinstance(experiment.generate, Embedded) and "generate" in missing:
        return "generate: something is missing"
    if experiment.retrieve.needs == "vectors" and not isinstance(experiment.embed, _IN_PROCESS):
        return f"embed: {described(experiment.embed)} would have to be called"
    if isinstance(getattr(experiment.retrieve, "by", None), LLMReranker):
        return "retrieve: the reranking model would have to be called"
    if isinstance(experiment.ingest, Docling) and not experiment.is_parsed(corpus.documents, cache):
        return "the documents are not parsed yet: run 'fathoms ingest' first, which may take long"
    return None


def _estimated(
    experiment: Experiment,
    corpus: Corpus,
    asked: Sequence[Question],
    cache: Cache,
    workers: int,
    progress: Progress,
) -> tuple[Estimate, dict[str, int] | None]:
    """What the questions take, and the pages and bytes of PDFs that go along; raises FathomsError."""
    prepared = experiment.prepare(corpus.documents, cache, workers=workers, progress=progress)
    hits = prepared.retrieve(asked) if asked else {}
    found = sum((estimate(prepared, question, hits[question.id]) for question in asked), Estimate())
    if experiment.retrieve.files is None:
        return found, None
    pages, size = attached([hit for row in hits.values() for hit in row])
    return found, {"pages": pages, "bytes": size}
