"""Judges a branch before it is merged: is its pipeline worse than that of main on the same questions?

Both are asked question by question in a random order until it is clear (`Race` with `defended`).

- FAIL: on these questions, the branch is worse by more than the margin, and answers that vary from one asking
  to the next do not explain it; or more of its calls failed than are allowed.
- PASS: on these questions, the branch is at most the margin worse.
- UNDECIDED: it is worse by more than the margin after all questions, and answers that vary may explain it; or
  a limit ended the comparison.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathoms.errors import DataError, UsageError, amount
from fathoms.gate.against_baseline import is_large
from fathoms.gate.comment import marker
from fathoms.judges.of_run import Judging
from fathoms.models.calling.stop import Stop
from fathoms.report.ending import causes_of, failures_of, listed_causes
from fathoms.report.junit import Case, Suite
from fathoms.report.markdown import escape
from fathoms.report.text import plain, shorten
from fathoms.runner.rounds import Rounds
from fathoms.text.amounts import figure
from fathoms.tune.result import Settings
from fathoms.tune.session import Session, distinct

if TYPE_CHECKING:
    from fathoms.stats.noninferiority import GateVerdict

_MOST = 5
"""The most questions that are named in a line."""
_SAYS = {"budget": "the budget is spent", "signal": "it was stopped"}


@dataclass(frozen=True)
class Side:
    """One of the two pipelines: its run, its figure on the questions asked, and how many calls failed of how
    many, with the causes."""

    name: str
    run: str
    value: float
    asked: int
    failed: int
    causes: str


@dataclass(frozen=True)
class PreMerge:
    """The verdict on a branch, called `name` where it is shown.

    `main` and `branch` are `None` if both are the same pipeline, and nothing was asked. Of `questions`,
    `asked` were asked; `lost` are those on which the branch scores less, those that lost most first, and
    `gained` those on which it scores more. `change` is what the branch scores more, negative where it is
    worse, whatever direction the metric has. `stopped` says what ended the comparison early: budget or
    signal. `too_many_failed` says whether that is why it FAILs.
    """

    verdict: GateVerdict
    metric: str
    margin: float
    asked: int = 0
    questions: int = 0
    branch: Side | None = None
    main: Side | None = None
    change: float = 0.0
    lost: tuple[str, ...] = ()
    gained: tuple[str, ...] = ()
    stopped: str | None = None
    too_many_failed: bool = False
    name: str = ""

    @property
    def is_large_loss(self) -> bool:
        """Whether it is undecided after a loss so large that somebody should look."""
        return self.verdict == "UNDECIDED" and is_large(self.change)

    @property
    def line(self) -> str:
        """The verdict on one line."""
        if self.branch is None or self.main is None:
            return f"{self.verdict}: the branch has the same pipeline as main; nothing was asked"
        if self.too_many_failed:
            return (
                f"{self.verdict}: {self.branch.failed} of {amount(self.branch.asked, 'call')} of the branch"
                f" failed ({plain(self.branch.causes)}), more than --fail-on-error allows"
            )
        figures = f"{self.metric} {figure(self.branch.value)}, on main {figure(self.main.value)}"
        over = f"{self.asked} of {amount(self.questions, 'question')}"
        if self.verdict == "PASS":
            return f"PASS: {figures}; at most {self.margin:g} worse, by {over}"
        if self.verdict == "FAIL":
            return f"FAIL: {figures}; worse by more than {self.margin:g}, by {over}; {self.changed}"
        why = _SAYS.get(self.stopped or "", "chance may explain it")
        return f"UNDECIDED: {figures}; {why}, by {over}; {self.changed}"

    @property
    def changed(self) -> str:
        """The questions on which the branch scores less, and how many it scores more on."""
        named = " ".join(plain(shorten(name, 40)) for name in self.lost[:_MOST])
        more = f" and {len(self.lost) - _MOST} more" if len(self.lost) > _MOST else ""
        return f"{len(self.lost)} lost{f' ({named}{more})' if named else ''}, {len(self.gained)} gained"

    @property
    def comment(self) -> str:
        """The verdict as Markdown for a pull request, of at most ten lines."""
        parts = [
            marker(self.name),
            f"### fathoms: {self.verdict}, {escape(shorten(self.name, 80))}",
            "",
            escape(self.line),
        ]
        if self.branch is not None and self.main is not None:
            runs = f"{self.main.run} {self.branch.run}"
            parts += ["", f"<sub>Question by question: `fathoms compare {runs}`</sub>"]
        return "\n".join(parts) + "\n"

    def suite(self, *, strict: bool) -> Suite:
        """Return the verdict as a JUnit suite of one case."""
        bad = self.verdict == "FAIL" or self.is_large_loss or (strict and self.verdict == "UNDECIDED")
        failure = (self.verdict, self.line) if bad else None
        return Suite("premerge", [Case(f"premerge {self.metric}", failure=failure, said=self.line)])


def judge_branch(
    rounds: Rounds,
    settings: Settings,
    stop: Stop,
    judging: Callable[[], Judging],
    allowed: Callable[[int], float],
) -> PreMerge:
    """Ask main, the first of two runs, and the branch, the second, until the verdict is clear.

    `allowed` says how many of n calls may fail. Raises UsageError where both are the same service or code, of
    which nobody can know what it answers, and DataError where too many calls of main failed.
    """
    if distinct(rounds).same:
        if rounds.runs[0].experiment.stages is None:
            raise UsageError(
                "the branch and main name the same service or code: start main's version beside the branch's,"
                " and name its address (or its checkout) in the config of --against"
            )
        return PreMerge("PASS", settings.metric, settings.within)
    session = Session(rounds, settings)
    result = session.go(stop, judging)
    by_run = {one.candidate.run: one for one in result.standings}
    standings = [by_run[one.run.id] for one in rounds.runs]
    sides = []
    for one, where in zip(standings, rounds.runs, strict=True):
        causes = listed_causes(causes_of(failures_of(where.run)))
        found = one.candidate
        sides.append(Side(found.name, found.run, one.value, found.asked, found.failed, causes))
    main, branch = sides
    if main.failed > allowed(main.asked):
        raise DataError(
            f"{main.failed} of {amount(main.asked, 'call')} of main failed ({main.causes}), more than"
            " --fail-on-error allows: no verdict"
        )
    better = -1 if session.kind and session.kind.direction == "lower" else 1
    (low, high), (other_low, other_high) = standings[1].on_these, standings[0].on_these
    least = low - other_high if better == 1 else other_low - high
    dropped = standings[1].dropped_at is not None
    verdict: GateVerdict = "UNDECIDED"
    too_many_failed = branch.failed > allowed(branch.asked)
    if dropped or too_many_failed:
        verdict = "FAIL"
    elif result.stopped is None and (result.asked < result.questions or least >= -settings.within - 1e-9):
        verdict = "PASS"
    places = session.order.positions[: result.asked].tolist()
    gaps = (session.scores[1, places] - session.scores[0, places]).tolist()
    ids = [session.questions[place].id for place in places]
    known = {id: gap for id, gap in zip(ids, gaps, strict=True) if not math.isnan(gap)}
    return PreMerge(
        verdict,
        settings.metric,
        settings.within,
        result.asked,
        result.questions,
        branch,
        main,
        better * (branch.value - main.value),
        tuple(sorted((id for id, gap in known.items() if gap < -1e-9), key=lambda id: (known[id], id))),
        tuple(sorted(id for id, gap in known.items() if gap > 1e-9)),
        result.stopped,
        too_many_failed,
    )
