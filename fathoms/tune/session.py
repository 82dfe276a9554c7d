"""A race of real pipelines: rounds of questions, their scores, and what is left at the end.

What is decided follows from the answers on disk alone, in the order that the seed draws, so a race that was
killed goes on where it was and ends as it would have ended.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from pydantic import BaseModel

from fathoms.compare.question_scores import MetricKind, read_scores
from fathoms.errors import ModelError, UsageError, amount
from fathoms.experiment.loading import AFTER_RETRIEVAL
from fathoms.judges.of_run import Judging
from fathoms.metrics.retrieval.batch import rank_scores
from fathoms.metrics.retrieval.metrics import Ndcg
from fathoms.models.calling.stop import Stop
from fathoms.report.text import describe
from fathoms.runner.active_run import Outcome
from fathoms.runner.budget import Amount
from fathoms.runner.rounds import Rounds
from fathoms.runner.runner import Job
from fathoms.runs.run import Run, read_manifest, read_summary
from fathoms.runs.usage import besides_answers, billed, replies_of, total
from fathoms.scoring import score_run
from fathoms.tune.order import Array, Order, draw_order
from fathoms.tune.race import Race
from fathoms.tune.replay import figures, replay
from fathoms.tune.result import Candidate, Result, Settings, result_of
from fathoms.types import Question, Record, Reply

_SHARE = 8
"""A round has an eighth of the questions that were asked before, or as many as are asked at once."""
_RETRIEVAL_WEIGHT = 0.5
"""How much a difference in nDCG is taken to be worth in the metric of the race, before answers are known."""


@dataclass(frozen=True)
class Progress:
    """What is known after a round: the questions asked, of how many, and the candidates that are left."""

    done: int
    questions: int
    alive: tuple[str, ...]
    dropped: tuple[str, ...]


def retrieval_figures(rounds: Rounds) -> list[float | None]:
    """The mean nDCG@10 of gold pages of each candidate on all questions that have some, found without asking
    a model for answers; `None` for a candidate that does not search, or for questions without gold pages.

    Candidates that search alike share the work through the cache of their stages.
    """
    Ndcg(k=10).check()
    found: list[float | None] = []
    known: dict[tuple[str, ...], float | None] = {}
    for number, one in enumerate(rounds.runs):
        key = tuple(value for name, value in one.prepared.fingerprints.items() if name not in AFTER_RETRIEVAL)
        if key not in known:
            scores = rank_scores([Ndcg(k=10)], rounds.search(number) or [])
            values = [
                score.value for by_name in scores for score in by_name.values() if score.value is not None
            ]
            known[key] = math.fsum(values) / len(values) if values else None
        found.append(known[key])
    return found


class Session:
    """A race over the runs of some rounds."""

    def __init__(
        self, rounds: Rounds, settings: Settings, retrieval: Sequence[float | None] | None = None
    ) -> None:
        self.rounds, self.settings = rounds, settings
        self.retrieval = retrieval or [None] * len(rounds.runs)
        self.questions = _population(rounds, settings.metric)
        if len(self.questions) < 2 or len(rounds.runs) < 2:
            raise UsageError(
                f"{amount(len(self.questions), 'question')} with a gold answer and"
                f" {amount(len(rounds.runs), 'candidate')}:"
                " a race needs two or more of both"
            )
        rng = np.random.default_rng(settings.seed)
        self.order: Order = draw_order([question.category for question in self.questions], rng)
        self.scores: Array = np.full((len(rounds.runs), len(self.questions)), np.nan)
        self.kind: MetricKind | None = None
        # a call that failed in an earlier session is made again; one that failed in this one is final
        self._final: set[str] = set()

    def go(
        self,
        stop: Stop,
        judging: Callable[[], Judging],
        on_round: Callable[[Progress], None] = lambda progress: None,
    ) -> Result:
        """Ask rounds of questions until the best is known, all are asked, or a budget or a signal ends it."""
        race, stopped = self._replayed(), None
        while not race.is_over and stopped is None:
            end = self._end_of_round(race)
            stopped = self._ask(race, end, stop)
            self._score([number for number in range(len(race.alive)) if race.alive[number]], judging())
            self._require_answers(race)
            before = race.alive.copy()
            race = self._replayed()
            names = [one.experiment.name for one in self.rounds.runs]
            gone = np.flatnonzero(before & ~race.alive)
            on_round(
                Progress(
                    race.done,
                    len(self.order),
                    tuple(names[number] for number in np.flatnonzero(race.alive)),
                    tuple(names[number] for number in gone),
                )
            )
        return self.result(race, stopped)

    def result(self, race: Race, stopped: str | None) -> Result:
        """What the race has found so far."""
        if self.kind is None:
            raise UsageError("nothing was answered, so nothing is known of the candidates: raise the limit")
        flipped = self.kind.direction == "lower"
        candidates = [self._candidate(number) for number in range(len(self.rounds.runs))]
        return result_of(race, self.order, self.scores, candidates, self.settings, stopped, flipped=flipped)

    def _candidate(self, number: int) -> Candidate:
        """What is known of a candidate besides its scores."""
        one = self.rounds.runs[number]
        sweep = one.run.manifest.sweep
        records = one.run.records.all(light=True)
        answered = [record for record in records if record.answer is not None]
        took = total([reply.cost for record in records for reply in billed(record)])
        besides = besides_answers(read_manifest(one.run.path), read_summary(one.run.path))
        return Candidate(
            name=one.experiment.name,
            run=one.run.id,
            cell={str(key): describe(value) for key, value in sweep.cell.items()},
            asked=len(records),
            failed=sum(record.error is not None for record in records),
            cost=total([took, besides]),
            cost_each=_each([_cost(record) for record in answered]),
            latency=_each([_seconds(record) for record in answered]),
            retrieval=self.retrieval[number],
        )

    def _replayed(self) -> Race:
        """The race as the scores so far decide it."""
        number = len(self.rounds.runs)
        if self.kind is None:
            self._score(range(number), Judging(max_cost=0.0))
        race = Race(
            self.order,
            number,
            alpha=self.settings.alpha,
            within=self.settings.within,
            costs=self._costs() if self.settings.front else None,
            costs_known_after=self._size(0) if self.settings.front else 0,
            prior=_prior(self.retrieval),
            defended=self.settings.defended,
        )
        while not race.is_over:
            column = self.scores[:, self.order.positions[race.done]]
            if np.isinf(column[race.alive]).any():  # not asked of all yet
                break
            race.add(column)
        return race

    def _require_answers(self, race: Race) -> None:
        """Raise ModelError where every call of every candidate that is left failed: all would be equally
        wrong, and none the best."""
        first = None
        for number in np.flatnonzero(race.alive):
            for record in self.rounds.runs[number].run.records.all(light=True):
                if record.error is None:
                    return
                first = first or record.error.message
        if first is not None:
            raise ModelError(f"all calls failed: {first}; '--resume latest' asks again")

    def _costs(self) -> list[float]:
        """What a question costs or takes each candidate, by those of the first round, before anything is
        decided; raises UsageError where that is not known."""
        first = {self.questions[place].id for place in self.order.positions[: self._size(0)]}
        found = []
        for one in self.rounds.runs:
            records = [record for record in one.run.records.all(light=True) if record.question.id in first]
            took = _seconds if self.settings.front == "latency" else _cost
            cost = total([took(record) for record in records])
            if cost is None:
                raise UsageError(
                    f"--front cost: the price of {one.experiment.name} is not known: give `generate` a"
                    " `price`, or use --front latency"
                )
            found.append(cost / max(1, len(records)))
        return found

    def _end_of_round(self, race: Race) -> int:
        """How many questions are asked after the next round."""
        return min(len(self.order), race.done + self._size(race.done))

    def _size(self, done: int) -> int:
        """How many questions a round has after so many."""
        at_once = max(one.experiment.max_concurrency for one in self.rounds.runs)
        return max(2, min(at_once, math.ceil(len(self.order) / 10)), done // _SHARE)

    def _ask(self, race: Race, end: int, stop: Stop) -> str | None:
        """Ask the candidates that are left the questions of a round; returns what ended it early, if so."""
        row = [self.questions[place] for place in self.order.positions[race.done : end]]
        alive = [int(number) for number in np.flatnonzero(race.alive)]
        if self.settings.max_calls is not None:
            calls = sum(len(one.run.records.entries()) for one in self.rounds.runs)
            row = row[: max(0, (self.settings.max_calls - calls) // (len(alive) * self.settings.repeats))]
            if not row:
                return "calls"
        self._final |= {question.id for question in row}
        outcomes = self.rounds.ask(dict.fromkeys(alive, row), stop)
        return _ended(outcomes, stop)

    def _score(self, numbers: Sequence[int], judging: Judging) -> None:
        """Score the answers of some runs, and take over the scores; infinite ones are not asked yet."""
        budget = self.rounds.means.budget
        for number in range(len(self.rounds.runs)):
            if self.kind is None:
                self.scores[number] = np.inf
        for number in numbers:
            run = self.rounds.runs[number].run
            entries = run.records.entries()
            if not entries:
                continue
            left = None if budget.max_cost is None else max(0.0, budget.max_cost - budget.spent.cost)
            summary = score_run(run, judging=replace(judging, max_cost=left))
            if summary.judging:
                budget.spent += Amount(cost=summary.judging.cost or 0.0)
            scores = read_scores(run, self.settings.profile)
            kind = scores.metrics.get(self.settings.metric)
            if kind is None:
                raise UsageError(
                    f"--metric {self.settings.metric}: the runs have {', '.join(sorted(scores.metrics))}"
                )
            if kind.unit != "share":
                raise UsageError(f"--metric {self.settings.metric}: expected a metric from 0 to 1")
            self.kind = kind
            done = Counter(id for (id, _), entry in entries.items() if id in self._final or not entry.failed)
            for place, question in enumerate(self.questions):
                if done[question.id] < self.settings.repeats:
                    self.scores[number, place] = np.inf
                    continue
                known = scores.questions.get(question.id)
                if known is not None:
                    self.scores[number, place] = _score_of(known.values.get(self.settings.metric, ()), kind)


def _prior(retrieval: Sequence[float | None]) -> list[float] | None:
    """A first guess of the candidates' figures: a page that is found more often gives more right answers.
    Candidates that do not search are taken for average ones; `None` where nothing is known."""
    known = [one for one in retrieval if one is not None]
    if not known:
        return None
    mean = math.fsum(known) / len(known)
    return [_RETRIEVAL_WEIGHT * ((mean if one is None else one) - mean) for one in retrieval]


def _cost(record: Record) -> float | None:
    """The dollars that a question costs its candidate. A reply that another candidate has paid counts too:
    whoever chooses this one alone will pay it."""
    return total([reply.cost for _, reply in replies_of(record)])


def _seconds(record: Record) -> float:
    """The seconds that a question takes its candidate, with those of replies that another one waited for."""
    answers = [reply for _, reply in replies_of(record) if isinstance(reply, Reply)]
    shared = [reply.latency or 0.0 for reply in answers if reply.cached]
    return math.fsum([*record.timings.values(), *shared])


def _each(known: Sequence[float | None]) -> float | None:
    """The mean of what questions took; `None` without any, and where one is not known."""
    whole = total(known)
    return None if whole is None or not known else whole / len(known)


def _score_of(values: Sequence[float], kind: MetricKind) -> float:
    """The score of a question, where more is better; NaN if it has none."""
    if not values:
        return math.nan
    mean = sum(values) / len(values)
    return 1 - mean if kind.direction == "lower" else mean


def _ended(outcomes: Sequence[Outcome], stop: Stop) -> str | None:
    """What ended a round early, if anything did."""
    if stop.is_set():
        return "signal"
    return "budget" if any(outcome.over_budget for outcome in outcomes) else None


def _population(rounds: Rounds, metric: str) -> tuple[Question, ...]:
    """The questions of the race: those that all candidates are asked, without variants of others, and for
    correctness those with a gold answer. Raises UsageError where the candidates have other questions."""
    first = rounds.runs[0]
    if any(one.corpus.questions_sha256 != first.corpus.questions_sha256 for one in rounds.runs):
        raise UsageError("the candidates have different questions: a race needs the same `data` in all")
    variants = first.run.manifest.data.variant_ids
    ids = set.intersection(*({question.id for question in one.questions} for one in rounds.runs))
    return tuple(
        question
        for question in first.questions
        if question.id in ids
        and question.id not in variants
        and (metric != "correctness" or question.answers)
    )


def named_apart(jobs: Sequence[Job]) -> list[Job]:
    """Give candidates of one name names of their own: with the server of the model where that differs, else
    with their numbers."""
    names = Counter(job.experiment.name for job in jobs)
    hosts = [urlsplit(job.experiment.provider.rpartition(" ")[2]).netloc for job in jobs]
    longer = [f"{job.experiment.name} at {host}" for job, host in zip(jobs, hosts, strict=True)]
    found, numbers = [], Counter[str]()
    for job, host, name in zip(jobs, hosts, longer, strict=True):
        own = job.experiment.name
        numbers[own] += 1
        if names[own] > 1 and isinstance(job.experiment, BaseModel):
            new = name if host and longer.count(name) == 1 else f"{own} {numbers[own]}"
            job = replace(job, experiment=job.experiment.model_copy(update={"name": new}))
        found.append(job)
    return found


@dataclass(frozen=True)
class Merged:
    """Rounds without candidates that are the same pipeline as another, and the names of these by the name of
    the one that stays."""

    rounds: Rounds
    same: dict[str, list[str]]


def distinct(rounds: Rounds) -> Merged:
    """Leave out candidates whose stages and model are those of another one, on the same server: a name of a
    model says nothing of how a server runs it."""
    first: dict[tuple[str, ...], int] = {}
    same: dict[str, list[str]] = {}
    for number, one in enumerate(rounds.runs):
        key = (*one.prepared.fingerprints.values(), *sorted(one.experiment.providers))
        if key in first:
            same.setdefault(rounds.runs[first[key]].experiment.name, []).append(one.experiment.name)
        else:
            first[key] = number
    return Merged(replace(rounds, runs=tuple(rounds.runs[number] for number in first.values())), same)


def replayed(runs: Sequence[Run], settings: Settings, draws: int = 20) -> dict[str, Any]:
    """What races between finished runs would have asked, over random orders of the questions that all have
    answered: the share of calls, and in how many the best was chosen. Raises DataError for runs without
    scores, and UsageError for fewer than two."""
    if len(runs) < 2:
        raise UsageError("--replay needs two runs or more")
    found = [read_scores(run, settings.profile) for run in runs]
    shared = [
        name
        for name, question in found[0].questions.items()
        if all(
            name in other.questions
            and other.questions[name].gold == question.gold
            and other.questions[name].values.get(settings.metric)
            for other in found
        )
    ]
    if len(shared) < 2:
        raise UsageError(f"the runs have fewer than two questions with {settings.metric} in common")
    kind = found[0].metrics[settings.metric]
    scores = np.array(
        [[_score_of(one.questions[name].values[settings.metric], kind) for name in shared] for one in found]
    )
    categories = [found[0].questions[name].category for name in shared]
    overall = figures(scores, categories)
    rng = np.random.default_rng(settings.seed)
    races = [
        replay(scores, categories, rng, alpha=settings.alpha, within=settings.within) for _ in range(draws)
    ]
    best = int(np.argmax(overall))
    good = overall.max() - settings.within - 1e-12
    return {
        "best": runs[best].id,
        "questions": len(shared),
        "calls": sum(race.calls for race in races) / draws,
        "whole": scores.size,
        "right": sum(bool(overall[race.chosen] >= good) for race in races),
        "draws": draws,
    }
