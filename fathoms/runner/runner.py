"""Running experiments: ask every question, and store each answer on disk before it counts."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from fathoms.corpora import Corpus
from fathoms.corpora.versions import keep_questions
from fathoms.errors import UsageError
from fathoms.models.caching import ReplyCache
from fathoms.models.caller import Caller
from fathoms.models.calling.collecting import rare_collections
from fathoms.models.calling.provider_calls import ProviderCalls
from fathoms.models.calling.stop import Stop, StopSignals
from fathoms.pipeline.loading import clock
from fathoms.pipeline.preparation import Preparation, Progress, silent
from fathoms.pipeline.prepared import Prepared
from fathoms.pipeline.runnable import Runnable
from fathoms.runner.active_run import ActiveRun, Ended, Outcome
from fathoms.runner.budget import Budget
from fathoms.runner.manifest import describe, shared_cache
from fathoms.runner.reopen import Reopened, Turn, require_same, unanswered
from fathoms.runner.reservations import require_price, require_room_for_descriptions
from fathoms.runs.cache import Cache
from fathoms.runs.documents import keep_documents
from fathoms.runs.run import Run
from fathoms.runs.usage import total
from fathoms.runs.writing import locked, new_run, require_writable
from fathoms.safety.option_limits import MOST_AT_ONCE, MOST_REPEATS
from fathoms.safety.signals import ending_in_time
from fathoms.types import Hit, Question, Record
from fathoms.types.run.manifest import Sweep

OnRecord = Callable[[Record, int, int], None]
"""Called with (record, done, total) per finished question; the counts are sums over all runs."""


@dataclass(frozen=True)
class Tally:
    """Progress of the questions to one provider. `cost` is in US dollars; `None` if any part is unknown.
    `retrieval_only` says that they are only searched for, and `documents` how many documents were asked by
    themselves, of how many."""

    provider: str
    done: int
    total: int
    failed: int
    cached: int
    cost: float | None
    retrieval_only: bool = False
    documents: tuple[int, int] | None = None


OnTally = Callable[[Tally], None]


@dataclass(frozen=True)
class Selection:
    """Which questions are asked; empty means all. `limit` takes questions from the categories in turn."""

    limit: int | None = None
    categories: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Job:
    """A run to be made: an experiment, its data, and the folder that relative paths in it start from."""

    experiment: Runnable
    corpus: Corpus
    folder: Path = Path()
    cell: Mapping[str, Any] = field(default_factory=dict)
    """The settings that distinguish this run from the others of its sweep, by key."""


@rare_collections()
def run(
    jobs: Sequence[Job],
    *,
    out: Path,
    cache: Cache,
    selection: Selection = Selection(),
    workers: int = 2,
    repeats: int = 1,
    budget: Budget | None = None,
    sweep: str | None = None,
    reuse_replies: bool = False,
    progress: Progress = silent,
    on_record: OnRecord = lambda record, done, total: None,
    on_tally: OnTally = lambda tally: None,
    on_stop: Callable[[], None] = lambda: None,
    stop: Stop | None = None,
) -> list[Outcome]:
    """Ask the selected questions of every job and store the answers; nothing is scored yet.

    Jobs share parsed documents, indexes, and the rate limits of their providers: jobs with a provider in
    common run one after another, others in parallel. Anything missing (a package, weights, a server, a
    document) is raised before the first question. A question that fails becomes a record with an error. On
    SIGINT or SIGTERM, questions in flight are finished and no more are started (`on_stop` is called); a
    second signal stops at once. Setting `stop` from another thread acts like the first signal. With
    `reuse_replies`, a prompt that was answered before is taken from the cache.

    Each question is asked `repeats` times, and all are asked once before any is asked again. `budget` limits
    all jobs together. `sweep` is an id that the runs share; `None` for runs outside a sweep.
    """
    for name, number, most in (("repeats", repeats, MOST_REPEATS), ("workers", workers, MOST_AT_ONCE)):
        if not 1 <= number <= most:
            raise UsageError(f"{name} is {number}: expected a number from 1 to {most}")
    budget = budget or Budget()
    for job in jobs:
        require_able(job.experiment, cache, budget)
    require_writable(out)
    # prepare all jobs before the first run is created
    ready = []
    for job in jobs:
        questions = job.corpus.select(
            limit=selection.limit, categories=selection.categories, ids=selection.ids
        )
        prepared = prepare_job(job, cache, workers, progress, budget)
        ready.append((job, questions, prepared, retrieved(prepared, questions, job.corpus)))
        budget.add_embedding(prepared.report().get("times", {}))
    with ExitStack() as locks:
        runs = []
        for job, questions, prepared, (hits, share) in ready:
            store = create_run(out, job, prepared, questions, cache, repeats=repeats, sweep=sweep)
            locks.enter_context(locked(store))
            keep_documents(store, prepared.documents, prepared.stated, cache)
            turns = [Turn(question, repeat) for question in questions for repeat in range(repeats)]
            active = ActiveRun(
                job.experiment, prepared, store, len(turns), turns, hits, share, budget, repeats
            )
            runs.append(active)
        replies = ReplyCache(cache) if reuse_replies else None
        return ask_runs(runs, on_record, on_tally, on_stop, stop, replies)


def require_able(experiment: Runnable, cache: Cache, budget: Budget) -> None:
    """Raise what would make a run of this experiment fail: a missing price, package, weight or server."""
    require_price(experiment, budget)
    experiment.check()
    cache.share(experiment.cache)


def prepare_job(job: Job, cache: Cache, workers: int, progress: Progress, budget: Budget) -> Prepared:
    """Make everything ready for the questions of a job."""
    work = Preparation(cache, workers, progress, spared=job.corpus.spared)
    require_room_for_descriptions(job.experiment, job.corpus, work, budget)
    return _prepared(job.experiment, job.corpus, work)


def create_run(
    out: Path,
    job: Job,
    prepared: Prepared,
    questions: Sequence[Question],
    cache: Cache,
    *,
    repeats: int = 1,
    sweep: str | None = None,
) -> Run:
    """Create the folder of a run, with its manifest and no answers yet."""
    *_, state = prepared.fingerprints.values()  # the last stage covers all before it
    manifest = describe(job.experiment, job.corpus, prepared, questions, job.folder, repeats)
    copy = keep_questions(out, job.corpus.questions, job.corpus.derived)
    manifest = manifest.model_copy(update={"data": manifest.data.model_copy(update={"questions_copy": copy})})
    if shared := shared_cache(cache):
        manifest = manifest.model_copy(update={"shared_cache": shared})
    if sweep is not None:
        manifest = manifest.model_copy(update={"sweep": Sweep(id=sweep, cell=dict(job.cell))})
    return new_run(out, job.experiment.name, state, manifest)


@rare_collections()
def resume(
    reopened: Reopened,
    *,
    cache: Cache,
    workers: int = 2,
    budget: Budget | None = None,
    progress: Progress = silent,
    on_record: OnRecord = lambda record, done, total: None,
    on_tally: OnTally = lambda tally: None,
    on_stop: Callable[[], None] = lambda: None,
) -> Outcome:
    """Resume a run: ask the questions that have no answer, and store the answers in the same run.

    `budget` limits only what is asked now. Raises UsageError where anything that the answers depend on has
    changed, or where another process is writing to the run.
    """
    store, experiment, budget = reopened.run, reopened.experiment, budget or Budget()
    require_able(experiment, cache, budget)
    with locked(store):
        missing = unanswered(store, reopened.questions, reopened.repeats)  # again, now under the lock
        work = Preparation(cache, workers, progress, spared=reopened.corpus.spared)
        require_room_for_descriptions(experiment, reopened.corpus, work, budget)
        prepared = _prepared(experiment, reopened.corpus, work)
        require_same(store, prepared)
        if not store.manifest.data.document_count:  # it was stopped before their list was written
            keep_documents(store, prepared.documents, prepared.stated, cache)
        questions = list({turn.question.id: turn.question for turn in missing}.values())
        hits, share = retrieved(prepared, questions, reopened.corpus)
        budget.add_embedding(prepared.report().get("times", {}))
        requested = len(reopened.questions) * reopened.repeats
        active = ActiveRun(
            experiment, prepared, store, requested, missing, hits, share, budget, reopened.repeats
        )
        (outcome,) = ask_runs([active], on_record, on_tally, on_stop)
    return outcome


def _prepared(experiment: Runnable, corpus: Corpus, work: Preparation) -> Prepared:
    """Prepare an experiment; a document that no question may need stops nothing."""
    return experiment.prepare(
        corpus.documents,
        work.cache,
        workers=work.workers,
        progress=work.progress,
        spared=corpus.spared,
    )


def retrieved(
    prepared: Prepared, questions: Sequence[Question], corpus: Corpus
) -> tuple[dict[str, tuple[Hit, ...]], float]:
    """Retrieve for all questions; returns the hits, and the mean seconds per question."""
    started = clock()
    hits = prepared.retrieve(questions, corpus.select()) if questions else {}
    return hits, (clock() - started) / max(1, len(questions))


def new_sweep() -> str:
    """Make an id for runs that are started together: the UTC time and four random hex digits."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"


def ask_runs(
    runs: Sequence[ActiveRun],
    on_record: OnRecord,
    on_tally: OnTally,
    on_stop: Callable[[], None],
    stop: Stop | None = None,
    replies: ReplyCache | None = None,
) -> list[Outcome]:
    """Ask the questions of all runs: runs with a provider in common one after another, others in parallel.

    However that ends, every run is closed. The caller holds the locks of the runs.
    """
    stop = stop or Stop()
    ended: Ended | None = "error"
    outcomes: list[Outcome] = []
    questions = sum(len(active.missing) for active in runs)
    by_provider: dict[str, list[ActiveRun]] = {}
    calls: dict[str, ProviderCalls] = {}
    for active in runs:
        calls |= {name: ProviderCalls(stop=stop) for name in active.experiment.providers - calls.keys()}
        by_provider.setdefault(active.experiment.provider, []).append(active)

    def report(provider: str, record: Record) -> None:
        on_record(record, sum(active.done for active in runs), questions)
        on_tally(_tally(provider, by_provider[provider]))

    def report_part(active: ActiveRun, question: str, repeat: int) -> None:
        active.on_part(question, repeat)
        on_tally(_tally(active.experiment.provider, by_provider[active.experiment.provider]))

    async def ask_group(group: Sequence[ActiveRun]) -> None:
        for active in group:
            if not stop.is_set():
                experiment = active.experiment
                mine = {provider: calls[provider] for provider in experiment.providers}
                for provider_calls in mine.values():
                    provider_calls.configure(experiment.execution)
                on_part = partial(report_part, active)
                caller = Caller(mine[experiment.provider], others=mine, replies=replies, on_part=on_part)
                await active.ask_all(caller, stop, partial(report, experiment.provider))

    def first_signal() -> None:
        stop.set()
        on_stop()

    async def ask_all() -> None:
        nonlocal ended
        tasks = [asyncio.create_task(ask_group(group)) for group in _sharing(runs)]
        signals = StopSignals(first_signal, lambda: [task.cancel() for task in tasks])
        with signals.on(asyncio.get_running_loop()):
            results = await asyncio.gather(*tasks, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, asyncio.CancelledError):
                raise result
        ended = "signal" if stop.is_set() else None

    def close(active: ActiveRun) -> None:
        outcomes.append(active.close(ended))

    with ending_in_time(), ExitStack() as ends:  # closes every run, even if one fails
        for active in reversed(runs):
            ends.callback(close, active)
        asyncio.run(ask_all())
    return outcomes


def _sharing(runs: Sequence[ActiveRun]) -> list[list[ActiveRun]]:
    """Group the runs that have a provider in common, directly or through another run."""
    groups: list[tuple[frozenset[str], list[ActiveRun]]] = []
    for active in runs:
        providers, members = active.experiment.providers, [active]
        for group in [group for group in groups if group[0] & providers]:
            groups.remove(group)
            providers, members = providers | group[0], [*group[1], *members]
        groups.append((providers, members))
    return [sorted(members, key=runs.index) for _, members in groups]


def _tally(provider: str, runs: Sequence[ActiveRun]) -> Tally:
    """The progress of the runs of one provider."""
    documents = [active.documents for active in runs if active.documents]
    return Tally(
        provider=provider,
        done=sum(active.done for active in runs),
        total=sum(len(active.missing) for active in runs),
        failed=sum(active.errors for active in runs),
        cached=sum(active.cached for active in runs),
        cost=total([active.cost for active in runs]),
        retrieval_only=all(active.experiment.depth is not None for active in runs),
        documents=(sum(done for done, _ in documents), sum(of for _, of in documents))
        if len(documents) == len(runs)
        else None,
    )
