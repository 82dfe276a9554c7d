"""The metrics by name, as configurations and commands name them, and the named sets of metrics.

To add a metric, write a file with a subclass of `Metric` and add its line to `fathoms/registry.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any

from pydantic import BeforeValidator, TypeAdapter, ValidationError

from fathoms.component import kind_of
from fathoms.errors import UsageError, suggest
from fathoms.metrics.length_support import is_support
from fathoms.metrics.metric import JudgedMetric, Metric
from fathoms.metrics.names import BY_EVIDENCE, EVIDENCE_DOCUMENTS, GOLD_PAGES
from fathoms.metrics.retrieval.names import DEFAULT as RETRIEVAL
from fathoms.metrics.retrieval.names import from_name
from fathoms.registry import OneOf, built_in, plugin
from fathoms.safety.deprecation import warn_of_old_name

RELEASED = "-released"
"""The end of the name of a metric that counts as the code of its authors does (the option `released`)."""

EXPECTED = "-expected"
"""The end of the name of a metric that adds up the probabilities of a judge (the option `counts`)."""


def _kinds(metrics: Iterable[type[Metric]]) -> tuple[str, ...]:
    """Return the names of metrics."""
    return tuple(map(kind_of, metrics))


FATHOMS = (
    *("correctness", "hallucination", "abstention", "coverage", "selective-accuracy"),
    *("truthfulness", "answered-unanswerable", "abstained-answerable", "abstention-f1"),
    *("recall-in-documents", "recall-in-retrieved", "recall-in-prompt"),
    *GOLD_PAGES,
    *EVIDENCE_DOCUMENTS,
    *BY_EVIDENCE,
    *("latency", "prompt-tokens", "completion-tokens", "cost"),
)
"""The metrics of the set `fathoms`, which are computed for every run."""
_OF_EVERY_RUN = (
    *("fathoms.metrics.profile_metrics", "fathoms.metrics.gold_pages", "fathoms.metrics.evidence"),
    "fathoms.metrics.evidence_documents",
    *("fathoms.metrics.truthfulness", "fathoms.metrics.spending", "fathoms.metrics.retrieval.metrics"),
)
"""The modules of the metrics of `default_metrics`: all others take a third of a second to import."""


@cache
def sets() -> Mapping[str, tuple[str, ...]]:
    """Return the sets of metrics by name. `fathoms` is computed for every run, and `retrieval` where it
    applies."""
    from fathoms.metrics.claims import mirage
    from fathoms.metrics.claims.alce import ALCE
    from fathoms.metrics.claims.argue import ARGUE
    from fathoms.metrics.claims.citation_support import CITATION_SUPPORT
    from fathoms.metrics.claims.mm_ragchecker import MM_RAGCHECKER
    from fathoms.metrics.claims.nuggets import NUGGETS
    from fathoms.metrics.claims.ragas import RAGAS
    from fathoms.metrics.claims.ragchecker import RAGCHECKER
    from fathoms.metrics.claims.umbrela import UMBRELA
    from fathoms.metrics.injections import INJECTIONS
    from fathoms.metrics.listed import LISTED
    from fathoms.metrics.quotes.metrics import MMDOCRAG
    from fathoms.metrics.quotes.quality import QUALITY_METRICS
    from fathoms.metrics.reference.short_long import SHORT_LONG

    return {
        "fathoms": FATHOMS,
        "retrieval": RETRIEVAL,
        "rounds": ("recall-by-round", "calls-by-round"),
        "gold-pages": GOLD_PAGES,
        "evidence-documents": EVIDENCE_DOCUMENTS,
        "evidence": BY_EVIDENCE,
        "ragchecker": _kinds(RAGCHECKER),
        "mm-ragchecker": _kinds(MM_RAGCHECKER),
        "ragchecker-released": tuple(f"{kind}{RELEASED}" for kind in _kinds(RAGCHECKER)),
        "mirage-quick": mirage.QUICK,
        "mirage-full": mirage.FULL,
        "alce": _kinds(ALCE),
        "alce-released": tuple(f"{kind}{RELEASED}" for kind in _kinds(ALCE)),
        "argue": _kinds(ARGUE),
        "ragas": _kinds(RAGAS),
        "umbrela": _kinds(UMBRELA),
        "nuggets": _kinds(NUGGETS),
        "citation-support": _kinds(CITATION_SUPPORT),
        "without-gold": (*_kinds(UMBRELA), *_kinds(NUGGETS), *_kinds(CITATION_SUPPORT), "faithfulness"),
        "mmdocrag": (*_kinds(MMDOCRAG), "bleu", "rouge-l"),
        "mmdocrag-quality": _kinds(QUALITY_METRICS),
        "mmdocrag-quality-released": tuple(f"{kind}{RELEASED}" for kind in _kinds(QUALITY_METRICS)),
        "injections": _kinds(INJECTIONS),
        "short-long": _kinds(SHORT_LONG),
        "listed": _kinds(LISTED),
        "text": ("exact-match", "token-f1", "bleu", "rouge-1", "rouge-2", "rouge-l"),
    }


@cache
def metric_kinds() -> Mapping[str, type[Metric]]:
    """Return the metrics by name, in the order of tables."""
    return {kind: one for kind, one in built_in("metrics").items() if issubclass(one, Metric)}


def judged_kinds() -> tuple[str, ...]:
    """Return the names of the metrics that rest on the verdicts of a judge."""
    return tuple(name for name, metric in metric_kinds().items() if issubclass(metric, JudgedMetric))


def _by_name(value: Any) -> Any:
    """Turn the name of a metric, or `module:function` of a metric in Python, into its configuration."""
    if isinstance(value, str):
        if ":" in value:
            return {"kind": "python", "target": value}
        if retrieval := from_name(value):
            return retrieval
        kinds = metric_kinds()
        released = kinds.get(value.removesuffix(RELEASED))
        if value not in kinds and released and "released" in released.model_fields:
            return {"kind": value.removesuffix(RELEASED), "released": True}
        expected = kinds.get(value.removesuffix(EXPECTED))
        if value not in kinds and expected and "counts" in expected.model_fields:
            return {"kind": value.removesuffix(EXPECTED), "counts": "expected"}
        if value not in kinds and plugin("metrics", value, Metric) is None:
            raise ValueError(f"there is no metric '{value}'{suggest(value, [*kinds, *sets(), *RETRIEVAL])}")
        return {"kind": value}
    return value


def _expanded(value: Any) -> Any:
    """Replace the names of sets by the metrics in them."""
    if not isinstance(value, list | tuple):
        return value
    return [item for one in value for item in (_members(one) if isinstance(one, str) else [one])]


def _members(name: str) -> list[Any]:
    """Return the members of a set, or the name itself if it is none. A set goes without BERTScore where its
    model is missing, because the rest of the set stands by itself."""
    if name == "honesty":
        warn_of_old_name("the set of metrics 'honesty'", "'evidence'")
        name = "evidence"
    members = sets().get(name)
    if members is None:
        return [name]
    return [{"kind": one, "optional": True} if one == "bertscore" else one for one in members]


AnyMetric = Annotated[Metric, OneOf("metrics"), BeforeValidator(_by_name)]
Metrics = Annotated[tuple[AnyMetric, ...], BeforeValidator(_expanded)]


def distinct(metrics: Iterable[Metric]) -> tuple[Metric, ...]:
    """Return the metrics without duplicates; raises UsageError if two of them have one name. One that is
    asked for by name and as an optional member of a set is not optional."""
    found: dict[str, Metric] = {}
    for metric in metrics:
        known = found.setdefault(metric.name, metric)
        if known == metric:
            continue
        if _without_optional(known) != _without_optional(metric):
            raise UsageError(f"two metrics are called '{metric.name}': give one of them another label")
        if not getattr(metric, "optional", False):
            found[metric.name] = metric
    return tuple(found.values())


def _without_optional(metric: Metric) -> Metric:
    """Return a metric as it is if it is not optional."""
    return metric.model_copy(update={"optional": False}) if hasattr(metric, "optional") else metric


@cache
def default_metrics() -> tuple[Metric, ...]:
    """Return the metrics that are computed for every run; those of retrieval only count where they apply."""
    kinds = built_in("metrics", _OF_EVERY_RUN)
    configs = [from_name(name) or {"kind": name} for name in (*FATHOMS, *RETRIEVAL)]
    metrics = [kinds[config["kind"]].model_validate(config) for config in configs]
    return tuple(one for one in metrics if isinstance(one, Metric))


def companions(metrics: Iterable[Metric]) -> tuple[Metric, ...]:
    """Return the metrics that are computed beside others because they ask no judge for more and belong to
    what a report says of their claims: both kinds of hallucination, which read the same verdicts as
    `ragchecker.faithfulness`, and the length of answers beside any faithfulness."""
    names = {metric.name for metric in metrics}
    found: list[Metric] = []
    if "ragchecker.faithfulness" in names:
        from fathoms.metrics.claims.sources import ExtrinsicHallucination, IntrinsicHallucination

        found += (IntrinsicHallucination(), ExtrinsicHallucination())
    if any(map(is_support, names)):
        from fathoms.metrics.answer_length import AnswerLength

        found.append(AnswerLength())
    return tuple(found)


def beside_default(metrics: Collection[Metric]) -> tuple[Metric, ...]:
    """Return the metrics without those of the set `fathoms` where it is asked for as a whole: every run is
    scored by it, and few runs have what all of its metrics need."""
    default = set(FATHOMS)
    whole = default <= {metric.name for metric in metrics}
    return tuple(metric for metric in metrics if not (whole and metric.name in default))


def search_metrics(own: Iterable[Metric]) -> tuple[Metric, ...]:
    """Return the metrics that a run is measured by which only searched: those of its `own` that need no
    answer, or the set `retrieval` if there is none."""
    found = tuple(metric for metric in beside_default(distinct(own)) if "answer" not in metric.needs)
    return found or named(["retrieval"])


@cache
def _adapter() -> TypeAdapter[tuple[Metric, ...]]:
    """What validates the names of metrics; making it takes longer than everything else that names need."""
    return TypeAdapter(Metrics)


def named(names: Sequence[str]) -> tuple[Metric, ...]:
    """Return the metrics with these names, of the sets with these names, or of Python functions; raises
    UsageError."""
    try:
        return distinct(_adapter().validate_python(list(names)))
    except ValidationError as error:
        raise UsageError(str(error.errors()[0]["msg"]).removeprefix("Value error, ")) from None
