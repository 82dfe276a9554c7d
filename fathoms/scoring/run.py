"""Scoring a run: the judge, the questions, and the summary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fathoms.errors import DataError
from fathoms.executors import Executor
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
from fathoms.metrics.stages import Stage
from fathoms.models.calling.collecting import rare_collections
from fathoms.runs.documents import StoredDocuments, missing_sentence
from fathoms.runs.marks import variants_of
from fathoms.runs.people import LABELS_FILE, ClaimLabel, read_all
from fathoms.runs.reading import Summary, read_summary
from fathoms.runs.store import Entry, Flaw, Run, flaws_sentence
from fathoms.runs.trust import is_signed
from fathoms.safety.children import Child
from fathoms.scoring.gold import NewGold, gold_of
from fathoms.scoring.held import may_be_held
from fathoms.scoring.measures import measuring, read_measures, trusted_scoring, usable
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
from fathoms.scoring.summary import Results, is_retrieval_only, whole_summary
from fathoms.scoring.verdicts import RunVerdicts, verdicts_of, with_key

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
    scoring, own = trusted_scoring(run, manifest, settings)
    started = [] if executor or metrics else started_early(_expected_answers(manifest), scoring, own)
    run.gold = {}
    entries, flaws = _contents(run)  # read once: the run may be in progress
    if replaced := gold and gold_of(run, entries, gold):
        run.gold = replaced.questions
    retrieval_only = is_retrieval_only(
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
            verdicts = verdicts_of(run, manifest, [*needing, *by_judge], entries, judging)
        if verdicts:
            rules = replace(rules, scoring=with_key(scoring, verdicts), judged=verdicts.judged)
        scorer = _scored(run, manifest, rules, measured, shares, on_done, executor, started)
    if scorer.verdicts:
        run.add_verdicts(VERDICTS, scorer.verdicts)
    run.set_aside_views(questions, {share.file for share in shares if share.file})
    run.tables = scorer.tables if all(share.file for share in shares) else None
    alien = scorer.document_ids.warning((manifest.get("data") or {}).get("documents") or ())
    found = Results(
        rules,
        asked,
        distinct([*beside_default(own), *beside_default(metrics)]),
        verdicts,
        scorer.tally,
        scorer.pools,
        scorer.curves,
        [*filter(None, [missing_sentence(documents), alien]), *left_out],
    )
    # of a large run, they would take as much memory as the summary needs
    del entries, questions, shares, scorer
    summary = whole_summary(run.id, replaced.manifest(manifest) if replaced else manifest, found, flaws)
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
) -> tuple[QuestionScorer, RunVerdicts] | tuple[None, None]:
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
    return scorer, RunVerdicts(judge, JudgeResults(), spent, splits, found)


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


def _retrieves(manifest: Mapping[str, Any]) -> bool:
    """Return whether the pipeline of a run has a retriever; one of another program is taken to have one."""
    retrieve = (manifest.get("config") or {}).get("retrieve")
    return not isinstance(retrieve, Mapping) or retrieve.get("kind") != "none"
