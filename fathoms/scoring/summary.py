"""The summary of a scored run: its figures, its counts, and what a reader must know about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, TypeVar

from fathoms.errors import amount_of
from fathoms.judges.journal import damage_sentence
from fathoms.judges.judge import CUT, UNPARSED
from fathoms.metrics.aggregate import summarise
from fathoms.metrics.columns import averaged
from fathoms.metrics.funnel_summary import summarise_funnels
from fathoms.metrics.judged_abstention import JudgedAbstention
from fathoms.metrics.length_support import length_against_support
from fathoms.metrics.metric import Metric
from fathoms.metrics.nearest_neighbour import released_exemplars
from fathoms.metrics.pooling import Pool, pooled
from fathoms.metrics.profiles import has_own_exemplars
from fathoms.metrics.question_facts import BareRecord
from fathoms.metrics.registry import FATHOMS
from fathoms.metrics.retrieval.curves import Curves
from fathoms.metrics.score_records import Scores
from fathoms.models.stop_reasons import says_ends
from fathoms.runs.records import Flaw, flaws_sentence
from fathoms.runs.score_table import ScoreTable
from fathoms.runs.search_notes import search_notes
from fathoms.runs.service import service_figures
from fathoms.scoring.questions import Rules
from fathoms.scoring.tally import Tally
from fathoms.scoring.verdicts import RunVerdicts
from fathoms.types.run.figures import MetricFigure, MetricFigures, ProfileFigures, RunFunnel
from fathoms.types.run.manifest import Data, Manifest
from fathoms.types.run.part import MADE, SCHEMA
from fathoms.types.run.summary import Counts, RetrievalFigures, SearchSeconds, Seconds, Summary

F = TypeVar("F", ProfileFigures, MetricFigures, RunFunnel)
_HELP = ("expand", "rerank", "describe", "extract")
"""The stages of a language model that helps to retrieve."""
_STAGES = ("retrieve", *_HELP, "prompt", "generate")
BY_WORDS = (
    "'paper-by-words' finds abstentions by hashed words, so its hallucination is not that of 'paper':"
    " run 'fathoms models pull minilm-l6-v2', then 'fathoms score {run}'"
)
"""The warning of a run that would be scored under `paper` if the weights were on this machine."""
EMPTY = (
    "{empty} of {answers} replies {were} empty or held only reasoning: under 'fathoms' they are wrong, and"
    " neither statements nor abstentions"
)
"""The warning of a run with replies that hold no answer."""
NOT_OWN = (
    "the profile 'paper' has the exemplars and the embedder of fathoms; those of scoring.abstention decide"
    " under --profile paper-configured"
)
"""The warning of a run under `paper` whose configuration has exemplars or an embedder of its own."""
NOT_RELEASED = (
    "hallucination under '{profile}' rests on the exemplars of fathoms, which give 84 % of the 744 flags of"
    " hallucination in FATHOMS-RAG's result files at hand; those that its authors released give 88 %: run"
    " {pull}'fathoms score {run} --profile paper-configured --set abstention.exemplars=released'"
)
"""The warning of a run on FATHOMS-RAG under a profile of the paper with the exemplars of fathoms."""


@dataclass(frozen=True)
class Results:
    """What scoring a run has found. `computed` are the metrics, without those that every run has, `beside`
    those of them that the configuration or the user names, and `table` the scores in columns."""

    rules: Rules
    computed: Sequence[Metric]
    beside: Sequence[Metric]
    verdicts: RunVerdicts | None
    tally: Tally
    pools: Mapping[str, Pool]
    curves: Curves
    table: ScoreTable
    warnings: Sequence[str]


WEIGHTED = (
    "the questions are a random sample with other rates by category: means over all questions weigh each"
    " category by its number of questions, means of categories do not, and what adds up counts over all"
    " answers is refused"
)


def whole_summary(run: str, manifest: Manifest, found: Results, flaws: Sequence[Flaw]) -> Summary:
    """Return the summary of a run with the figures of all its metrics. `flaws` are those of its journal."""
    rules, tally, verdicts = found.rules, found.tally, found.verdicts
    data, config, answered = manifest.data, manifest.config, tally.counts["answered"]
    records, rows = tally.without(rules.variants)
    scores = Scores(rules.scoring, rows, {})
    categories = tuple(data.categories) or tuple(dict.fromkeys(one.category for one in tally.questions))
    names = {metric.name for metric in found.computed} - set(FATHOMS)
    metrics = _figures(found.pools, verdicts, names, rules.profile, categories)
    profiles = _profiles(records, scores, manifest, categories)
    counts = _counts(data, tally, says_ends=says_ends(config))
    service = service_figures(answered, tally.services, config)
    spent = tally.sums.totals(verdicts.verdicts if verdicts else ())  # leaves out replies from the cache
    unlabelled = tally.counts["unlabelled"] if isinstance(rules.scoring.abstention, JudgedAbstention) else 0
    unjudged = max(tally.counts["unjudged"], unlabelled)
    incomplete = _incomplete(manifest, tally)
    warnings = [
        *([flaws_sentence(flaws)] if flaws else []),
        *_answer_warnings(manifest, tally, service, counts),
        *found.warnings,
        *([WEIGHTED] if data.weights else ()),
        *_profile_warnings(run, data.name, rules, profiles, len(records)),
        *(_judging_warnings(verdicts, unjudged, unlabelled, len(tally)) if verdicts else ()),
        *_too_shallow(manifest, found.computed),
        # a configuration that was only searched with asks for metrics of its answers, too
        *(
            figures.missing
            for metric in found.beside
            if (figures := metrics.get(metric.name)) and figures.missing
            if not (rules.retrieval_only and "answer" in metric.needs)
        ),
    ]
    if incomplete and flaws:
        incomplete.append(flaws_sentence(flaws))  # unusable lines may be the reason for missing answers
    return Summary(
        schema=SCHEMA,
        run=run,
        name=manifest.name,
        model=manifest.model,
        data=data.name,
        profile=rules.profile,
        complete=not incomplete,
        incomplete=tuple(incomplete),
        categories=categories,
        warnings=tuple(warnings),
        counts=counts,
        retries=dict(tally.retries.most_common()) or None,
        repeats=manifest.repeats,
        retrieval_only=is_retrieval_only(
            manifest, searched=tally.counts["searched"] > 0, answered=answered > 0
        ),
        prices=manifest.prices,
        profiles=profiles,
        usage={name: spent[name] for name in ("prompt_tokens", "completion_tokens")},
        cost=spent["cost"],
        usage_by_purpose=spent.get("usage_by_purpose"),
        seconds=Seconds(wall=manifest.totals.seconds, **_seconds(tally), stages=_stage_times(tally)),
        errors=dict(tally.errors),
        service=service or None,
        judging=verdicts and {**verdicts.described, "unjudged": unjudged},
        metrics=metrics,
        length_against_support=length_against_support(found.pools) or None,
        retrieval=_retrieval(manifest, found),
    )


def _profiles(
    records: Sequence[BareRecord], scores: Scores, manifest: Manifest, categories: Sequence[str]
) -> dict[str, ProfileFigures]:
    """Return the figures under each profile, with the retrieval funnel where it is known."""
    figures, funnels = summarise(records, scores), summarise_funnels(records, scores)
    if manifest.data.weights:  # shares of all answers, which count each answer once
        figures = {name: one.model_copy(update={"abstention_rates": None}) for name, one in figures.items()}
    for name, funnel in funnels.items():
        ordered = _ordered(funnel, categories).model_copy(update={"estimate": _estimate(manifest)})
        figures[name] = figures[name].model_copy(update={"funnel": ordered})
    return {name: _ordered(found, categories) for name, found in figures.items()}


def _ordered(figures: F, categories: Sequence[str]) -> F:
    """Put the categories of some figures into the order of the data set; before, they stand in the
    order in which answers came."""
    unordered: Mapping[str, Any] = figures.categories
    order = dict.fromkeys([*(name for name in categories if name in unordered), *unordered])
    return figures.model_copy(update={"categories": {name: unordered[name] for name in order}})


def _answer_warnings(
    manifest: Manifest, tally: Tally, service: Mapping[str, Any] | None, counts: Counts
) -> Iterator[str]:
    """Yield what a reader must know about the answers and the search."""
    if unmarked := tally.counts["lacks_mark"]:
        yield (
            f"{unmarked} of {tally.counts['answered']} replies lack the marks that the prompt asks for before"
            " the answer; they are scored whole"
        )
    yield from service["warnings"] if service else ()
    yield from search_notes(manifest)
    if variants := manifest.data.variants:
        yield (
            f"{len(variants)} of the questions are variants of others: they are compared with their"
            " originals, and count in no other figure"
        )
    if lost := tally.counts["lost_contexts"]:
        yield (
            f"the prompts and hits of {lost} of {len(tally)} answers cannot be read, because files in the"
            " run's folder 'blobs' are missing, damaged or too large: what is measured on them leaves these"
            " answers out"
        )
    if unread := tally.counts["unread"]:
        yield (
            f"the search texts for {unread} of {len(tally)} answers could not be read from the reply of"
            " retrieve.generate: these questions were searched for as they are"
        )
    if failed := tally.counts["documents_failed"]:
        yield (
            f"{failed} of {len(tally)} answers were combined without some documents, because the calls about"
            " these documents failed: 'fathoms show RUN QUESTION' names them"
        )
    yield from counts.suspicions


def _profile_warnings(
    run: str, data: str | None, rules: Rules, profiles: Mapping[str, ProfileFigures], answers: int
) -> Iterator[str]:
    """Yield what a reader must know about the profiles."""
    if "fathoms" in profiles and (empty := profiles["fathoms"].labels.get("empty")):
        yield EMPTY.format(empty=empty, answers=answers, were="was" if empty == 1 else "were")
    if rules.profile == "paper" and has_own_exemplars(rules.scoring.abstention):
        yield NOT_OWN
    if (
        data == "fathoms-rag"
        and rules.profile in ("paper", "paper-configured")
        and rules.scoring.abstention.exemplars is None
        and not rules.retrieval_only
    ):
        pull = "" if released_exemplars() else "'fathoms data pull fathoms-rag', then "
        yield NOT_RELEASED.format(run=run, profile=rules.profile, pull=pull)
    if rules.profile == "paper-by-words" and rules.scoring.profile is None and not rules.retrieval_only:
        yield BY_WORDS.format(run=run)


def _judging_warnings(verdicts: RunVerdicts, unjudged: int, unlabelled: int, answers: int) -> Iterator[str]:
    """Yield what a reader must know about the verdicts; of `unjudged` answers, a part has none, and
    `unlabelled` ones were to be labelled by the judge and have no label."""
    if unjudged:
        failed = Counter(failure.message for failure in verdicts.judged.unjudged.values())
        why = "".join(f" ({count} x {message})" for message, count in failed.most_common(1))
        unread = any(one.label == UNPARSED and one.why != CUT for one in verdicts.verdicts)
        can_ask = (failed or unread) and not verdicts.judge.keeps_claims
        again = "; 'fathoms score' asks again for what failed or could not be read" if can_ask else ""
        yield f"{unjudged} of {answers} answers are judged only in part{why}{again}"
    if unlabelled:
        yield (
            f"{unlabelled} of {answers} answers have no abstention label, because the judge gave no"
            " verdict; they count in no rate of hallucination or abstention"
        )
    if number := verdicts.spending.again:
        yield (
            amount_of(number, "replies of the judge that could not be read were asked for again:")
            + f" {verdicts.spending.reread} can be read now"
        )
    if verdicts.spending.is_spent:
        yield "judging was stopped by its budget; 'fathoms score' asks for the missing verdicts"
    if verdicts.spending.damaged:
        yield damage_sentence(verdicts.spending.damaged)


def _figures(
    pools: Mapping[str, Pool],
    verdicts: RunVerdicts | None,
    requested: Collection[str],
    profile: str,
    categories: Sequence[str],
) -> dict[str, MetricFigures]:
    """Return the figures of the metrics that are not stored with a profile. `requested` are the names of the
    metrics that the user asked for, and `profile` is the headline profile."""
    found = {}
    for name, pool in pools.items():
        metric = pool.metric
        if metric.in_profile or not (name in requested or metric.group is None or not pool.applies_to_none):
            continue
        figures = _ordered(pool.figures(verdicts.by(metric) if verdicts else None), categories)
        if verdicts and (stopped := verdicts.stopped.get(name)):
            figures = stopped.shown(figures)
        more: dict[str, Any] = {"asked": name in requested}
        if metric.follows_profile:
            more["profile"] = profile
        if figures.parts:  # without those that have a row of their own
            rows = {part for part, whole in metric.halves.items() if whole in requested}
            more["parts"] = {part: one for part, one in figures.parts.items() if part not in rows}
        found[name] = figures.model_copy(update=more)
    return found


def is_retrieval_only(manifest: Manifest, *, searched: bool, answered: bool) -> bool:
    """Return whether nobody was asked for an answer: the manifest says so, or questions were only searched
    for and none was answered, as in imported hits."""
    return manifest.retrieval_only or (searched and not answered)


def _counts(data: Data, tally: Tally, *, says_ends: bool) -> Counts:
    """Count questions and answers. A question counts once; answers and errors count once per repeat. What is
    not known is left out."""
    counts, known = tally.counts, len(tally.questions)
    tells = says_ends or counts["unended"] < counts["answered"] - counts["refused"]
    of_records = {name: counts[name] for name in Counts.model_fields}
    others = {
        "questions": data.questions or known,
        "asked": data.asked or known,
        "unanswered": max(0, data.asked - known),
        "errors": tally.errors.total(),
        "unanswerable": sum(not question.answerable for question in tally.questions),
        "same": tally.same(),
        "unended": counts["unended"] if tells else None,
    }
    return Counts.model_validate(of_records | others, context=MADE)


def _incomplete(manifest: Manifest, tally: Tally) -> list[str]:
    """Explain why these figures do not cover the whole data set; empty where they do."""
    data, repeats = manifest.data, manifest.repeats
    sizes = data.category_sizes
    recorded = Counter(question.category for question in tally.questions)
    missing = [name for name in sizes if not recorded[name]]
    sentences = []
    if missing:
        sentences.append(f"no question of {', '.join(missing)} was asked")
    partly = [
        f"{recorded[name]} of {sizes[name]} in {name}" for name in sizes if 0 < recorded[name] < sizes[name]
    ]
    if partly:
        sentences.append(f"not all questions were asked: {', '.join(partly)}")
    left = data.asked * repeats - len(tally)
    if left > 0:
        what = "questions" if repeats == 1 else f"questions ({data.asked}, {repeats} times each)"
        still = "were not searched for yet" if manifest.retrieval_only else "have no answer yet"
        sentences.append(f"{left} of {data.asked * repeats} {what} {still}")
    if manifest.totals.stopped == "budget":
        sentences.append("the run was stopped by its budget")
    if failures := data.ingest and data.ingest.failures:
        sentences.append(f"documents were left out because they cannot be read: {', '.join(failures)}")
    if data.missing_documents:
        sentences.append(f"documents are missing: {', '.join(data.missing_documents)}")
    return sentences


def _too_shallow(manifest: Manifest, metrics: Iterable[Metric]) -> list[str]:
    """Say which metrics go deeper than a run that only searched was searched for."""
    depth = manifest.depth
    if depth is None:
        return []
    deeper = [metric.name for metric in metrics if int(getattr(metric, "k", None) or 0) > depth]
    if not deeper:
        return []
    return [
        f"{', '.join(deeper)}: the run searched until {depth} different pages were found, so what it would"
        " have found after them does not count; name these metrics in the configuration and run it again"
    ]


def _estimate(manifest: Manifest) -> str | None:
    """The parser of the documents' text where it is not the text that the pipeline read; otherwise `None`."""
    if parser := manifest.data.parser:
        return str(parser)
    config = manifest.config
    attached = (config.get("retrieve") or {}).get("kind") == "files"
    return str(config["ingest"]["kind"]) if attached else None


def _retrieval(manifest: Manifest, found: Results) -> RetrievalFigures | None:
    """Return the figures of retrieval over all questions: curves of depth, and seconds if nobody was asked
    for an answer."""
    parts: dict[str, Any] = {}
    if found.rules.retrieval_only:
        parts["seconds"] = _search_seconds(found.tally.seconds)
    if curves := found.curves.figures(manifest.depth or 0):
        parts["curves"] = curves
    return RetrievalFigures(**parts) if parts else None


def _search_seconds(seconds: Mapping[str, Sequence[float]]) -> SearchSeconds:
    """Return the mean seconds that a run took to search for one question (`value`), by its `n` questions.

    Questions are searched for in blocks, and those of a block have the same time, so the interval is that of
    the mean over `blocks`. Reranking by a language model, question by question, is part of the time, and its
    variation is not part of the interval. `low` and `high` are `None` if there are too few blocks for one.
    """
    import numpy as np

    from fathoms.stats.intervals import log_t_interval

    searches, rerankings = (seconds.get(stage) or () for stage in ("retrieve", "rerank"))
    if not searches:
        return SearchSeconds(value=None, low=None, high=None, n=0, blocks=0)
    more = fmean(rerankings) if rerankings else 0.0
    blocks = np.array(list(dict.fromkeys(searches)))
    found = log_t_interval([blocks], np.ones(1))
    low, high = (None, None) if found is None else (found.low + more, found.high + more)
    value = fmean(searches) + more
    return SearchSeconds(value=value, low=low, high=high, n=len(searches), blocks=len(blocks))


def _seconds(tally: Tally) -> dict[str, float | None]:
    """Mean seconds per stage of the questions that were really asked, leaving out cached answers."""
    stages = ["retrieve", "prompt", "generate"]
    stages[1:1] = [stage for stage in _HELP if stage in tally.stages]
    known = {stage: tally.seconds.get(stage) for stage in stages}
    return {stage: fmean(values) if values else None for stage, values in known.items()}


def _stage_times(tally: Tally) -> dict[str, MetricFigure]:
    """Return the mean seconds of a question for each stage that any record has, in the order of the pipeline,
    and for all stages together (`total`).

    Each holds `value`, `low`, `high`, `method` and the number `n` of questions. Repeats are averaged within
    their question, and answers from the cache are left out. There is no interval where the values do not
    differ: retrieval searches for all questions at once, so that each has the mean.
    """
    order = [*_STAGES, *sorted(tally.stages - {*_STAGES}), "total"]
    return {stage: _stage_time(tally, stage) for stage in order if stage in tally.stages or stage == "total"}


def _stage_time(tally: Tally, stage: str) -> MetricFigure:
    """Return the mean of one stage over the questions."""
    column = averaged(tally.questions, tally.timed.get(stage, ()), tally.seconds.get(stage, ()))
    return pooled(column.as_one(), "questions", "seconds").overall
