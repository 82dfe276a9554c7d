"""Scoring a run: the judge, the questions, and the summary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from fathoms.errors import DataError, UsageError
from fathoms.executors import Executor, LocalExecutor
from fathoms.judges.asking import Judged as JudgeResults
from fathoms.judges.asking import Spending
from fathoms.judges.of_run import Judging
from fathoms.metrics.judged_abstention import JudgedAbstention
from fathoms.metrics.linear import Linear
from fathoms.metrics.metric import JudgedMetric, Metric
from fathoms.metrics.people import Labels
from fathoms.metrics.profiles import headline, profile_named, scored_under
from fathoms.metrics.registry import beside_default, distinct, search_metrics
from fathoms.metrics.score_records import Scoring
from fathoms.models.calling.collecting import rare_collections
from fathoms.runs.documents import StoredDocuments, missing_sentence
from fathoms.runs.people import LABELS_FILE, ClaimLabel, read_all, read_samples
from fathoms.runs.records import Entry, Flaw, flaws_sentence
from fathoms.runs.run import Run, read_summary
from fathoms.runs.score_table import write_table
from fathoms.runs.scorings import keep_scoring
from fathoms.runs.trust import is_signed
from fathoms.runs.writing import write_summary
from fathoms.safety.children import Child
from fathoms.scoring.gold import NewGold, gold_of
from fathoms.scoring.measures import measuring, read_measures, trusted_scoring, usable
from fathoms.scoring.questions import QuestionScorer, Rules
from fathoms.scoring.shares import (
    SHARE,
    SHARE_JUDGED,
    VERDICTS,
    WORTH,
    WORTH_JUDGED,
    ScoreJob,
    has_plain_rules,
    processes,
    shares_of,
    started_early,
    weight_of,
    working,
)
from fathoms.scoring.stored_verdicts import Found, are_all_stored
from fathoms.scoring.summary import Results, is_retrieval_only, whole_summary
from fathoms.scoring.until_width import Until
from fathoms.scoring.verdicts import RunVerdicts, verdicts_of, with_key
from fathoms.scoring.work import ScoreWork, score_shares
from fathoms.types.run.manifest import Manifest
from fathoms.types.run.summary import Summary

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
) -> Summary:
    """Score a run under its profiles (`scored_under`) and by its metrics; write the question files,
    verdicts, summary and the table of scores. The summary by another version of the questions is kept.

    `settings` override keys of the `scoring` that the run was made with (`profile=paper`), and `metrics` are
    computed besides those of its configuration. Judgements that the run already holds are not made again;
    `judging` says how others are obtained. `on_done` gets how many answers are scored, and of how many, if
    that takes more than a moment. If the run holds all verdicts, several processes score it where each gets
    `worth` answers or more. With an `executor`, its workers score instead of these processes, from two shares
    of questions on. With `gold`, answers are scored by it instead of by that of the run. A damaged line
    of the journal is skipped and reported in the summary's `warnings`. Returns the summary.
    Raises DataError for a run without any answer or failure, and UsageError for a run from elsewhere whose
    scoring would import code, ask a server, or read the environment or a file.
    """
    settings, metrics = list(settings), tuple(metrics)
    judging = replace(judging or Judging(), executor=executor)
    manifest = run.manifest
    scoring, own = trusted_scoring(run, manifest, settings)
    started = [] if executor or metrics else started_early(_expected_answers(manifest), scoring, own)
    run.records.gold = {}
    entries, flaws = _contents(run)  # read once: the run may be in progress
    if replaced := gold and gold_of(run, entries, gold):
        run.records.gold = replaced.questions
    wanted = _Wanted(scoring, own, metrics, judging, worth, started)
    found = _results(run, manifest, entries, wanted, on_done)
    # of a large run, they would take as much memory as the summary needs
    del entries
    summary = whole_summary(run.id, replaced.manifest(manifest) if replaced else manifest, found, flaws)
    if replaced:
        warnings = (*summary.warnings, *replaced.warnings)
        summary = summary.model_copy(update={"questions": replaced.described, "warnings": warnings})
    keep_scoring(run.path, summary)
    write_summary(run, summary)
    write_table(run.path, found.table)
    return summary


@dataclass(frozen=True)
class _Wanted:
    """How a run is to be scored: by its own metrics and by those that the user asks for besides, judged as
    `judging` says, with the processes that were `started`. See `score_run` for `worth`."""

    scoring: Scoring
    own: tuple[Metric, ...]
    metrics: tuple[Metric, ...]
    judging: Judging
    worth: int
    started: Sequence[Child]


def _results(
    run: Run,
    manifest: Manifest,
    entries: Mapping[tuple[str, int], Entry],
    wanted: _Wanted,
    on_done: Callable[[int, int], None],
) -> Results:
    """Score all questions of a run; write their files and the verdicts."""
    retrieval_only = is_retrieval_only(
        manifest,
        searched=any(entry.searched for entry in entries.values()),
        answered=any(not (entry.searched or entry.failed) for entry in entries.values()),
    )
    computed, left_out = usable(distinct([*wanted.own, *wanted.metrics]))
    names = {metric.name for metric in computed}
    used = [[one for one in some if one.name in names] for some in (wanted.own, wanted.metrics)]
    beside = distinct(chain(*map(beside_default, used)))
    if retrieval_only:
        computed = distinct([*computed, *search_metrics(computed)])
    documents = StoredDocuments(run, manifest)
    measured = measuring(computed, documents)
    is_judged = any(isinstance(metric, JudgedMetric) for metric in measured)
    labels = None
    if is_judged:
        labels = Labels(read_all([run.path / LABELS_FILE], ClaimLabel), read_samples(run.path))
    released = any(entry.released for entry in entries.values())
    rules = _rules(run, manifest, wanted.scoring, labels, released=released, retrieval_only=retrieval_only)
    questions = _by_question(entries)
    size = min(SHARE_JUDGED, wanted.worth) if is_judged else SHARE // weight_of(measured)
    shares = shares_of(questions, manifest.data.asked_ids, size=size)
    job = ScoreJob(run, manifest, rules, measured, shares, partial(_say, on_done, len(entries)))
    rules, scorer, verdicts = _scored_with_stored(job, wanted) or _judged_and_scored(job, wanted, entries)
    if scorer.verdicts:
        run.verdicts(VERDICTS).add(scorer.verdicts)
    run.files.set_aside(questions, {share.file for share in shares if share.file})
    run.tables = {scorer.tables.profile: scorer.tables}
    table = scorer.table.table()
    alien = scorer.document_ids.warning(documents.listed)
    warnings = [*filter(None, [missing_sentence(documents), alien]), *left_out]
    tally, pools, curves = scorer.tally, scorer.pools, scorer.curves
    return Results(rules, computed, beside, verdicts, tally, pools, curves, table, warnings)


def _contents(run: Run) -> tuple[dict[tuple[str, int], Entry], list[Flaw]]:
    """Return the entries of a run's journal and its flaws; raises DataError if there is no entry."""
    entries, flaws = run.records.contents()
    if not entries:
        why = f" ({flaws_sentence(flaws)})" if flaws else ""
        raise DataError(f"{run.path} holds no answers yet{why}: nothing to score")
    return entries, flaws


def _rules(
    run: Run,
    manifest: Manifest,
    scoring: Scoring,
    labels: Labels | None,
    *,
    released: bool,
    retrieval_only: bool,
) -> Rules:
    """Return how the questions of a run are scored, before any verdict is known. `labels` are those of people
    for claims, and `released` says whether the run has released answers."""
    profile = headline(
        manifest.data.name, scoring.profile, scoring.abstention, scored=_is_scored_by(run, "paper")
    )
    return Rules(
        scoring,
        scored_under(profile),
        profile,
        released,
        retrieval_only,
        _retrieves(manifest),
        labels=labels,
        variants=manifest.data.variant_ids,
    )


def _is_scored_by(run: Run, profile: str) -> bool:
    """Return whether a run is scored under a profile by the classifier that this name stands for."""
    summary = read_summary(run.path) or Summary()
    if profile not in summary.profiles:
        return False
    return summary.profiles[profile].classifier_key == profile_named(profile).classifier(Linear()).key


def _expected_answers(manifest: Manifest) -> int:
    """Return how many answers a run has once it is finished, by its manifest."""
    return manifest.data.asked * manifest.repeats


def _by_question(entries: Mapping[tuple[str, int], Entry]) -> dict[str, list[Entry]]:
    """Return the entries of the repeats of each question, in the order in which the questions came."""
    found: dict[str, list[Entry]] = {}
    for (question, _), entry in entries.items():
        found.setdefault(question, []).append(entry)
    return found


def _say(on_done: Callable[[int, int], None], total: int, done: int) -> None:
    """Say how many answers are scored, where that takes more than a moment."""
    if total > _MOMENT:
        on_done(done, total)


_Scored = tuple[Rules, QuestionScorer, RunVerdicts | None]
"""The rules by which a run was scored, what has scored it, and the verdicts of its judge."""


def _scored_with_stored(job: ScoreJob, wanted: _Wanted) -> _Scored | None:
    """Score a large run by several processes or by a cluster, if its journal holds all verdicts of its own
    judge. Otherwise files of questions may have been written, and all of them must be written again."""
    rules, judge = job.rules, read_measures(job.manifest).judge
    needing = [metric for metric in job.metrics if isinstance(metric, JudgedMetric)]
    if not needing or rules.retrieval_only or wanted.metrics or rules.labels or wanted.judging.until_width:
        return None
    if judge is None or wanted.judging.judge is not None or not is_signed(job.manifest):
        return None
    executor, count = _workers(job, wanted.judging.executor, wanted.worth)
    if executor is None or not has_plain_rules(rules.scoring):
        return None
    if not are_all_stored(job.run, judge, job.metrics, job.answers):
        return None
    judge.check()
    scorer, found = _done_by(job, executor, count, judged=True)
    if found is None:
        return None
    spent = Spending(wanted.judging.max_cost, found=len(found.verdicts) + len(found.lists))
    splits = any(metric.splits for metric in needing)
    return rules, scorer, RunVerdicts(judge, JudgeResults(), spent, splits, found)


def _judged_and_scored(job: ScoreJob, wanted: _Wanted, entries: Mapping[tuple[str, int], Entry]) -> _Scored:
    """Obtain the verdicts that are needed, then score a run."""
    needing: list[JudgedMetric | JudgedAbstention] = []
    if not job.rules.retrieval_only:
        needing += [metric for metric in job.metrics if isinstance(metric, JudgedMetric)]
        needing += [one for one in [wanted.scoring.abstention] if isinstance(one, JudgedAbstention)]
    until = _until(job, wanted.judging, needing, entries)
    if verdicts := verdicts_of(job.run, job.manifest, needing, entries, wanted.judging, until):
        scoring = with_key(wanted.scoring, verdicts)
        left_out = {name: one.left_out for name, one in until.stopped.items()} if until else {}
        rules = replace(job.rules, scoring=scoring, judged=verdicts.judged, left_out=left_out)
        verdicts = replace(verdicts, stopped=until.stopped if until else {})
        job = replace(job, rules=rules)
    executor, count = _workers(job, wanted.judging.executor, WORTH // weight_of(job.metrics))
    if executor is None or not job.can_be_shared:
        executor, count = LocalExecutor(), 0
    scorer, _ = _done_by(job, executor, count, wanted.started)
    return job.rules, scorer, verdicts


def _until(
    job: ScoreJob,
    judging: Judging,
    needing: Sequence[JudgedMetric | JudgedAbstention],
    entries: Mapping[tuple[str, int], Entry],
) -> Until | None:
    """Return what judging until intervals are narrow needs; `None` where all is judged. Raises UsageError
    where that is asked for and cannot be done."""
    if judging.until_width is None:
        return None
    if not needing:
        raise UsageError(f"--until-width needs a judged metric, and {job.run.id} is scored by none")
    if job.manifest.data.weights:
        raise UsageError(
            f"--until-width needs questions that count alike: those of {job.run.id} are weighted"
        )
    return Until(judging.until_width, _by_question(entries), job.rules)


def _workers(job: ScoreJob, executor: Executor | None, worth: int) -> tuple[Executor | None, int]:
    """Return who can score the shares instead of this process: the workers of a cluster if there is one, or
    so many child processes. Nobody if that is not worth it."""
    if executor is not None and len(job.shares) > 1:
        return executor, 0
    count = processes(job.answers, worth, len(job.shares))
    return (LocalExecutor(count) if count else None), count


def _done_by(
    job: ScoreJob, executor: Executor, count: int, started: Sequence[Child] = (), *, judged: bool = False
) -> tuple[QuestionScorer, Found | None]:
    """Have an executor score all shares, with so many processes of this machine, of which some are `started`
    already; see `score_shares`."""
    with working(count, started) as children:
        scorer, stages = job.scorer()
        work = ScoreWork(job.run, job.setup(stages, judged=judged), children)
        return scorer, score_shares(scorer, job.shares, work, executor)


def _retrieves(manifest: Manifest) -> bool:
    """Return whether the pipeline of a run has a retriever; one of another program is taken to have one."""
    retrieve = manifest.config.get("retrieve")
    return not isinstance(retrieve, Mapping) or retrieve.get("kind") != "none"
