"""Shows the verdict of a gate in at most eight lines: what was found, why, what was lost, and what to do."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions
from rich.text import Text

from fathoms.errors import amount
from fathoms.gate.against_baseline import GateCheck, Gated, LossCheck
from fathoms.gate.lines import (
    STYLES,
    alarm_text,
    base_text,
    check_name,
    day,
    decided_p,
    deciding,
    deciding_loss,
    evidence_why,
    failed_calls_of,
    limited,
    section_line,
    undecided_check,
    wanted,
)
from fathoms.report.comparison import version_lines
from fathoms.report.text import plain
from fathoms.text.amounts import figure, percent, with_sign

LINES = 8
"""The most lines that are printed; remarks that have no room are counted."""
GAP = " " * 5
SHORT = "more: gate --all"
"""What stands after a long command in place of `all figures: gate --all`."""
ROOM = 64
"""The cells that the ids of lost questions may fill."""


@dataclass(frozen=True)
class Brief:
    """A verdict as lines with a word at the left. `remarks` are shown as far as there is room for them,
    above the commands to give `next`, which are never broken."""

    verdict: str
    found: tuple[tuple[str, str], ...]
    remarks: tuple[tuple[str, str], ...]
    next: tuple[tuple[str, str], ...]

    def lines(self, width: int) -> list[str]:
        """Return the lines, broken at spaces to fit a width."""
        indent = max(4, len(self.verdict)) + 2

        def wrapped(rows: Sequence[tuple[str, str]]) -> list[str]:
            return [
                line
                for word, text in rows
                for line in textwrap.wrap(
                    plain(text),
                    max(width, 2 * indent),
                    initial_indent=word.ljust(indent),
                    subsequent_indent=" " * indent,
                    break_long_words=False,
                    break_on_hyphens=False,
                )
            ]

        last: list[str] = []
        for command, text in self.next:
            word = "" if last else "next"
            step = f"{word:{indent}}{GAP.join(filter(None, (plain(command), text)))}"
            if len(step) > width and text:
                step = step.removesuffix(text) + SHORT
            last.append(step)
        lines = wrapped(self.found)
        for place, remark in enumerate(self.remarks):
            more = wrapped([remark])
            left = len(self.remarks) - place
            if len(lines) + len(more) + len(last) + (left > 1) > LINES:
                lines += wrapped([("note", f"{amount(left, 'remark')}: --all")])
                break
            lines += more
        return [*lines, *last]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        for number, line in enumerate(self.lines(options.max_width)):
            text = Text(line, no_wrap=True, overflow="ignore")
            if number == 0:
                text.stylize(f"bold {STYLES[self.verdict]}", 0, len(self.verdict))
            yield text


def brief(found: Gated, run: str, baseline: str | None = None, *, acknowledge: str = "") -> Brief:
    """Build the short report of a gate. `run` and `baseline` are the words by which commands find the newest
    run and a run of the baseline, `None` without one; `acknowledge` is the command that accepts an alarm."""
    headline, *whys = _reasons(found)
    rows = [(found.verdict, headline), *(("" if place else "why", why) for place, why in enumerate(whys))]
    if lost := _lost(found):
        rows.append(("lost", lost))
    remarks = [("note", text) for text in _remarks(found)]
    if found.losses and failed_calls_of(found) is None:
        remarks.insert(0, ("base", base_text(found.losses[0])))
    look = f"fathoms compare {baseline} {run}" if baseline else f"fathoms show {run}"
    steps = [(look if found.verdict != "PASS" else "", "all figures: gate --all")]
    if found.verdict == "FAIL" and acknowledge and not failed_calls_of(found):
        steps.append((acknowledge, ""))
    return Brief(found.verdict, tuple(rows), tuple(remarks), tuple(steps))


def _reasons(found: Gated) -> Iterator[str]:
    """Yield what was found in the check that decided, and then why it has this verdict."""
    broken = [limit for limit in found.limits if not limit.kept]
    if failed := failed_calls_of(found):
        yield from failed
        return
    if found.losses and (not broken or any(each.verdict == "FAIL" for each in found.losses)):
        check = deciding_loss(found)
        yield _levels(check.metric, check)
        yield loss_why(check)
    elif found.checks and (not broken or any(each.verdict == "FAIL" for each in found.checks)):
        yield from _check_reasons(found, deciding(found))
    else:
        first, *broken = broken or found.limits
        yield wanted(first)
        yield "a fixed limit was crossed" if found.verdict == "FAIL" else "each fixed limit holds"
        broken = [limit for limit in broken if not limit.kept]
    if broken:
        more = f" (and {len(broken) - 1} more)" * (len(broken) > 1)
        yield f"{limited(broken[0])}{more}"


def _check_reasons(found: Gated, check: GateCheck) -> Iterator[str]:
    """Yield the change of a check and why it has its verdict, and count the others with the same one."""
    yield _levels(check_name(check), check)
    others = [one for one in found.checks if one is not check and one.verdict == found.verdict]
    also = f"; {found.verdict} also for {', '.join(map(check_name, others[:2]))}" if others else ""
    also += f" and {len(others) - 2} more" * (len(others) > 2)
    if found.verdict == "PASS" and others:
        also = f"; the same holds for {amount(len(others), 'other check')}"
    if found.sequence:
        yield evidence_why(found.sequence[found.checks.index(check)]) + also
    elif check.verdict == "FAIL":
        yield f"{_proof(check, found.margin)} ({decided_p(check.p)}; FAIL below {found.level:g}){also}"
    elif check.verdict == "UNDECIDED":
        yield undecided_check(found, check) + also
    else:
        most = max(-check.nights[-1].low, 0.0)
        yield (
            f"a loss of {found.margin:g} or more is ruled out: it is at most {most:.3f}"
            f" ({percent(1 - found.alpha, 1)} sure){also}"
        )


def _levels(name: str, check: GateCheck | LossCheck) -> str:
    """Say what the values were and are: `correctness 0.09 -> 0.00 (-0.09) on 42 questions`."""
    before, now = check.means
    over = amount(check.questions, "question")
    return f"{name} {figure(before)} -> {figure(now)} ({with_sign(now - before)}) on {over}"


def _proof(check: GateCheck, margin: float) -> str:
    """Say what made a check FAIL."""
    if check.lost is None or check.by != "the right answers lost":
        return f"worse by {margin:g} or more in {check.by}"
    right, lost = check.lost
    which = f"all {lost}" if lost == right else f"{lost} of {right}"
    return f"{which} right answers of the baseline were lost"


def loss_why(check: LossCheck) -> str:
    """Say how many right answers were lost, and how many are an alarm."""
    if check.needed is None:
        return (
            f"{len(check.lost)} of {check.right} right answers were lost, and the loss of all would be no"
            " alarm: add questions, or runs to the baseline"
        )
    since = f", since {day(check.since)}" if check.since else ""
    seen = f"; acknowledged until {check.seen}" if check.seen else ""
    lost = f"{len(check.lost)} of {check.right} right answers were lost"
    return f"{lost} ({decided_p(check.p)}; {alarm_text(check)}){since}{seen}"


def _lost(found: Gated) -> str:
    """List the questions that were lost by the check that decided, the largest loss first."""
    if failed_calls_of(found):
        return ""
    if found.losses:
        check = deciding_loss(found)
        waver = f" (right in only some runs before: {_few(check.wavering)})" if check.wavering else ""
        return _few(check.ids) + waver
    if not found.checks or not any(one.verdict == found.verdict for one in found.checks):
        return ""
    scores, metric = deciding(found).scores, deciding(found).metric
    better = -1 if metric in found.reversed else 1
    changes = [(better * (now - before), name) for name, before, now in scores]
    return _few([name for change, name in sorted(changes, key=lambda one: one[0]) if change < -1e-9])


def _few(names: Sequence[str]) -> str:
    """Show the first of some ids, as many as there is room for."""
    shown: list[str] = []
    for name in map(plain, names):
        if shown and len(" ".join([*shown, name])) > ROOM:
            return f"{' '.join(shown)} and {len(names) - len(shown)} more"
        shown.append(name)
    return " ".join(shown)


def _remarks(found: Gated) -> Iterator[str]:
    """Yield what a reader must know besides the verdict."""
    if found.baseline:
        versions = dict(zip(found.runs, found.versions, strict=False))
        yield from map(str, version_lines({"the baseline": found.baseline_versions} | versions))
    counts = {"changed question": len(found.changed), "new question": len(found.added)}
    if left_out := " and ".join(amount(count, what) for what, count in counts.items() if count):
        yield f"left out: {left_out}"
    if found.section:
        yield section_line(found.section)
    yield from found.notes
