"""The verdicts that stand in the journal of a run already, looked up by several processes.

Each process looks up those of the questions that it scores (`StoredVerdicts`), and the parent counts what
they found (`Found`): a verdict that questions of two processes share counts once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fathoms.errors import StoreError
from fathoms.judges.asking import Bench, Spending
from fathoms.judges.asking import Judged as JudgeResults
from fathoms.judges.cascade import Cascade
from fathoms.judges.journal import open_recording
from fathoms.judges.judge import UNPARSED, Judge
from fathoms.judges.of_run import NeedsFurtherVerdicts, read_stored
from fathoms.metrics.metric import JudgedMetric, Metric
from fathoms.models.caller import Caller
from fathoms.runs.records import Entry
from fathoms.runs.run import Run
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Spent, Verdict


def are_all_stored(run: Run, judge: Judge, metrics: Sequence[Metric], answers: int) -> bool:
    """Return whether several processes can look up all verdicts on the `answers` of a run: they had all
    verdicts when they were last scored, all metrics are fathoms' own, no judgement depends on the verdict on
    another, and each has one vote of one judge."""
    return (
        judge.repeats == 1
        and not isinstance(judge, Cascade)
        and all(one.inert and not isinstance(one, NeedsFurtherVerdicts) for one in metrics)
        and _was_judged(run, fingerprint(judge.identity()), answers)
    )


def _was_judged(run: Run, judge: str, answers: int) -> bool:
    """Return whether the summary of a run says that a judge, given by its fingerprint, gave all verdicts on
    so many answers. Where some are missing, looking them up by several processes would be for nothing."""
    try:
        if not run.is_scored or (judging := run.summary.judging) is None:
            return False
        complete = not (judging.failed or judging.over_budget or UNPARSED in judging.verdicts)
        return complete and judging.key == judge and run.summary.counts.done == answers
    except StoreError:  # scoring writes a damaged summary again
        return False


class StoredVerdicts:
    """Looks up the verdicts of a judge for some of a run's questions after others."""

    def __init__(self, run: Run, judge: Judge, metrics: Sequence[Metric]) -> None:
        self._run = run
        self._judge = judge
        self._metrics = [metric for metric in metrics if isinstance(metric, JudgedMetric)]
        self._journal = open_recording(run.path)

    def of(self, questions: Sequence[Sequence[Entry]]) -> JudgeResults | None:
        """Return the claims and verdicts that questions need. `None` where the journal lacks any or has a
        damaged line, and for pictures, of which two with the same content share a key."""
        self._journal.forget()
        records = list(self._run.records.read(entry for entries in questions for entry in entries))
        bench = Bench(self._judge, self._journal, Caller(), Spending(limit=-1))
        judged = read_stored(bench, self._metrics, records)
        if judged is None or any(judgement.image for judgement in judged.verdicts):
            return None
        return judged

    def state(self) -> dict[str, Any]:
        """Return what was found for the questions last looked up as JSON values, for `Found.add`."""
        journal, kinds = self._journal, _Kinds()
        numbers = [kinds.number(one) for one in journal.verdicts.values()]
        lists = [(key, *_spent(one)) for key, one in journal.lists.items()]
        return {"keys": list(journal.verdicts), "numbers": numbers, "kinds": kinds.found, "lists": lists}


class _Kinds:
    """Verdicts without claims and premises; most are equal, so each kind is there once, as JSON values."""

    def __init__(self) -> None:
        self.found: list[tuple[str, float | None, float | None, dict[str, Any] | None]] = []
        self._numbers: dict[tuple[str, float | None, float | None], int] = {}

    def number(self, verdict: Verdict) -> int:
        """Return the number of the kind of a verdict."""
        same = (verdict.label, verdict.cost, verdict.seconds)
        number = None if verdict.usage else self._numbers.get(same)
        if number is None:
            number = len(self.found)
            self.found.append((verdict.label, *_spent(verdict)))
            if not verdict.usage:
                self._numbers[same] = number
        return number


def _spent(one: Verdict | Spent) -> tuple[float | None, float | None, dict[str, Any] | None]:
    """Return what a result of the judge took: US dollars, seconds, and tokens."""
    usage = None if one.usage is None else one.usage.model_dump(mode="json")
    return one.cost, one.seconds, usage


class Found:
    """What several processes have found: the verdicts, without claims and premises, and what splitting texts
    into claims took, each by its key in the journal."""

    def __init__(self) -> None:
        self.verdicts: dict[str, Verdict] = {}
        self.lists: dict[str, Spent] = {}

    def add(self, state: Mapping[str, Any]) -> None:
        """Add what another process has found."""
        kinds = [
            Verdict(claim="", premise="", label=label, cost=cost, seconds=seconds, usage=usage)
            for label, cost, seconds, usage in state["kinds"]
        ]
        new = dict(zip(state["keys"], map(kinds.__getitem__, state["numbers"]), strict=True))
        for key in new.keys() & self.verdicts.keys():
            del new[key]
        self.verdicts |= new
        for key, cost, seconds, usage in state["lists"]:
            if key not in self.lists:
                self.lists[key] = Spent(cost=cost, seconds=seconds, usage=usage)
