"""Scoring a run: the judge, the questions, and the summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from fathoms.config import Source, fingerprint, override, validate
from fathoms.errors import ConfigError, DataError, StoreError, UsageError
from fathoms.executors import Executor
from fathoms.judges import Judge
from fathoms.judges.agreement import last_check
from fathoms.judges.asking import Judged as JudgeResults
from fathoms.judges.asking import Spending, decomposer
from fathoms.judges.base import CUT, UNPARSED
from fathoms.judges.journal import damage_sentence
from fathoms.judges.of_run import Judging, judge_run
from fathoms.metrics.aggregate import summarise
from fathoms.metrics.asked import AskedRecord
from fathoms.metrics.claims.compared import spending
from fathoms.metrics.claims.extraction import sentence_of
from fathoms.metrics.funnel_summary import summarise_funnels
from fathoms.metrics.judged_abstention import JudgedAbstention
from fathoms.metrics.length_support import length_against_support
from fathoms.metrics.linear import Linear
from fathoms.metrics.metric import JudgedMetric, Metric
from fathoms.metrics.people import Labels
from fathoms.metrics.pooling import JudgedBy, Pool
from fathoms.metrics.profiles import has_own_exemplars, headline, profile_named, scored_under
from fathoms.metrics.registry import (
    JUDGED,
    SETS,
    beside_default,
    distinct,
    named,
    search_metrics,
)
from fathoms.metrics.score_records import Scores, Scoring
from fathoms.metrics.stages import Stage
from fathoms.models.calling.collecting import rare_collections
from fathoms.models.stop_reasons import says_ends
from fathoms.runs.documents import StoredDocuments, missing_sentence
from fathoms.runs.folder import SCHEMA
from fathoms.runs.marks import variants_of
from fathoms.runs.people import LABELS_FILE, ClaimLabel, read_all
from fathoms.runs.reading import Counts, Summary, read_summary
from fathoms.runs.search_notes import search_notes
from fathoms.runs.service import service_figures
from fathoms.runs.store import Entry, Flaw, Run, flaws_sentence
from fathoms.runs.trust import Demand, demands, is_signed, refuse
from fathoms.safety.children import Child
from fathoms.scoring.gold import NewGold, gold_of
from fathoms.scoring.held import Found, may_be_held
from fathoms.scoring.measures import measuring, read_measures, usable
from fathoms.scoring.on_cluster import ScoreWork, score_on_cluster
from fathoms.scoring.questions import QuestionScorer, Rules
from fathoms.scoring.shares import (
    SHARE,
    SHARE_JUDGED,
    VERDICTS,
    WORTH,
    WORTH_JUDGED,
    Share,
    can_be_shared,
    has_plain_rules,
    processes,
    run_texts,
    score_held,
    score_in_shares,
    setup_of,
    shares_of,
    started_early,
    weight_of,
    working,
)
from fathoms.scoring.stage_times import stage_times
from fathoms.scoring.tally import Tally
from fathoms.types import Rubric, Verdict

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
_MOMENT = 1_000
"""So many answers are scored within a second or two."""


@rare_collections()
def score_run(
    run: Run,
    settings: Iterable[str] = (),
    metrics: Iterable[Metric] = (),
    judging: Judging | None = None,
    on_done: Callable[[int, int], None] = lambda done, total: None,
    worth: int = WORTH_JUDGED,
    executor: Executor | None = None,
    gold: NewGold | None = None,
) -> dict[str, Any]:
    """Score a run under its profiles (`scored_under`) and by its metrics; write the question files,
    verdicts and summary.

    `settings` override keys of the `scoring` that the run was made with (`profile=paper`), and `metrics` are
    computed besides those of its configuration. Judgements that the run already holds are not made again;
    `judging` says how others are obtained. `on_done` is told how many answers are scored, and of how many, if
    that takes more than a moment. If the run holds all verdicts, several processes score it where each gets
    `worth` answers or more. With an `executor`, its workers score instead of these processes, from two shares
    of questions on. With `gold`, answers are scored by it instead of by that of the run. A damaged line
    of the journal is skipped and reported in the summary's `warnings`. Returns the summary.
    Raises DataError for a run without any answer or failure, and UsageError for a run from elsewhere whose
    scoring would import code, ask a server, or read the environment or a file.
    """
    settings, metrics = list(settings), tuple(metrics)
    judging = replace(judging or Judging(), executor=executor)
    manifest = run.manifest()
    scoring, own = _trusted_scoring(run, manifest, settings)
    started = [] if executor or metrics else started_early(_expected_answers(manifest), scoring, own)
    run.gold = {}
    entries, flaws = _contents(run)  # read once: the run may be in progress
    if replaced := gold and gold_of(run, entries, gold):
        run.gold = replaced.questions
    retrieval_only = _retrieval_only(
        manifest,
        searched=any(entry.searched for entry in entries.values()),
        answered=any(not (entry.searched or entry.failed) for entry in entries.values()),
    )
    asked, left_out = usable(distinct([*own, *metrics]))
    names = {metric.name for metric in asked}
    own, metrics = (tuple(one for one in some if one.name in names) for some in (own, metrics))
    if retrieval_only:
        asked = distinct([*asked, *search_metrics(asked)])
    documents = StoredDocuments(run, manifest)
    measured = measuring(asked, documents)
    needing = [metric for metric in measured if isinstance(metric, JudgedMetric)]
    by_judge = [scoring.abstention] if isinstance(scoring.abstention, JudgedAbstention) else []
    released = any(entry.released for entry in entries.values())
    labels = Labels(read_all([run.path / LABELS_FILE], ClaimLabel)) if needing else None
    rules = _rules(run, manifest, scoring, labels, released=released, retrieval_only=retrieval_only)
    questions = _by_question(entries)
    size = min(SHARE_JUDGED, worth) if needing else SHARE // weight_of(measured)
    shares = shares_of(questions, (manifest.get("data") or {}).get("asked_ids") or (), size=size)
    scorer = verdicts = None
    if needing and not (retrieval_only or metrics or by_judge):
        scorer, verdicts = _scored_as_held(
            run, manifest, rules, measured, shares, judging, on_done, worth, executor
        )
    if scorer is None:
        if not retrieval_only:
            verdicts = _verdicts(run, manifest, [*needing, *by_judge], entries, judging)
        if verdicts:
            rules = replace(rules, scoring=_with_key(scoring, verdicts), judged=verdicts.judged)
        scorer = _scored(run, manifest, rules, measured, shares, on_done, executor, started)
    if scorer.verdicts:
        run.add_verdicts(VERDICTS, scorer.verdicts)
    run.set_aside_views(questions, {share.file for share in shares if share.file})
    run.tables = scorer.tables if all(share.file for share in shares) else None
    alien = scorer.document_ids.warning((manifest.get("data") or {}).get("documents") or ())
    found = _Results(
        rules,
        asked,
        distinct([*beside_default(own), *beside_default(metrics)]),
        verdicts,
        scorer.tally,
        scorer.pools,
        _retrieval(manifest, scorer, timed=retrieval_only),
        [*filter(None, [missing_sentence(documents), alien]), *left_out],
    )
    # of a large run, they would take as much memory as the summary needs
    del entries, questions, shares, scorer
    summary = _whole_summary(run.id, replaced.manifest(manifest) if replaced else manifest, found, flaws)
    if replaced:
        summary["questions"] = dict(replaced.described)
        summary["warnings"] += replaced.warnings
    run.write_summary(summary)
    return summary


def _contents(run: Run) -> tuple[dict[tuple[str, int], Entry], list[Flaw]]:
    """Return the entries of a run's journal and its flaws; raises DataError if there is no entry."""
    entries, flaws = run.contents()
    if not entries:
        why = f" ({flaws_sentence(flaws)})" if flaws else ""
        raise DataError(f"{run.path} holds no answers yet{why}: nothing to score")
    return entries, flaws


def _rules(
    run: Run,
    manifest: Mapping[str, Any],
    scoring: Scoring,
    labels: Labels | None,
    *,
    released: bool,
    retrieval_only: bool,
) -> Rules:
    """Return how the questions of a run are scored, before any verdict is known. `labels` are those of people
    for claims, and `released` says whether the run has released answers."""
    data = (manifest.get("data") or {}).get("name")
    profile = headline(data, scoring.profile, scoring.abstention, scored=_is_scored_by(run, "paper"))
    return Rules(
        scoring,
        scored_under(profile),
        profile,
        released,
        retrieval_only,
        _retrieves(manifest),
        labels=labels,
        variants=variants_of(manifest),
    )


def _is_scored_by(run: Run, profile: str) -> bool:
    """Return whether a run is scored under a profile by the classifier that this name stands for."""
    summary = read_summary(run.path) or Summary()
    if profile not in summary.profiles:
        return False
    return summary.profiles[profile].classifier_key == profile_named(profile).classifier(Linear()).key


def _with_key(scoring: Scoring, verdicts: _Verdicts) -> Scoring:
    """Return the scoring; where the judge labels abstentions, with the fingerprint of the judge."""
    abstention = scoring.abstention
    if not isinstance(abstention, JudgedAbstention):
        return scoring
    return scoring.model_copy(update={"abstention": abstention.by(verdicts.key_of(abstention.rubrics))})


def _retrieval(manifest: Mapping[str, Any], scorer: QuestionScorer, *, timed: bool) -> dict[str, Any]:
    """Return the figures of retrieval over all questions: curves of depth, and seconds if `timed`."""
    found: dict[str, Any] = {"seconds": search_seconds(scorer.tally.seconds)} if timed else {}
    if curves := scorer.curves.figures(manifest.get("depth") or 0):
        found["curves"] = curves
    return found


@dataclass(frozen=True)
class _Results:
    """What scoring a run has found. `asked` are the metrics that were computed, and `beside` those of them
    that the configuration or the user names besides the default ones."""

    rules: Rules
    asked: Sequence[Metric]
    beside: Sequence[Metric]
    verdicts: _Verdicts | None
    tally: Tally
    pools: Mapping[str, Pool]
    retrieval: Mapping[str, Any]
    warnings: Sequence[str]


def _whole_summary(
    run: str, manifest: Mapping[str, Any], found: _Results, flaws: Sequence[Flaw]
) -> dict[str, Any]:
    """Return the summary of a run with the figures of all its metrics. `flaws` are those of its journal."""
    rules, tally, verdicts = found.rules, found.tally, found.verdicts
    records, rows = tally.without(rules.variants)
    scores = Scores(rules.scoring, rows, {})
    summary = summary_of(
        run, manifest, tally, records, scores, flaws, verdicts.made if verdicts else (), rules.profile
    )
    summary["warnings"] += found.warnings
    if empty := summary["profiles"].get("fathoms", {}).get("labels", {}).get("empty"):
        summary["warnings"].append(
            EMPTY.format(empty=empty, answers=len(records), were="was" if empty == 1 else "were")
        )
    if rules.profile == "paper" and has_own_exemplars(rules.scoring.abstention):
        summary["warnings"].append(NOT_OWN)
    if rules.profile == "paper-by-words" and rules.scoring.profile is None and not rules.retrieval_only:
        summary["warnings"].append(BY_WORDS.format(run=run))
    if verdicts is not None:
        by_judge = isinstance(rules.scoring.abstention, JudgedAbstention)
        unlabelled = tally.counts["unlabelled"] if by_judge else 0
        unjudged = max(tally.counts["unjudged"], unlabelled)
        summary["judging"] = {**verdicts.described, "unjudged": unjudged}
        summary["warnings"] += _judging_warnings(verdicts, unjudged, unlabelled, len(tally))
    names = {metric.name for metric in found.asked} - set(SETS["fathoms"])
    summary["metrics"] = _figures(found.pools, verdicts, names, rules.profile)
    if against := length_against_support(found.pools):
        summary["length_against_support"] = against
    if found.retrieval:
        summary["retrieval"] = dict(found.retrieval)
    summary["warnings"] += _too_shallow(manifest, found.asked)
    for metric in found.beside:
        # a configuration that was only searched with asks for metrics of its answers, too
        if not (rules.retrieval_only and "answer" in metric.needs):
            summary["warnings"] += filter(None, [summary["metrics"].get(metric.name, {}).get("missing")])
    for name, funnels in summarise_funnels(records, scores).items():
        summary["profiles"][name]["funnel"] = {**funnels, "estimate": _estimate(manifest)}
    _order_categories(summary)
    return summary


def _judging_warnings(verdicts: _Verdicts, unjudged: int, unlabelled: int, answers: int) -> Iterator[str]:
    """Yield what a reader must know about the verdicts; of `unjudged` answers, a part has none, and
    `unlabelled` ones were to be labelled by the judge and have no label."""
    if unjudged:
        failed = Counter(failure.message for failure in verdicts.judged.unjudged.values())
        why = "".join(f" ({count} x {message})" for message, count in failed.most_common(1))
        unread = any(one.label == UNPARSED and one.why != CUT for one in verdicts.made)
        can_ask = (failed or unread) and not verdicts.judge.keeps_claims
        again = "; 'fathoms score' asks again for what failed or could not be read" if can_ask else ""
        yield f"{unjudged} of {answers} answers are not judged as a whole{why}{again}"
    if unlabelled:
        yield (
            f"{unlabelled} of {answers} answers have no abstention label, because the judge gave no"
            " verdict; they count in no rate of hallucination or abstention"
        )
    if number := verdicts.spending.again:
        yield (
            f"{number} repl{'y' if number == 1 else 'ies'} of the judge that could not be read"
            f" {'was' if number == 1 else 'were'} asked for again: {verdicts.spending.reread} can be read now"
        )
    if verdicts.spending.is_spent:
        yield "judging was stopped by its budget; 'fathoms score' asks for the missing verdicts"
    if verdicts.spending.damaged:
        yield damage_sentence(verdicts.spending.damaged)


def _figures(
    pools: Mapping[str, Pool], verdicts: _Verdicts | None, asked: Collection[str], profile: str
) -> dict[str, dict[str, Any]]:
    """Return the figures of the metrics that are not stored with a profile; `asked` are those that the user
    asked for, and `profile` is the headline profile."""
    found = {
        name: {
            **pool.figures(verdicts.by(pool.metric) if verdicts else None),
            "asked": name in asked,
            **({"profile": profile} if pool.metric.follows_profile else {}),
        }
        for name, pool in pools.items()
        if not pool.metric.in_profile
        and (name in asked or pool.metric.group is None or not pool.applies_to_none)
    }
    for name, figures in found.items():
        for part, metric in pools[name].metric.halves.items():
            if metric in asked:  # it has a row of its own
                figures.get("parts", {}).pop(part, None)
    return found


@dataclass(frozen=True)
class _Verdicts:
    """The results of judging a run, and what they took."""

    judge: Judge
    judged: JudgeResults
    spending: Spending
    splits: bool = True
    held: Found | None = None

    @property
    def made(self) -> Collection[Verdict]:
        """All verdicts, without their claims where other processes have looked them up."""
        return (self.held or self.judged).verdicts.values()

    @property
    def key(self) -> str:
        """A fingerprint of the judge with all its settings."""
        return fingerprint(self.judge.identity())

    def prompts(self, asked: Iterable[Rubric | Literal["claims"]]) -> tuple[str, ...]:
        """The prompts of the judge for what is asked, with their versions; none of a judge without any."""
        return tuple(sorted(filter(None, map(self.judge.prompt_of, asked))))

    def key_of(self, rubrics: Iterable[Rubric]) -> str:
        """A fingerprint of the judge with all that decides its verdicts under some rubrics. That of claims
        is in the fingerprint of the judge."""
        others = self.prompts(set(rubrics) - {"support"})
        return fingerprint(self.key, others) if others else self.key

    def by(self, metric: Metric) -> JudgedBy:
        """Who gave the verdicts that a metric rests on, if it rests on any."""
        if not isinstance(metric, JudgedMetric):  # it reads the grades of answers
            return JudgedBy(self.judge.name, self.key_of(("grade", "correct")))
        prompts = self.prompts(metric.rubrics)
        if metric.splits and self.judge.claims == "model":
            prompts += self.prompts(["claims"])
        # people label claims, so a check says nothing of grades, relevance or nuggets
        checked = self.checked if metric.rubrics == {"support"} else None
        return JudgedBy(self.judge.name, self.key_of(metric.rubrics), prompts, checked)

    @cached_property
    def checked(self) -> dict[str, Any] | None:
        """How well the judge agreed with people on claims when it was last checked with these settings."""
        return None if (found := last_check(self.key)) is None else found.model_dump()

    @property
    def described(self) -> dict[str, Any]:
        """The judge and the counts, as the summary stores them.

        `asked` counts the calls of this scoring, `found` the results that the run held before. `cost` is in
        US dollars and covers this scoring alone, `None` where unknown.
        """
        spent, verdicts, lists = self.spending, self.made, (self.held or self.judged).lists
        kept = spending(list(verdicts), list(lists.values()))
        return {
            "judge": self.judge.name,
            "key": self.key,
            "checked": self.checked,
            **({"claims": self._claims()} if self.splits else {}),
            "asked": spent.asked,
            "found": spent.found,
            "failed": spent.failed,
            **({"retried": spent.retried, "retries": spent.retries} if spent.retried else {}),
            "cost": spent.cost,
            "over_budget": spent.is_spent,
            "total_cost": kept["cost"],
            "verdicts": dict(Counter(verdict.label for verdict in verdicts)),
            "kept": kept,
        }

    def _claims(self) -> dict[str, str]:
        """How texts were split into claims, and what is known of this way of splitting."""
        name = decomposer(self.judge)
        return {"decomposer": name, "sentence": sentence_of(name)}


def _verdicts(
    run: Run,
    manifest: Mapping[str, Any],
    needing: Sequence[JudgedMetric | JudgedAbstention],
    entries: Mapping[tuple[str, int], Entry],
    judging: Judging,
) -> _Verdicts | None:
    """Obtain the verdicts that metrics and the abstention classifier need; `None` if none needs any. Raises
    UsageError if there is no judge."""
    if not needing:
        return None
    measures = read_measures(manifest)
    judge = judging.judge or measures.judge
    if judge is None:
        first = needing[0]
        name = first.name if isinstance(first, JudgedMetric) else "scoring.abstention of kind judge"
        raise UsageError(
            f"{name} needs a judge, and the configuration of {run.id} has none: name a file"
            " with one by --judge"
        )
    read = partial(run.read, entries.values())
    if not is_signed(manifest) and any(hit.chunk.image for record in read() for hit in record.hits or ()):
        # the paths of a run from elsewhere may point at anything
        refuse(run.id, manifest, [Demand(("hits", "image"), "sends the pictures at its paths to the judge")])
    how = replace(judging, execution=measures.execution, timeout=measures.question_timeout)
    splits = any(isinstance(one, JudgedMetric) and one.splits for one in needing)
    return _Verdicts(judge, *judge_run(run, judge, needing, read, how), splits)


def judged_by(run: Run) -> tuple[Judge | None, tuple[JudgedMetric, ...]]:
    """Return the judge of a run's configuration, and all judged metrics, those of the configuration with its
    options. Raises UsageError where the run is from elsewhere and its configuration would do more than read
    the run."""
    manifest = run.manifest()
    _, own = _trusted_scoring(run, manifest, ())
    known = {metric.name: metric for metric in (*named(JUDGED), *own) if isinstance(metric, JudgedMetric)}
    documents = StoredDocuments(run, manifest)
    return read_measures(manifest).judge, tuple(metric.reading(documents) for metric in known.values())


def read_scoring(manifest: Mapping[str, Any], settings: Iterable[str] = ()) -> Scoring:
    """Read the scoring configuration of a run from its manifest, ignoring the rest of its configuration.

    Raises StoreError if the manifest itself is wrong, and ConfigError if the settings are.
    """
    changed = list(settings)
    config = (manifest.get("config") or {}).get("scoring") or {}
    try:
        if not isinstance(config, Mapping):
            raise ConfigError("scoring: expected a mapping")
        source = override(Source("scoring", dict(config)), changed)
        return validate(Scoring, source, trusted=is_signed(manifest))
    except ConfigError as error:
        if changed:
            raise
        run = manifest.get("run")
        raise StoreError(f"manifest.json of {run}, config: {error}") from error


def _estimate(manifest: Mapping[str, Any]) -> str | None:
    """The parser of the documents' text where it is not the text that the pipeline read; otherwise `None`."""
    if parser := (manifest.get("data") or {}).get("parser"):
        return str(parser)
    config = manifest.get("config") or {}
    attached = (config.get("retrieve") or {}).get("kind") == "files"
    return str(config["ingest"]["kind"]) if attached else None


_EXEMPLARS = ("config", "scoring", "abstention", "exemplars")


def _trusted_scoring(
    run: Run, manifest: Mapping[str, Any], settings: Collection[str]
) -> tuple[Scoring, tuple[Metric, ...]]:
    """The scoring of a run with the user's settings applied and its exemplars located, and the metrics of its
    configuration. Raises UsageError where the run is from elsewhere and its scoring would do more than read
    the run."""
    scoring, measures = read_scoring(manifest, settings), read_measures(manifest)
    run.keep = scoring.reading.keep
    own = [setting.partition("=")[0].strip() for setting in settings]
    found = [] if is_signed(manifest) else demands(scoring, ("config", "scoring"), own=own)
    if not is_signed(manifest):
        found += demands(measures, ("config",))
    kept = _kept_exemplars(run, scoring)
    foreign = any(demand.key == _EXEMPLARS for demand in found)
    refuse(run.id, manifest, [demand for demand in found if demand.key != _EXEMPLARS or kept is None])
    return _with_exemplars(run, scoring, kept, look=not foreign), measures.metrics


def _kept_exemplars(run: Run, scoring: Scoring) -> Path | None:
    """The run's own copy of the exemplar file; `None` if missing, or if a link leads outside of the run."""
    path = scoring.abstention.exemplars
    if path is None:
        return None
    kept = (run.path / "verdicts" / f"exemplars{path.suffix}").absolute()
    return kept if kept.is_file() and kept.resolve() == run.path.resolve() / "verdicts" / kept.name else None


def _with_exemplars(run: Run, scoring: Scoring, kept: Path | None, *, look: bool) -> Scoring:
    """Return the scoring with its exemplar file, of which a copy is stored in the run. The copy is used where
    the file is gone or must not be read."""
    path = scoring.abstention.exemplars
    if path is None:
        return scoring
    if look and path.is_file():
        run.keep_file(f"verdicts/exemplars{path.suffix}", path.read_bytes())
        return scoring
    if kept is None:
        return scoring  # reading the file will raise the error
    return scoring.model_copy(
        update={"abstention": scoring.abstention.model_copy(update={"exemplars": kept})}
    )


def _expected_answers(manifest: Mapping[str, Any]) -> int:
    """Return how many answers a run has once it is finished, by its manifest."""
    asked: int = (manifest.get("data") or {}).get("asked") or 0
    return asked * (manifest.get("repeats") or 1)


def _answers(shares: Sequence[Share]) -> int:
    """Return the number of answers."""
    return sum(share.answers for share in shares)


def _by_question(entries: Mapping[tuple[str, int], Entry]) -> dict[str, list[Entry]]:
    """Return the entries of the repeats of each question, in the order in which the questions came."""
    found: dict[str, list[Entry]] = {}
    for (question, _), entry in entries.items():
        found.setdefault(question, []).append(entry)
    return found


def _scored(
    run: Run,
    manifest: Mapping[str, Any],
    rules: Rules,
    metrics: Sequence[Metric],
    shares: Sequence[Share],
    on_done: Callable[[int, int], None],
    executor: Executor | None,
    started: Sequence[Child],
) -> QuestionScorer:
    """Score all questions of a run and write their files, by the processes that were `started` if several
    are worth it."""
    cluster = executor if len(shares) > 1 else None
    count = 0 if cluster else processes(_answers(shares), WORTH // weight_of(metrics), len(shares))
    if (cluster or count) and not can_be_shared(run, manifest, rules, metrics):
        cluster, count = None, 0
    with working(count, started) as children:
        scorer, stages = _scorer(run, manifest, rules, metrics, shares, on_done)
        if cluster is not None:
            work = ScoreWork.of(run, setup_of(run, manifest, rules, stages))
            score_on_cluster(scorer, shares, work, cluster)
        elif children:
            score_in_shares(scorer, shares, setup_of(run, manifest, rules, stages), children)
        else:
            for share in shares:
                scorer.score(*share)
    return scorer


def _scored_as_held(
    run: Run,
    manifest: Mapping[str, Any],
    rules: Rules,
    metrics: Sequence[Metric],
    shares: Sequence[Share],
    judging: Judging,
    on_done: Callable[[int, int], None],
    worth: int,
    executor: Executor | None,
) -> tuple[QuestionScorer, _Verdicts] | tuple[None, None]:
    """Score all questions of a large run by several processes, if its journal holds all verdicts of its own
    judge. Otherwise files of questions may have been written, and all of them must be written again."""
    judge = read_measures(manifest).judge
    answers = _answers(shares)
    count = min(2, len(shares)) if executor else processes(answers, worth, len(shares))
    if judge is None or judging.judge is not None or count < 2 or not is_signed(manifest):
        return None, None
    if rules.labels or not has_plain_rules(rules.scoring) or not may_be_held(run, judge, metrics, answers):
        return None, None
    judge.check()
    with working(0 if executor else count) as children:
        scorer, stages = _scorer(run, manifest, rules, metrics, shares, on_done)
        setup = setup_of(run, manifest, rules, stages, judged=True)
        if executor is None:
            found = score_held(scorer, shares, setup, children)
        else:
            found = score_on_cluster(scorer, shares, ScoreWork.of(run, setup), executor)
    if found is None:
        return None, None
    spent = Spending(judging.max_cost, found=len(found.verdicts) + len(found.lists))
    splits = any(isinstance(one, JudgedMetric) and one.splits for one in metrics)
    return scorer, _Verdicts(judge, JudgeResults(), spent, splits, found)


def _scorer(
    run: Run,
    manifest: Mapping[str, Any],
    rules: Rules,
    metrics: Sequence[Metric],
    shares: Sequence[Share],
    on_done: Callable[[int, int], None],
) -> tuple[QuestionScorer, list[Stage]]:
    """Return what scores the questions of a run, and the stages of the funnel that are known for any."""
    total = _answers(shares)

    def told(done: int) -> None:
        if total > _MOMENT:
            on_done(done, total)

    texts = run_texts(run, manifest)
    asked = [entry for share in shares for entries in share.questions for entry in entries]
    stages = texts.known_stages(run.read(asked), with_prompts=any(entry.prompted for entry in asked))
    known = run.verdicts(VERDICTS)
    return QuestionScorer(run, rules, metrics, known, texts, stages, told), sorted(stages)


def summary_of(
    run: str,
    manifest: Mapping[str, Any],
    tally: Tally,
    records: Sequence[AskedRecord],
    scores: Scores,
    flaws: Sequence[Flaw] = (),
    verdicts: Iterable[Verdict] = (),
    profile: str = "fathoms",
) -> dict[str, Any]:
    """Build the summary of a run: means per profile, counts, usage and seconds. `records` and `scores` are
    those of the means, and `tally` has all. Reports show `profile` first.

    The format is `schemas/summary.schema.json`.
    """
    data = manifest.get("data", {})
    incomplete = _incomplete(manifest, tally)
    warnings = [flaws_sentence(flaws)] if flaws else []
    if incomplete:
        incomplete += warnings  # unusable lines may be the reason for missing answers
    spent = tally.sums.totals(verdicts)  # leaves out replies from the cache
    if unmarked := tally.counts["lacks_mark"]:
        answered = tally.counts["answered"]
        warnings.append(
            f"{unmarked} of {answered} replies lack the marks that the prompt asks for before the answer;"
            " they are scored whole"
        )
    service = service_figures(tally.counts["answered"], tally.told, manifest.get("config") or {})
    warnings = [*warnings, *(service["warnings"] if service else ())]
    warnings += search_notes(manifest)
    if variants := variants_of(manifest):
        warnings.append(
            f"{len(variants)} of the questions are variants of others: they are compared with their"
            " originals, and count in no other figure"
        )
    if lost := tally.counts["lost_contexts"]:
        warnings.append(
            f"the prompts and hits of {lost} of {len(tally)} answers cannot be read, because files in the"
            " run's folder 'blobs' are missing, damaged or too large: what is measured on them leaves these"
            " answers out"
        )
    if unread := tally.counts["unread"]:
        warnings.append(
            f"the search texts for {unread} of {len(tally)} answers could not be read from the reply of"
            " retrieve.generate: these questions were searched for as they are"
        )
    counts = _counts(data, tally, says_ends=says_ends(manifest.get("config") or {}))
    warnings += Counts.model_validate(counts).suspicions
    return {
        "schema": SCHEMA,
        "run": run,
        "name": manifest["name"],
        "model": manifest.get("model"),
        "data": data.get("name"),
        "profile": profile,
        "complete": not incomplete,
        "incomplete": incomplete,
        "categories": data.get("categories") or list(dict.fromkeys(one.category for one in tally.asked)),
        "warnings": warnings,
        "counts": counts,
        **({"retries": dict(tally.retries.most_common())} if tally.retries else {}),
        "repeats": manifest.get("repeats") or 1,
        "retrieval_only": _retrieval_only(
            manifest, searched=tally.counts["searched"] > 0, answered=tally.counts["answered"] > 0
        ),
        "prices": manifest.get("prices"),
        "profiles": summarise(records, scores),
        "usage": {name: spent[name] for name in ("prompt_tokens", "completion_tokens")},
        "cost": spent["cost"],
        **{name: spent[name] for name in ("usage_by_purpose",) if name in spent},
        "seconds": {
            "wall": manifest.get("totals", {}).get("seconds"),
            **_seconds(tally),
            "stages": stage_times(tally),
        },
        "errors": dict(tally.errors),
        **({"service": service} if service else {}),
    }


def _retrieval_only(manifest: Mapping[str, Any], *, searched: bool, answered: bool) -> bool:
    """Return whether nobody was asked for an answer: the manifest says so, or questions were only searched
    for and none was answered, as in imported hits."""
    return bool(manifest.get("retrieval_only")) or (searched and not answered)


def _retrieves(manifest: Mapping[str, Any]) -> bool:
    """Return whether the pipeline of a run has a retriever; one of another program is taken to have one."""
    retrieve = (manifest.get("config") or {}).get("retrieve")
    return not isinstance(retrieve, Mapping) or retrieve.get("kind") != "none"


def _order_categories(summary: dict[str, Any]) -> None:
    """Put the categories of all figures into the order of the data set; figures are made in the order in
    which answers came."""
    figures = [*summary["profiles"].values(), *summary["metrics"].values()]
    for found in [*figures, *(one["funnel"] for one in figures if one.get("funnel"))]:
        made = found["categories"]
        first = [name for name in summary["categories"] if name in made]
        found["categories"] = {name: made[name] for name in dict.fromkeys([*first, *made])}


def _counts(data: Mapping[str, Any], tally: Tally, *, says_ends: bool) -> dict[str, int]:
    """Count questions and answers. A question counts once; answers and errors count once per repeat. What is
    not known is left out."""
    counts, asked = tally.counts, len(tally.asked)
    same, unended = tally.same(), counts["unended"]
    tells = says_ends or unended < counts["answered"] - counts["refused"]
    return {
        "questions": data.get("questions") or asked,
        "asked": data.get("asked") or asked,
        "unanswered": max(0, (data.get("asked") or 0) - asked),
        "answered": counts["answered"],
        "searched": counts["searched"],
        "errors": tally.errors.total(),
        "refused": counts["refused"],
        "unanswerable": sum(not question.answerable for question in tally.asked),
        "cut_prompts": counts["cut_prompts"],
        "cut_by_server": counts["cut_by_server"],
        "cached": counts["cached"],
        "reasoned": counts["reasoned"],
        "empty": counts["empty"],
        "markup": counts["markup"],
        **({} if same is None else {"same": same}),
        **({"unended": unended} if tells else {}),
        "calls": counts["calls"],
        "retried": counts["retried"],
    }


def _incomplete(manifest: Mapping[str, Any], tally: Tally) -> list[str]:
    """Explain why these figures do not cover the whole data set; empty where they do."""
    data: Mapping[str, Any] = manifest.get("data", {})
    sizes: Mapping[str, int] = data.get("category_sizes") or {}
    asked = Counter(question.category for question in tally.asked)
    missing = [name for name in sizes if not asked[name]]
    sentences = []
    if missing:
        sentences.append(f"no question of {', '.join(missing)} was asked")
    partly = [f"{asked[name]} of {sizes[name]} in {name}" for name in sizes if 0 < asked[name] < sizes[name]]
    if partly:
        sentences.append(f"not all questions were asked: {', '.join(partly)}")
    repeats = manifest.get("repeats") or 1
    left = (data.get("asked") or 0) * repeats - len(tally)
    if left > 0:
        what = "questions" if repeats == 1 else f"questions ({data['asked']}, {repeats} times each)"
        still = "were not searched for yet" if manifest.get("retrieval_only") else "have no answer yet"
        sentences.append(f"{left} of {data['asked'] * repeats} {what} {still}")
    if (manifest.get("totals") or {}).get("stopped") == "budget":
        sentences.append("the run was stopped by its budget")
    if failures := (data.get("ingest") or {}).get("failures"):
        sentences.append(f"documents were left out because they cannot be read: {', '.join(failures)}")
    if data.get("missing_documents"):
        sentences.append(f"documents are missing: {', '.join(data['missing_documents'])}")
    return sentences


def _too_shallow(manifest: Mapping[str, Any], metrics: Iterable[Metric]) -> list[str]:
    """Say which metrics go deeper than a run that only searched was searched for."""
    depth = manifest.get("depth")
    if not isinstance(depth, int):
        return []
    deeper = [metric.name for metric in metrics if int(getattr(metric, "k", None) or 0) > depth]
    if not deeper:
        return []
    return [
        f"{', '.join(deeper)}: the run searched until {depth} different pages were found, so what it would"
        " have found after them does not count; name these metrics in the configuration and run it again"
    ]


def search_seconds(seconds: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """Return the mean seconds that a run took to search for one question (`value`), by its `n` questions.

    Questions are searched for in blocks, and those of a block have the same time, so the interval is that of
    the mean over `blocks`. Reranking by a language model, question by question, is part of the time, and its
    variation is not part of the interval. `low` and `high` are `None` if there are too few blocks for one.
    """
    import numpy as np

    from fathoms.stats.intervals import log_t_interval

    searches, rerankings = (seconds.get(stage) or () for stage in ("retrieve", "rerank"))
    if not searches:
        return {"value": None, "low": None, "high": None, "n": 0, "blocks": 0}
    more = fmean(rerankings) if rerankings else 0.0
    blocks = np.array(list(dict.fromkeys(searches)))
    found = log_t_interval([blocks], np.ones(1))
    low, high = (None, None) if found is None else (found.low + more, found.high + more)
    value = fmean(searches) + more
    return {"value": value, "low": low, "high": high, "n": len(searches), "blocks": len(blocks)}


def _seconds(tally: Tally) -> dict[str, float | None]:
    """Mean seconds per stage of the questions that were really asked, leaving out cached answers."""
    stages = ["retrieve", "prompt", "generate"]
    stages[1:1] = [stage for stage in ("expand", "rerank", "describe") if stage in tally.stages]
    known = {stage: tally.seconds.get(stage) for stage in stages}
    return {stage: fmean(values) if values else None for stage, values in known.items()}
