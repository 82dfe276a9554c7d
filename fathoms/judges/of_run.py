"""Judging a whole run: the claims of its texts, then the verdicts that its metrics need."""

from __future__ import annotations

import asyncio
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict

from fathoms.config import Source, read_yaml, validate
from fathoms.executors import Executor
from fathoms.judges import AnyJudge
from fathoms.judges.asking import Bench, Judged, Spending, Text
from fathoms.judges.cascade import Cascade
from fathoms.judges.claims import sentence_claims
from fathoms.judges.forecast import FEW, Forecast, Narrowing, likely_claims, pace_of, sizes_of
from fathoms.judges.journal import VerdictJournal, open_journal
from fathoms.judges.judge import Judge
from fathoms.models.caller import Caller, provider_of
from fathoms.models.calling.collecting import rare_collections
from fathoms.models.calling.provider_calls import ExecutionSettings, ProviderCalls
from fathoms.models.calling.stop import Stop, Stopped, StopSignals
from fathoms.runs.run import Run
from fathoms.safety.signals import ending_in_time
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Claim, JudgeCalls, Judgement, Record, Verdict


class NeedsVerdicts(Protocol):
    """What a metric asks of a judge; see `fathoms.metrics.metric.JudgedMetric`."""

    def lacks(self, record: Record) -> str | None:
        """What the record lacks for the metric."""

    def texts(self, record: Record) -> Sequence[Text]:
        """Return the texts to be split into claims."""

    def judgements(self, record: Record, claims: Mapping[Text, tuple[Claim, ...]]) -> Sequence[Judgement]:
        """Return what the judge must decide."""


@runtime_checkable
class NeedsFurtherVerdicts(NeedsVerdicts, Protocol):
    """A metric with judgements that depend on the verdicts of others."""

    def further(
        self,
        record: Record,
        claims: Mapping[Text, tuple[Claim, ...]],
        verdicts: Mapping[Judgement, Verdict],
    ) -> Sequence[Judgement]:
        """Return what else the judge must decide, given the verdicts so far."""


@dataclass(frozen=True)
class Judging:
    """How the verdicts of a run are obtained.

    `judge` replaces the judge of the run's configuration. `max_cost` limits what is spent, in US dollars.
    `timeout` limits each call, in seconds, all attempts included; `None` means no limit.
    With `until_width`, each metric is judged only until its interval is so narrow. `on_narrower` then gets
    how many questions are judged, how many are likely to be needed, and a sentence on both; `on_forecast`
    says at the end what a narrower interval needs.
    `on_done` is called with the number of judgements that are done and their total, and `on_forecast` with
    the calls to a language model, before they are made. A judge that is a local model runs on the workers of
    an `executor`, if there is one.
    """

    judge: Judge | None = None
    max_cost: float | None = None
    until_width: float | None = None
    execution: ExecutionSettings = field(default_factory=ExecutionSettings)
    timeout: float | None = None
    on_done: Callable[[int, int], None] = lambda done, total: None
    on_forecast: Callable[[Forecast | Narrowing], None] = lambda forecast: None
    on_narrower: Callable[[int, int, str], None] = lambda done, total, sentence: None
    executor: Executor | None = None
    stop: Stop = field(default_factory=Stop)


class _File(BaseModel):
    """A file with a judge under the key `judge`."""

    model_config = ConfigDict(extra="ignore")

    judge: AnyJudge


def read_judge(path: Path) -> Judge:
    """Read the judge in a YAML file: a mapping with a `kind`, or a configuration with the key `judge`. Raises
    ConfigError."""
    source = read_yaml(path)
    if "kind" in source.data:
        places = {("judge", *key): place for key, place in source.places.items()}
        source = Source(source.name, {"judge": source.data}, places)
    return validate(_File, source).judge


def judge_run(
    run: Run,
    judge: Judge,
    metrics: Sequence[NeedsVerdicts],
    records: Callable[[], Iterable[Record]],
    how: Judging,
) -> tuple[Judged, Spending]:
    """Ask the judge for everything that the metrics need and the journal of the run does not hold.

    Verdicts are on disk as soon as they have come, so a killed call loses none. On SIGINT or SIGTERM, the
    calls in flight are awaited, unless a second signal comes, and KeyboardInterrupt is raised. Raises the
    errors of `judge.check`.
    """
    if how.executor is None or not judge.is_local:  # else the workers load the model, and check it
        judge.check()
    judged, spending = Judged(), Spending(how.max_cost)
    journal, key = open_journal(run.path), fingerprint(judge.identity())
    known = pace_of(key)

    async def work() -> None:
        providers = {provider_of(model) for model in judge.parts().values()}
        calls = {provider: ProviderCalls(how.execution, how.stop) for provider in providers}
        caller = Caller(others=calls, timeout=how.timeout)
        bench = Bench(
            judge, journal, caller, spending, how.on_done, known, _once(how.on_forecast), how.executor
        )
        task = asyncio.current_task()
        signals = StopSignals(how.stop.set, lambda: task and task.cancel())
        with signals.on(asyncio.get_running_loop()):
            if judge.parts():
                await _announce(bench, metrics, records, judged, how.stop)
            await _collect(bench, metrics, records, judged, how.stop)
        spending.retried, spending.retries = caller.retried, dict(caller.retries.most_common())

    try:
        with ending_in_time(), rare_collections():
            asyncio.run(work())
    except (Stopped, asyncio.CancelledError):  # by the first signal, or by the second
        raise KeyboardInterrupt from None  # the command ends as after any other interrupt
    finally:
        known.store(key)
    spending.damaged = journal.damaged
    return judged, spending


def _once(say: Callable[[Forecast], None]) -> Callable[[Forecast], None]:
    """Return what says only the first thing that it is to say: the splitting of texts, the verdicts, and
    those that depend on others would each say how many calls there are."""
    left = [say]
    return lambda forecast: left.pop()(forecast) if left else None


async def _announce(
    bench: Bench,
    metrics: Sequence[NeedsVerdicts],
    records: Callable[[], Iterable[Record]],
    judged: Judged,
    stop: Stop,
) -> None:
    """Say how many calls there will be and how long they take, if texts have to be split first; what depends
    on verdicts is not counted. Without a known pace, the first record is judged before, to measure it. Raises
    Stopped."""
    decompose = bench.judge.claims
    if not (texts := bench.unsplit(_texts(metrics, records()), decompose)):
        return
    forecast = _forecast(bench, metrics, records, judged, texts)
    if forecast.texts + forecast.verdicts < FEW:
        return
    if not bench.pace.is_known:
        known = set(texts)
        first = next(record for record in records() if not known.isdisjoint(_texts(metrics, [record])))
        await bench.split(_texts(metrics, [first]), decompose, judged, stop)
        wanted = [one for one in needed(metrics, first, judged) if bench.can_judge(one)]
        measured = [one for batch in bench.batches(wanted)[: FEW - 1] for one in batch]
        await bench.ask(measured, judged, stop)
        texts = [text for text in texts if text not in judged.claims]
        left = _forecast(bench, metrics, records, judged, texts)
        forecast = forecast._replace(minutes=left.minutes)
    bench.on_forecast(forecast)


def forecast_calls(judge: Judge, metrics: Sequence[NeedsVerdicts], records: Sequence[Record]) -> JudgeCalls:
    """Count the calls that judging records takes of which nothing is judged yet, as they are announced before
    a run is judged. A cascade counts as if its last judge judged everything."""
    judge = judge.dear if isinstance(judge, Cascade) else judge
    with TemporaryDirectory() as folder:
        bench, judged = Bench(judge, VerdictJournal(Path(folder)), Caller(), Spending()), Judged()
        texts = bench.unsplit(_texts(metrics, records), judge.claims)
        if not texts:
            judged.claims |= {text: sentence_claims(text[0]) for text in _texts(metrics, records)}
        batches = _open_batches(bench, metrics, lambda: records, judged, texts)
    return JudgeCalls(
        texts=len(texts),
        text_characters=sum(len(text) for text, _ in texts),
        verdicts=len(batches),
        judgements=sum(map(len, batches)),
        characters=sum(sizes_of(batches, keeps=False)),
    )


def _forecast(
    bench: Bench,
    metrics: Sequence[NeedsVerdicts],
    records: Callable[[], Iterable[Record]],
    judged: Judged,
    texts: Sequence[Text],
) -> Forecast:
    """Return what is to be done if a text has as many claims as texts usually have."""
    return bench.forecast([text for text, _ in texts], _open_batches(bench, metrics, records, judged, texts))


def _open_batches(
    bench: Bench,
    metrics: Sequence[NeedsVerdicts],
    records: Callable[[], Iterable[Record]],
    judged: Judged,
    texts: Sequence[Text],
) -> list[list[Judgement]]:
    """Return what the judge will be asked for if the unsplit texts have as many claims as usual."""
    likely = {text: likely_claims(sentence_claims(text[0])) for text in texts}
    stored = bench.stored_claims(_texts(metrics, records()), bench.judge.claims)
    claims = ChainMap(judged.claims, stored, likely)
    missing = (one for one in _judgements(metrics, records(), claims) if one not in judged.verdicts)
    return bench.batches(missing)


def _texts(metrics: Sequence[NeedsVerdicts], records: Iterable[Record]) -> Iterator[Text]:
    """Yield the texts that metrics need the claims of."""
    return (text for record in records for one in _fit(metrics, record) for text in one.texts(record))


def _judgements(
    metrics: Sequence[NeedsVerdicts],
    records: Iterable[Record],
    claims: Mapping[Text, tuple[Claim, ...]],
) -> Iterator[Judgement]:
    """Yield what metrics ask of the judge. Several metrics of a record share judgements, so each object is
    yielded once: comparing objects is faster than comparing their long texts later."""
    for record in records:
        found: dict[int, Judgement] = {}
        for one in _fit(metrics, record):
            judgements = one.judgements(record, claims)
            found.update(zip(map(id, judgements), judgements, strict=True))
        yield from found.values()


def stored_judgements(
    run: Run, judge: Judge, metrics: Sequence[NeedsVerdicts], records: Callable[[], Iterable[Record]]
) -> Judged:
    """Return the claims and verdicts of a judge that the journal of the run holds; the judge is neither
    loaded nor called."""
    judged, bench = Judged(), Bench(judge, open_journal(run.path), Caller(), Spending(limit=-1))
    asyncio.run(_collect(bench, metrics, records, judged, Stop(), bench.can_judge))
    return judged


def read_stored(bench: Bench, metrics: Sequence[NeedsVerdicts], records: Sequence[Record]) -> Judged | None:
    """Return the claims and verdicts that metrics need of records if the journal of the bench holds them all,
    and `None` otherwise; the judge is not called. The bench has a limit of spending below 0."""
    judged = Judged()
    asyncio.run(_collect(bench, metrics, lambda: records, judged, Stop()))
    lacks = bench.spending.is_spent or bench.spending.failed or bench.journal.damaged
    return None if lacks else judged


def needed(metrics: Sequence[NeedsVerdicts], record: Record, judged: Judged) -> Iterator[Judgement]:
    """Yield what the metrics need of a record, given the claims and verdicts so far."""
    for metric in _fit(metrics, record):
        yield from metric.judgements(record, judged.claims)
        if isinstance(metric, NeedsFurtherVerdicts):
            yield from metric.further(record, judged.claims, judged.verdicts)


async def _collect(
    bench: Bench,
    metrics: Sequence[NeedsVerdicts],
    records: Callable[[], Iterable[Record]],
    judged: Judged,
    stop: Stop,
    wanted: Callable[[Judgement], bool] = lambda judgement: True,
) -> None:
    """Ask for the claims and verdicts that the metrics need and that are wanted, and add them to `judged`.
    Raises Stopped."""
    await bench.split(_texts(metrics, records()), bench.judge.claims, judged, stop)
    judgements = _judgements(metrics, records(), judged.claims)
    await bench.ask(filter(wanted, judgements), judged, stop)
    await _ask_further(bench, metrics, records, judged, stop, wanted)


async def _ask_further(
    bench: Bench,
    metrics: Sequence[NeedsVerdicts],
    records: Callable[[], Iterable[Record]],
    judged: Judged,
    stop: Stop,
    wanted: Callable[[Judgement], bool],
) -> None:
    """Ask for judgements that depend on verdicts, until there is none that has not been asked for."""
    later = [metric for metric in metrics if isinstance(metric, NeedsFurtherVerdicts)]
    sent: set[Judgement] = set()
    while later:
        new = dict.fromkeys(
            judgement
            for record in records()
            for metric in later
            if metric.lacks(record) is None
            for judgement in metric.further(record, judged.claims, judged.verdicts)
            if judgement not in judged.verdicts and judgement not in sent and wanted(judgement)
        )
        if not new:
            return
        sent.update(new)
        await bench.ask(new, judged, stop)


def _fit(metrics: Sequence[NeedsVerdicts], record: Record) -> list[NeedsVerdicts]:
    """The metrics that a record has everything for."""
    return [metric for metric in metrics if metric.lacks(record) is None]
