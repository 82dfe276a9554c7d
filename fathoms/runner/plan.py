"""Planning a run: what it would do and what is missing, without calling a remote model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from fathoms.corpora import Corpus
from fathoms.errors import FathomsError
from fathoms.ingest import Docling
from fathoms.metrics.metric import JudgedMetric
from fathoms.models import (
    ChatModel,
    Embedded,
    Generator,
    LexicalEmbedder,
    OnnxEmbedder,
    SentenceTransformersEmbedder,
)
from fathoms.models.caller import provider_of
from fathoms.models.embed.served.base import ServedPageModel
from fathoms.pipeline.answering import PackedQuestion
from fathoms.pipeline.attachments import attached
from fathoms.pipeline.experiment import AnyExperiment, Experiment, ExternalExperiment, SearchExperiment
from fathoms.pipeline.pipeline import Progress, silent
from fathoms.runner.estimate import (
    DESCRIPTION,
    Estimate,
    Estimates,
    MadeOnce,
    added,
    calling,
    estimate,
    judging,
    refining,
    repeated,
)
from fathoms.runs.cache import Cache
from fathoms.types import Purpose, Question

E = TypeVar("E", Experiment, SearchExperiment)
_UNPARSED = "the documents are not parsed yet: run 'fathoms ingest' first, which may take long"
_IN_PROCESS = (OnnxEmbedder, LexicalEmbedder, SentenceTransformersEmbedder)


@dataclass(frozen=True)
class Plan:
    """The questions per category, the stages by name, and the estimated usage of a run.

    `providers` and `estimates` are by what a model is called for. The estimates cover all questions and
    repeats but no embeddings; they are `None` where they cannot be made, and `unknown` then says why.
    `retrieval_only` says that no answers are asked for. `attached` counts pages and bytes of the attached
    PDFs (or of images of their pages) over the questions of one repeat, `None` where none are attached.
    `missing` holds the reasons, by stage, why the run would not start.
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

    @property
    def estimate(self) -> Estimate | None:
        """The estimate of all calls together."""
        return None if self.estimates is None else sum(self.estimates.values(), Estimate())


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
    """Plan a run of these questions. Only models that run in this process are called; servers are only asked
    whether they are reachable."""
    cache.share(experiment.cache)
    missing: dict[str, str] = {}
    for stage, check in {**experiment.checks(), "scoring": experiment.check_scoring}.items():
        try:
            check()
        except FathomsError as error:
            missing[stage] = str(error)
    requests: int | None = len(asked) * repeats if len(experiment.called) == 1 else None
    if isinstance(experiment, SearchExperiment):
        requests = None if experiment.called else 0
    if (describing := _describes_pictures(experiment)) is not None:
        requests = None
    attached: dict[str, int] | None = None
    found: Estimates | None = None
    unknown = _obstacle(experiment, corpus, cache, missing)
    if unknown is None and not isinstance(experiment, ExternalExperiment):
        try:
            if isinstance(experiment, Experiment):
                found, attached = _estimated(_by_ocr(experiment), corpus, asked, cache, workers, progress)
                found = repeated(found, repeats)
                found |= _judging(experiment, found, len(asked) * repeats)
            else:
                searched = _searching(_by_ocr(experiment), corpus, asked, cache, workers, progress)
                found = repeated(searched, repeats)
            found = added([found, _describing(experiment, corpus, cache, workers, progress)])
            requests = sum(part.requests for part in found.values())
        except FathomsError as error:
            unknown = missing["retrieve"] = str(error)
            requests = None
    providers = {purpose: provider_of(model) for purpose, model in experiment.called.items()}
    if describing is not None:
        both = [providers.get("describe"), provider_of(describing)]  # pages when asked, figures beforehand
        providers["describe"] = ", ".join(dict.fromkeys(filter(None, both)))
    if judges := _judges(experiment):
        providers["judge"] = provider_of(judges[-1])
    return Plan(
        name=experiment.name,
        data=corpus.name,
        providers=providers,
        questions=dict(Counter(question.category for question in asked)),
        documents=len(corpus.documents),
        stages={name: described(getattr(experiment, name)) for name in experiment.checks()},
        requests=requests,
        attached=attached,
        missing=missing,
        estimates=found,
        unknown=unknown,
        retrieval_only=isinstance(experiment, SearchExperiment),
    )


def _describes_pictures(experiment: AnyExperiment) -> Generator | None:
    """The model that describes figures and tables before anything is asked, if there is one."""
    if isinstance(experiment, ExternalExperiment) or experiment.cut_out is None:
        return None
    return experiment.cut_out.generate


def _by_ocr(experiment: E) -> E:
    """The experiment with the words of OCR in the place of descriptions, for which nobody is asked."""
    if experiment.cut_out is None:
        return experiment
    return experiment.model_copy(update={"pictures": experiment.cut_out.by_ocr()})


def _describing(
    experiment: Experiment | SearchExperiment,
    corpus: Corpus,
    cache: Cache,
    workers: int,
    progress: Progress,
) -> Estimates:
    """Parse the documents, and estimate the descriptions of figures and tables that are not kept yet."""
    if (model := _describes_pictures(experiment)) is None:
        return {}
    experiment.parse(corpus.documents, cache, workers, progress)
    prompts = experiment.undescribed(corpus.documents, cache)
    return {"describe": calling(model, prompts, DESCRIPTION)} if prompts else {}


def _judges(experiment: AnyExperiment) -> list[ChatModel]:
    """The language models that judge the answers; empty where scoring asks no judge, or none is a model."""
    asked = (
        None if isinstance(experiment, SearchExperiment) or not experiment.asks_judge else experiment.judge
    )
    return list(asked.parts().values()) if asked else []


def _judging(experiment: Experiment, answers: Estimates, questions: int) -> Estimates:
    """Estimate the judging; a cascade as if its last model judged everything."""
    models = _judges(experiment)
    if not models or "answer" not in answers:
        return {}
    judged = [metric for metric in experiment.metrics if isinstance(metric, JudgedMetric)]
    by_claim = sum(metric.splits for metric in judged)
    splits = by_claim > 0 and experiment.judge is not None and experiment.judge.claims == "model"
    found = judging(
        models[-1],
        answers["answer"],
        questions,
        by_claim=by_claim,
        whole=len(judged) - by_claim + (experiment.scoring.abstention.kind == "judge"),
        splits=splits,
        together=1 if experiment.judge is None else experiment.judge.together,
    )
    return {"judge": found}


def described(component: Any) -> str:
    """Describe a component by its kind, and its model, target or URL where it has one."""
    parts = (getattr(component, name, None) for name in ("kind", "model", "target", "url"))
    return " ".join(str(part) for part in parts if part) or "built in"


def _obstacle(
    experiment: AnyExperiment, corpus: Corpus, cache: Cache, missing: Mapping[str, str]
) -> str | None:
    """Why prompts cannot be packed beforehand; `None` where they can."""
    if isinstance(experiment, ExternalExperiment):
        return "the pipeline makes its own prompts"
    if isinstance(experiment, SearchExperiment) and not experiment.called:
        return _obstacle_to_search(experiment, corpus, cache, missing)
    absent = [stage for stage in ("ingest", "chunk", "embed", "retrieve") if stage in missing]
    if absent:
        return f"{', '.join(absent)}: something is missing"
    generate = experiment.generate if isinstance(experiment, Experiment) else None
    if isinstance(generate, Embedded) and "generate" in missing:
        return "generate: something is missing"
    if experiment.retrieve.needs == "vectors" and not isinstance(experiment.embed, _IN_PROCESS):
        return f"embed: {described(experiment.embed)} would have to be called"
    if _takes_long_to_parse(experiment, corpus, cache):
        return _UNPARSED
    pages = experiment.retrieve.pages
    if pages is not None and isinstance(pages.embed, ServedPageModel):
        return _embedding(pages.embed)
    if not experiment.has_embedded_pages(corpus.documents, cache):
        return "the page images are not embedded yet: run 'fathoms ingest' first, which may take long"
    return None


def _obstacle_to_search(
    experiment: SearchExperiment, corpus: Corpus, cache: Cache, missing: Mapping[str, str]
) -> str | None:
    """Why the calls of a search without a language model cannot be estimated: only descriptions of figures
    and tables are, for which the documents must be parsed."""
    pages = experiment.retrieve.pages
    if pages is not None and isinstance(pages.embed, ServedPageModel):
        return _embedding(pages.embed)
    if _describes_pictures(experiment) is None:
        return None  # there is nothing to estimate
    if "ingest" in missing:
        return "ingest: something is missing"
    return _UNPARSED if _takes_long_to_parse(experiment, corpus, cache) else None


def _takes_long_to_parse(experiment: Experiment | SearchExperiment, corpus: Corpus, cache: Cache) -> bool:
    """Whether documents are still to be parsed, by a parser that is too slow for an estimate."""
    return isinstance(experiment.ingest, Docling) and not experiment.is_parsed(corpus.documents, cache)


def _embedding(embed: ServedPageModel) -> str:
    """Say that a server that embeds pages and questions keeps a run from being estimated."""
    return f"pages and questions: {described(embed)} would have to be called to embed them"


def _searching(
    experiment: SearchExperiment,
    corpus: Corpus,
    asked: Sequence[Question],
    cache: Cache,
    workers: int,
    progress: Progress,
) -> Estimates:
    """The estimate of a model that helps to retrieve, for all questions once; raises FathomsError."""
    if not experiment.called:
        return {}
    prepared = experiment.prepare(corpus.documents, cache, workers=workers, progress=progress)
    rows = prepared.search(asked) if asked else []
    pairs, made = zip(asked, rows, strict=True), MadeOnce(prepared.index.kept)
    return added(refining(experiment.retrieve, question, hits, made) for question, hits in pairs)


def _estimated(
    experiment: Experiment,
    corpus: Corpus,
    asked: Sequence[Question],
    cache: Cache,
    workers: int,
    progress: Progress,
) -> tuple[Estimates, dict[str, int] | None]:
    """The estimate of all questions once, and the attached pages and bytes; raises FathomsError."""
    prepared = experiment.prepare(corpus.documents, cache, workers=workers, progress=progress)
    hits = prepared.retrieve(asked, corpus.select()) if asked else {}
    made = MadeOnce(prepared.index.kept)
    found = added(estimate(PackedQuestion(prepared, item, hits[item.id]), made) for item in asked)
    if experiment.retrieve.files is None:
        return found, None
    pages, size = attached([hit for row in hits.values() for hit in row])
    return found, {"pages": pages, "bytes": size}
