"""Planning a run: what it would do and what is missing, without calling a remote model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fathoms.corpora import Corpus
from fathoms.errors import FathomsError
from fathoms.models.caller import provider_of
from fathoms.models.embed.served.served_model import ServedPageModel
from fathoms.pipeline.answering import Ingested, PackedQuestion
from fathoms.pipeline.attachments import attached
from fathoms.pipeline.pipeline import Stages
from fathoms.pipeline.preparation import Preparation, Progress, silent
from fathoms.pipeline.runnable import Judging, Runnable
from fathoms.pipeline.searching import Searching
from fathoms.runner.estimate import (
    DESCRIPTION,
    Estimate,
    Estimates,
    SharedReplies,
    added,
    assumed,
    calling,
    estimate,
    judging,
    refining,
    repeated,
)
from fathoms.runs.cache import Cache
from fathoms.types import Purpose, Question, Record

_UNPARSED = "the documents are not parsed yet: run 'fathoms ingest' first, which may take long"
_IN_PROCESS = ("onnx", "lexical", "sentence-transformers")


@dataclass(frozen=True)
class Plan:
    """The questions per category, the stages by name, and the estimated usage of a run.

    `providers` and `estimates` are by what a model is called for. The estimates cover all questions and
    repeats but no embeddings; they are `None` where they cannot be made, and `unknown` then says why.
    `retrieval_only` says that no answers are asked for. `attached` counts pages and bytes of the attached
    PDFs (or of images of their pages) over the questions of one repeat, `None` where none are attached.
    `missing` holds the reasons, by stage, why the run would not start, and `stage_names` what it goes
    through.
    """

    name: str
    data: str
    providers: dict[Purpose, str]
    questions: dict[str, int]
    documents: int
    stages: dict[str, str]
    requests: int | None
    attached: dict[str, int] | None
    missing: dict[str, str]
    estimates: Estimates | None
    unknown: str | None
    retrieval_only: bool = False
    stage_names: tuple[str, ...] = ()

    @property
    def estimate(self) -> Estimate | None:
        """The estimate of all calls together."""
        return None if self.estimates is None else sum(self.estimates.values(), Estimate())


def plan(
    experiment: Runnable,
    corpus: Corpus,
    questions: Sequence[Question],
    cache: Cache,
    *,
    repeats: int = 1,
    workers: int = 2,
    progress: Progress = silent,
) -> Plan:
    """Plan a run of these questions. Only models that run in this process are called; servers are only asked
    whether they are reachable."""
    cache.share(experiment.cache)
    missing: dict[str, str] = {}
    for stage, check in {**experiment.checks(), "scoring": experiment.check_scoring}.items():
        try:
            check()
        except FathomsError as error:
            missing[stage] = str(error)
    stages, judge = experiment.stages, experiment.judging
    requests: int | None = len(questions) * repeats if len(experiment.called) == 1 else None
    if experiment.depth is not None:
        requests = None if experiment.called else 0
    describing = None if stages is None else stages.describes_pictures
    if describing is not None:
        requests = None
    attached: dict[str, int] | None = None
    found: Estimates | None = None
    unknown = _obstacle(experiment, corpus, cache, missing)
    if unknown is None and stages is not None:
        work = Preparation(cache, workers, progress, spared=corpus.spared)
        try:
            once: Estimates = {}
            judged: Estimates = {}
            if experiment.called:
                once, attached, judged = _estimated(stages, corpus, questions, work, judge, repeats)
            found = added([repeated(once, repeats), judged])
            found = added([found, _describing(stages, corpus, work)])
            requests = sum(part.requests for part in found.values())
        except FathomsError as error:
            unknown = missing["retrieve"] = str(error)
            requests = None
    providers = {purpose: provider_of(model) for purpose, model in experiment.called.items()}
    if describing is not None:
        both = [providers.get("describe"), provider_of(describing)]  # pages when asked, figures beforehand
        providers["describe"] = ", ".join(dict.fromkeys(filter(None, both)))
    if judge is not None:
        providers["judge"] = provider_of(judge.model)
    return Plan(
        name=experiment.name,
        data=corpus.name,
        providers=providers,
        questions=dict(Counter(question.category for question in questions)),
        documents=len(corpus.documents),
        stages={name: described(getattr(experiment, name)) for name in experiment.checks()},
        requests=requests,
        attached=attached,
        missing=missing,
        estimates=found,
        unknown=unknown,
        retrieval_only=experiment.depth is not None,
        stage_names=tuple(stage_names(experiment)),
    )


def _describing(stages: Stages, corpus: Corpus, work: Preparation) -> Estimates:
    """Parse the documents, and estimate the descriptions of figures and tables that are not kept yet."""
    if (model := stages.describes_pictures) is None:
        return {}
    stages.parse(corpus.documents, work)
    prompts = stages.undescribed(corpus.documents, work.cache)
    return {"describe": calling(model, prompts, DESCRIPTION)} if prompts else {}


def stage_names(experiment: Runnable) -> list[str]:
    """Return what a run goes through, in order, by the names that its progress has."""
    found, stages = [], experiment.stages
    if stages is not None:
        found += ["parse", "chunk", *(["embed"] if stages.retrieve.embeds else [])]
    found.append("answer" if experiment.depth is None else "search")
    return [*found, *(["judge"] if experiment.judging is not None else []), "score"]


def described(component: Any) -> str:
    """Describe a component by its kind, and its model, target or URL where it has one."""
    parts = (getattr(component, name, None) for name in ("kind", "model", "target", "url"))
    return " ".join(dict.fromkeys(str(part) for part in parts if part)) or "built in"


def _obstacle(experiment: Runnable, corpus: Corpus, cache: Cache, missing: Mapping[str, str]) -> str | None:
    """Why prompts cannot be packed beforehand; `None` where they can."""
    if (stages := experiment.stages) is None:
        return "the pipeline makes its own prompts"
    if not experiment.called:
        return _obstacle_to_search(stages, corpus, cache, missing)
    absent = [stage for stage in ("ingest", "chunk", "embed", "retrieve") if stage in missing]
    if absent:
        return f"{', '.join(absent)}: something is missing"
    if getattr(experiment.generator, "kind", None) == "embedded" and "generate" in missing:
        return "generate: something is missing"
    if stages.retrieve.embeds and stages.embed.kind not in _IN_PROCESS:
        return f"embed: {described(stages.embed)} would have to be called"
    if _takes_long_to_parse(stages, corpus, cache):
        return _UNPARSED
    pages = stages.retrieve.pages
    if pages is not None and isinstance(pages.embed, ServedPageModel):
        return _embedding(pages.embed)
    if not stages.has_embedded_pages(corpus.documents, cache):
        return "the page images are not embedded yet: run 'fathoms ingest' first, which may take long"
    return None


def _obstacle_to_search(
    stages: Stages, corpus: Corpus, cache: Cache, missing: Mapping[str, str]
) -> str | None:
    """Why the calls of a search without a language model cannot be estimated: only descriptions of figures
    and tables are, for which the documents must be parsed."""
    pages = stages.retrieve.pages
    if pages is not None and isinstance(pages.embed, ServedPageModel):
        return _embedding(pages.embed)
    if stages.describes_pictures is None:
        return None  # there is nothing to estimate
    if "ingest" in missing:
        return "ingest: something is missing"
    return _UNPARSED if _takes_long_to_parse(stages, corpus, cache) else None


def _takes_long_to_parse(stages: Stages, corpus: Corpus, cache: Cache) -> bool:
    """Whether documents are still to be parsed, by a parser that is too slow for an estimate."""
    return stages.ingest.kind == "docling" and not stages.is_parsed(corpus.documents, cache)


def _embedding(embed: ServedPageModel) -> str:
    """Say that a server that embeds pages and questions keeps a run from being estimated."""
    return f"pages and questions: {described(embed)} would have to be called to embed them"


def _estimated(
    stages: Stages,
    corpus: Corpus,
    questions: Sequence[Question],
    work: Preparation,
    judge: Judging | None,
    repeats: int,
) -> tuple[Estimates, dict[str, int] | None, Estimates]:
    """The estimate of all questions once, the attached pages and bytes, and the estimate of judging the
    answers of all repeats; raises FathomsError."""
    plain = stages.by_ocr()
    prepared = plain.prepare(
        corpus.documents,
        work.cache,
        workers=work.workers,
        progress=work.progress,
        spared=corpus.spared,
    )
    if isinstance(prepared, Searching):  # with a model that helps to retrieve
        rows = prepared.search(questions) if questions else []
        pairs, shared = zip(questions, rows, strict=True), SharedReplies(prepared.index.replies)
        return added(refining(stages.retrieve, question, hits, shared) for question, hits in pairs), None, {}
    assert isinstance(prepared, Ingested)
    found = prepared.retrieve(questions, corpus.select()) if questions else {}
    shared = SharedReplies(prepared.index.replies)
    estimates: Estimates = {}
    records: list[Record] = []
    for item in questions:
        packed = PackedQuestion(prepared, item, found[item.id])
        one = estimate(packed, shared)
        estimates = added([estimates, one])
        if judge is not None and one:
            records += [assumed(packed, len(records) + repeat) for repeat in range(repeats)]
    documents = {document.id: document for document in prepared.documents}
    judged: Estimates = {"judge": judging(judge, records, documents)} if judge is not None and records else {}
    if stages.retrieve.files is None:
        return estimates, None, judged
    pages, size = attached([hit for row in found.values() for hit in row])
    return estimates, {"pages": pages, "bytes": size}, judged
