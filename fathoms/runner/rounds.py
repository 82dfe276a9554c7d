"""Runs that are asked a few questions at a time, because what is asked next depends on the answers so far."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathoms.corpora import Corpus
from fathoms.models.caching import ReplyCache
from fathoms.models.caller import provider_of
from fathoms.models.calling.stop import Stop
from fathoms.pipeline.ingest_times import less_times
from fathoms.pipeline.preparation import Progress, silent
from fathoms.pipeline.prepared import Prepared
from fathoms.pipeline.runnable import Runnable
from fathoms.runner.active_run import ActiveRun, Outcome
from fathoms.runner.budget import Budget
from fathoms.runner.reopen import Reopened, require_same, unanswered
from fathoms.runner.runner import (
    Job,
    OnTally,
    ask_runs,
    create_run,
    prepare_job,
    require_able,
    retrieved,
)
from fathoms.runs.cache import Cache
from fathoms.runs.documents import keep_documents
from fathoms.runs.run import Run
from fathoms.runs.writing import locked, require_writable
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Prompt, Question, Record

if TYPE_CHECKING:
    from fathoms.models import ChatModel


@dataclass(frozen=True)
class Means:
    """What all rounds share: the cache, the budget, the number of processes, and what shows the progress."""

    cache: Cache
    budget: Budget = field(default_factory=Budget)
    workers: int = 2
    progress: Progress = silent
    on_tally: OnTally = lambda tally: None
    on_stop: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class _Ready:
    """A run with everything ready for its questions."""

    experiment: Runnable
    corpus: Corpus
    prepared: Prepared
    run: Run
    questions: tuple[Question, ...]
    counted: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What embedding has taken, as far as the budget knows it, by stage."""

    def new_times(self) -> dict[str, dict[str, Any]]:
        """What embedding has taken since this was called before, by stage."""
        found = {}
        for stage, took in self.prepared.report().get("times", {}).items():
            found[stage] = less_times(took, self.counted.get(stage, {}))
            self.counted[stage] = dict(took)
        return found


@dataclass(frozen=True)
class Rounds:
    """Runs whose questions are asked in rounds; `new_rounds` and `same_rounds` make them.

    Replies to identical prompts are shared between the runs: they are asked once.
    """

    runs: tuple[_Ready, ...]
    means: Means
    repeats: int = 1
    """How many times each question is asked."""

    def search(self, number: int) -> list[Record] | None:
        """What a run retrieves for all its questions, without asking a model; `None` where it has no search
        of its own, and where a language model helps, because that is not known before it is asked."""
        one = self.runs[number]
        stages = one.experiment.stages
        if stages is None or stages.retrieve.called or not stages.retrieve.searches:
            return None
        hits, _ = retrieved(one.prepared, one.questions, one.corpus)
        self.means.budget.add_embedding(one.new_times())
        return [Record(question=question, hits=hits.get(question.id, ())) for question in one.questions]

    def ask(self, questions: Mapping[int, Sequence[Question]], stop: Stop) -> list[Outcome]:
        """Ask some runs, by their numbers, those of the questions that have no answer yet, failed ones again.

        An outcome says whether a run was stopped, or is over the budget.
        """
        active = []
        for number, row in questions.items():
            one, means = self.runs[number], self.means
            turns = unanswered(one.run, row, self.repeats)
            if not turns:
                continue
            left = list({turn.question.id: turn.question for turn in turns}.values())
            hits, share = retrieved(one.prepared, left, one.corpus)
            means.budget.add_embedding(one.new_times())
            active.append(
                ActiveRun(
                    one.experiment,
                    one.prepared,
                    one.run,
                    len(one.questions) * self.repeats,
                    turns,
                    hits,
                    share,
                    means.budget,
                    self.repeats,
                )
            )
        if not active:
            return []
        replies = _ByServer(self.means.cache, self._elsewhere())
        return ask_runs(active, _ignore, self.means.on_tally, self.means.on_stop, stop, replies)

    def _elsewhere(self) -> frozenset[str]:
        """The models that several servers offer under one name, by the fingerprint of their identity."""
        servers: dict[str, set[str]] = {}
        for one in self.runs:
            for model in one.experiment.called.values():
                servers.setdefault(fingerprint(model.identity()), set()).add(provider_of(model))
        return frozenset(identity for identity, known in servers.items() if len(known) > 1)


class _ByServer(ReplyCache):
    """Cache of replies that takes a model that several servers offer under one name for several models."""

    def __init__(self, cache: Cache, elsewhere: Container[str]) -> None:
        super().__init__(cache)
        self._elsewhere = elsewhere

    def key(self, model: ChatModel, prompt: Prompt, repeat: int) -> str:
        """Return the cache key of a model's reply, with the server where the model alone would not do."""
        key = super().key(model, prompt, repeat)
        several = fingerprint(model.identity()) in self._elsewhere
        return fingerprint(key, provider_of(model)) if several else key


def _ignore(record: object, done: int, total: int) -> None:
    """Do nothing for a record: what happens is shown by provider."""


@contextmanager
def new_rounds(
    jobs: Sequence[Job], means: Means, *, out: Path, sweep: str, repeats: int = 1
) -> Iterator[Rounds]:
    """Prepare jobs, and make a run of each for all its questions, without answers yet. The runs are locked
    until the block ends."""
    for job in jobs:
        require_able(job.experiment, means.cache, means.budget)
    require_writable(out)
    ready = [(job, _prepared(job, means)) for job in jobs]
    with ExitStack() as locks:
        runs = []
        for job, prepared in ready:
            questions = job.corpus.select()
            run = create_run(out, job, prepared, questions, means.cache, repeats=repeats, sweep=sweep)
            locks.enter_context(locked(run))
            keep_documents(run, prepared.documents, prepared.stated, means.cache)
            runs.append(_Ready(job.experiment, job.corpus, prepared, run, questions))
        yield Rounds(tuple(runs), means, repeats)


@contextmanager
def same_rounds(reopened: Sequence[Reopened], means: Means) -> Iterator[Rounds]:
    """Go on with the runs of earlier rounds; raises UsageError where anything that the answers depend on has
    changed, or where another process is writing to a run."""
    for one in reopened:
        require_able(one.experiment, means.cache, means.budget)
    with ExitStack() as locks:
        runs = []
        for one in reopened:
            locks.enter_context(locked(one.run))
            prepared = _prepared(Job(one.experiment, one.corpus, one.folder), means)
            require_same(one.run, prepared)
            runs.append(_Ready(one.experiment, one.corpus, prepared, one.run, one.questions))
        yield Rounds(tuple(runs), means, max((one.repeats for one in reopened), default=1))


def _prepared(job: Job, means: Means) -> Prepared:
    """Prepare a job, without searching for its questions."""
    return prepare_job(job, means.cache, means.workers, means.progress, means.budget)
