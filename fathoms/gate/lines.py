"""Shows the verdict of a regression gate on the terminal and as JUnit test cases; the caller prints it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from rich.console import RenderableType
from rich.text import Text

from fathoms.errors import amount
from fathoms.gate.against_baseline import (
    GateCheck,
    Gated,
    LossCheck,
    SectionUsed,
    SequenceCheck,
    is_large,
)
from fathoms.gate.limits import LimitCheck
from fathoms.gate.small_sets import DAYS, FAILED_CALLS
from fathoms.report.comparison import SHOWN, listed, version_lines
from fathoms.report.grid import Grid
from fathoms.report.junit import Case, Suite
from fathoms.report.terminal import note, with_blank_lines, with_ids
from fathoms.report.text import plain, shorten
from fathoms.text.amounts import p_figure, p_value, percent

KIND = "gate"
STYLES = {"PASS": "green", "FAIL": "red", "UNDECIDED": "yellow"}
SCOPE = 24
HEADERS = ("check", "run", "n", "change", "low", "high", "p")


def gated_panel(found: Gated) -> list[RenderableType]:
    """Build the report of a gate: the verdict first, then the figures behind each check."""
    if found.losses:
        return list(_losses_panel(found))
    decides = len(found.checks) > 1 or any(map(_by_another_test, found.checks))
    versions = dict(zip(found.runs, found.versions, strict=False))
    table = Grid(*HEADERS, *(["decides"] if decides else []), "verdict")
    for check in found.checks:
        for row in check_rows(check, decides):
            table.add_row(*row)
    runs = [f"run {position}: {run}" for position, run in enumerate(found.runs, 1)]
    return [
        Text(found.verdict, style=f"bold {STYLES[found.verdict]}"),
        *([with_blank_lines(table)] if found.checks else [Text()]),
        *map(limit_text, found.limits),
        *(Text(evidence_text(each), style="red" if each.alarm else "") for each in found.sequence),
        *map(with_ids, [*runs, *(f"baseline: {run}" for run in found.baseline)]),
        *version_lines({"the baseline": found.baseline_versions} | versions),
        *([note(section_line(found.section))] if found.section else []),
        *map(note, changes(found)),
        *([note(meaning(found))] if found.checks else []),
        *(note(plain(one)) for one in found.notes),
        *reasons(found),
    ]


def _losses_panel(found: Gated) -> Iterator[RenderableType]:
    """Build the report of `--preset small`, of few lines."""
    yield Text(found.verdict, style=f"bold {STYLES[found.verdict]}")
    for each in found.losses:
        yield Text(loss_text(each), style=STYLES[each.verdict])
        if each.lost:
            waver = f" (right in only some runs before: {listed(each.wavering)})" if each.wavering else ""
            yield Text(f"lost: {listed(each.ids)}{waver}")
    yield from (limit_text(limit) for limit in found.limits if not limit.kept or limit.of != "call")
    yield note(f"baseline: {base_text(found.losses[0])}")
    if found.section:
        yield note(section_line(found.section))
    yield from map(note, changes(found))
    yield from (note(plain(one)) for one in found.notes)


def base_text(check: LossCheck) -> str:
    """Say how many answers the baseline has to a question, and how many of a night would pay off."""
    changing = "one night does not show which answers change from run to run, so FAIL takes many lost ones"
    few = f"; {changing}" * (check.answers == 1)
    more = "; with run --repeats {}, FAIL if {} are lost".format(*check.repeats) if check.repeats else ""
    return f"{amount(check.nights, 'run')}, {amount(check.answers, 'answer')} to a question{few or more}"


def loss_text(check: LossCheck) -> str:
    """Say how many right answers are lost, and how many are an alarm."""
    seen = f"; acknowledged until {check.seen}" if check.seen else ""
    lost = f"{len(check.lost)} of {check.right} right answers lost"
    return f"{check.metric}: {lost} ({decided_p(check.p)}; {alarm_text(check)}){seen}"


def alarm_text(check: LossCheck) -> str:
    """Say what FAIL takes: so many lost answers, or where others are lost, a `p` below the level."""
    if check.needed is None:
        return "the loss of all would be no alarm"
    if check.verdict == "PASS" and len(check.lost) < check.needed:
        return f"FAIL at {check.needed} steady answers"
    return f"FAIL below {check.level:.2g}"


def decided_p(p: float) -> str:
    """Format a p value below 0.01 with four digits, so that it can be compared with a level."""
    return p_value(p) if p >= 0.01 else f"p {p:.4f}" if p >= 0.0001 else "p < 0.0001"


def day(date: str) -> str:
    """Format a date of ISO 8601 as `21 Nov`."""
    return f"{datetime.fromisoformat(date):%d %b}".lstrip("0")


def _loss_line(found: Gated, also: str = "") -> str:
    """Return the verdict of `--preset small` on one line, with cause and remedy; `also` is a second cause."""
    check = deciding_loss(found)
    many = f"{len(check.lost)}{'' if check.verdict == 'FAIL' else f' of {check.right}'}"
    what = "" if check.metric == "correctness" else f" by {check.metric}"
    more = " ..." * (len(check.lost) > SHOWN)
    names = f" ({plain(' '.join(check.ids[:SHOWN]))}{more})" if check.lost else ""
    line = f"{found.verdict}: {many} right answers lost{what}{names}"
    since = f" since {day(check.since)}" if check.since else ""
    if check.verdict == "FAIL":
        return f"{line}{since}{also}; to accept this for {DAYS} days: fathoms gate ... --acknowledge"
    if check.seen:
        return f"{line}{since}, acknowledged until {check.seen}"
    if check.needed is None:
        return (
            f"{line}; the loss of all {check.right} would be no alarm: add questions, or runs to the baseline"
        )
    p = f"{decided_p(check.p)}, " * (len(check.lost) >= check.needed)
    return f"{line}; {p}{alarm_text(check)}"


def failed_calls_of(found: Gated) -> tuple[str, str] | None:
    """Say that more calls failed than may, and what to do; `None` if this is not so."""
    checks = (one for one in found.limits if not one.kept and one.limit.metric == FAILED_CALLS)
    if (check := next(checks, None)) is None:
        return None
    why = f" ({plain(check.why)})" if check.why else ""
    failed = f"{round(check.found * check.questions)} of {check.questions} calls failed{why}"
    return failed, f"at most {percent(check.limit.value)} may fail; repair the service, then run again"


def limit_text(check: LimitCheck) -> Text:
    """Say whether the run is within a fixed limit."""
    return Text(limited(check), style="green" if check.kept else "red")


def wanted(check: LimitCheck) -> str:
    """Say what was found and what the limit is: `correctness 0.52 (93 questions), at least 0.6`."""
    name = check.limit.metric + (f" in {plain(check.category)}" if check.category else "")
    side = "at least" if check.limit.side == "min" else "at most"
    why = f", {plain(check.why)}" if check.why else ""
    return (
        f"{name} {check.found:.2f} ({amount(check.questions, check.of)}{why}), {side} {check.limit.value:g}"
    )


def limited(check: LimitCheck) -> str:
    """Say whether the run is within a fixed limit: `correctness 0.52 (93 questions), at least 0.6: FAIL`."""
    return f"{wanted(check)}: {'PASS' if check.kept else 'FAIL'}"


def evidence_text(check: SequenceCheck) -> str:
    """Say how much evidence for a loss there is, and after an alarm what ends it:
    `correctness: evidence of a loss 812 after 12 nights (alarm at 14,600)`."""
    ends = (
        "; FAIL stays, and later runs are not counted, until 'fathoms gate ... --sequential --acknowledge',"
        " with a new baseline if the loss is intended"
    )
    return f"{check_name(check)}: {evidence_why(check)}{ends * (check.alarm is not None)}"


def evidence_why(check: SequenceCheck) -> str:
    """Say how much evidence for a loss all nights give, and what raised an alarm."""
    nights = amount(check.nights, "night")
    if check.alarm is None:
        p = "" if check.p is None else f"{p_value(check.p)} tonight; "
        return f"{p}evidence of a loss {check.evidence:,.1f} after {nights} (alarm at {check.needed:,.0f})"
    evidence = f"evidence of a loss {check.evidence:,.1f} after {nights}"
    why = {
        "evidence": f"{evidence}, and {check.needed:,.0f} is an alarm",
        "night": f"the loss of this run alone is large enough for an alarm ({evidence})",
        "lost": f"this run alone lost enough of the baseline's right answers for an alarm ({evidence})",
    }[check.alarm_by or "evidence"]
    alone = f"; this run alone would be {check.alone}" * (check.alone not in (None, "FAIL"))
    return f"alarm with {plain(check.alarm)}: {why}{alone}"


def _by_another_test(check: GateCheck) -> bool:
    """Return whether another p value than that of the newest run made a check FAIL."""
    return check.verdict == "FAIL" and p_figure(check.p) != p_figure(check.nights[-1].p)


def check_rows(check: GateCheck, decides: bool) -> Iterator[list[str | Text]]:
    """Yield a table line for each run; the last line of a check has its verdict, and with `decides` the p
    value that decides it."""
    name = shorten(f"{check.metric}, {check.category}" if check.category else check.metric, SCOPE)
    for position, night in enumerate(check.nights, 1):
        figures = [f"{value:+.3f}" for value in (night.delta, night.low, night.high)]
        first = Text(name if position == 1 else "")
        outcome = [*([p_figure(check.p)] if decides else []), check.verdict]
        if position < len(check.nights):
            outcome = [""] * len(outcome)
        yield [first, str(position), str(night.questions), *figures, p_figure(night.p), *outcome]


def meaning(found: Gated) -> str:
    """Explain how to read the table."""
    turned = " and ".join(found.reversed)
    sign = f"; for {turned}, the sign is reversed, so that negative is always worse" if turned else ""
    of_classifier = {"hallucination", "abstention"} & set(found.reversed)
    judge = f", abstentions classified by {found.judge}" if of_classifier else ""
    holm = f", after Holm over the {len(found.checks)} checks" if len(found.checks) > 1 else ""
    fails = f"a check is FAIL if p is below {found.level:g} in its most certain test{holm}"
    if found.sequence:
        from fathoms.stats.sequential import BUDGET, YEAR

        fails = (
            "a check is FAIL if the evidence of all nights together, or the loss of one night, is large"
            f" enough; the probability of a false alarm within {YEAR} nights is at most {percent(BUDGET)}"
        )
    return (
        f"profile {found.profile}{judge}; change is run minus baseline{sign}; low and high are one-sided"
        f" {percent(1 - found.alpha, 1)} bounds; p is the probability that the same pipeline loses so much"
        f" in a run; the margin is {found.margin:g}; {fails}"
    )


def reasons(found: Gated) -> Iterator[Text]:
    """Explain each check that did not pass, and list the questions that were left out."""
    for check in found.checks:
        if check.verdict == "FAIL" and not found.sequence:
            yield Text(
                f"{check_name(check)} is worse by {found.margin:g} or more: {_proof(check)}", style="red"
            )
        elif check.verdict == "UNDECIDED":
            yield Text(undecided_check(found, check), style="yellow")
        for run, night in zip(found.runs, check.nights, strict=True):
            if night.left_out:
                yield note(
                    f"left out of {plain(run)}, {check_name(check)} does not apply: {listed(night.left_out)}"
                )


def section_line(section: SectionUsed) -> str:
    """Say that the settings come from the config, and which options replaced some of them."""
    options = [f"--{key.replace('_', '-')}" for key in section.overridden]
    instead = f"; given as options: {', '.join(options)}" if options else ""
    return f"settings: section 'gate' of the run's config{instead}"


def changes(found: Gated) -> Iterator[str]:
    """Name the questions that were left out because they changed, or because only a run has them."""
    if found.changed:
        yield f"questions left out, because the baseline and a run differ about them: {listed(found.changed)}"
    if found.added:
        yield f"questions left out, because only a run has them: {listed(found.added)}"


def _proof(check: GateCheck) -> str:
    """Name the p value that made a check FAIL, and what it is of."""
    by = str(check.by)
    if check.lost is not None and by == "the right answers lost":
        by = f"the newest run, which lost {check.lost[1]} of the baseline's {check.lost[0]} right answers"
    return f"{p_value(check.p)} in {by}"


def undecided(found: Gated) -> str:
    """Return the warning for an undecided gate, about the check that decided it."""
    if found.losses:
        return gate_line(found)
    return f"undecided: {undecided_check(found, deciding(found))}"


def undecided_check(found: Gated, check: GateCheck) -> str:
    """Explain why one check neither failed nor passed, and what to do."""
    name, newest = check_name(check), check.nights[-1]
    if check in found.large_losses:
        return (
            f"{name} fell by {-newest.delta:.2f} on {amount(check.questions, 'question')}, which is too few"
            " to be sure: run it again now, and gate both runs together"
        )
    if found.sequence and (check.p < found.level or is_large(newest.delta)):
        return (
            f"{name} fell by {-newest.delta:.2f}, but the evidence of all nights is not yet an alarm: run it"
            " again now, and gate that run too"
        )
    if check.alone < found.level:
        return (
            f"{name} alone would FAIL, but not after Holm over the {len(found.checks)} checks asked for (p"
            f" {p_figure(check.p)}, it must be below {found.level:g})"
        )
    if newest.high < 0 and newest.delta > -found.margin:
        return f"{name} is worse, but the observed change is smaller than the margin of {found.margin:g}"
    if check.resolvable is not None and check.resolvable > found.margin:
        enough = f"about {check.needed:,}" if check.needed else "more than 10,000"
        return (
            f"{check.questions} questions cannot show that {name} fell by less than {found.margin:g}: they"
            f" can show a margin of {check.resolvable:.2f}, and {enough} questions would be needed"
        )
    return f"{name} can be shown neither to be worse by {found.margin:g} nor not to be"


def gate_line(found: Gated) -> str:
    """Return the verdict on one line, with the newest figures of the check, or the limit, that decided it."""
    broken = [limit for limit in found.limits if not limit.kept]
    if failed := failed_calls_of(found):
        return f"{found.verdict}: {failed[0]}, and {failed[1]}"
    if broken and any(each.verdict == "FAIL" for each in found.losses):
        return _loss_line(found, f", and {wanted(broken[0])}")
    if broken or not (found.checks or found.losses):
        more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
        return f"{plain(found.runs[-1])}: {limited((broken or list(found.limits))[0])}{more}"
    if found.losses:
        return _loss_line(found)
    check = deciding(found)
    several = f", {len(found.runs)} runs" if len(found.runs) > 1 else ""
    runs = f"{len(found.baseline)} baseline run{'s' * (len(found.baseline) != 1)}"
    if found.sequence:
        each = found.sequence[found.checks.index(check)]
        since = f" since {plain(each.alarm)}" if each.alarm not in (None, found.runs[-1]) else ""
        alone = each.alarm_by in ("night", "lost")
        level = f"evidence of a loss {each.evidence:,.1f} (alarm at {each.needed:,.0f})"
        lone = f" (this run alone: {each.alone})" if each.alarm and each.alone not in (None, "FAIL") else ""
        several = f", {'alarm by one night alone' if alone else level}{since}{lone}"
    counts = {"changed": len(found.changed), "new": len(found.added)}
    said = " and ".join(f"{count} {what}" for what, count in counts.items() if count)
    changed = f", {said} left out" if said else ""
    return (
        f"{plain(found.runs[-1])}: {check_name(check)} {_figures(check)}{deciding_p(found, check)} against"
        f" {runs}{several}{changed}: {found.verdict}"
    )


def deciding_loss(found: Gated) -> LossCheck:
    """Return the check of lost answers with the overall verdict that is least likely to be chance."""
    return min(found.losses, key=lambda each: (each.verdict != found.verdict, not each.seen, each.p))


def deciding(found: Gated) -> GateCheck:
    """Return the check with the largest drop among those that have the overall verdict."""
    return min(
        (check for check in found.checks if check.verdict == found.verdict),
        key=lambda check: check.nights[-1].delta,
    )


def _figures(check: GateCheck) -> str:
    """Format the change in the newest run with its bounds: `-0.081 [-0.131, -0.033]`."""
    night = check.nights[-1]
    return f"{night.delta:+.3f} [{night.low:+.3f}, {night.high:+.3f}]"


def deciding_p(found: Gated, check: GateCheck) -> str:
    """Return the p value that made a check FAIL as `, p < 0.001`; empty for other checks and where the
    evidence of all nights decides."""
    return f", {p_value(check.p)}" if check.verdict == "FAIL" and not found.sequence else ""


def check_name(check: GateCheck | SequenceCheck) -> str:
    """Name the metric and the category of a check: `correctness in Tables`."""
    return check.metric + (f" in {plain(check.category)}" if check.category else "")


def gate_suite(found: Gated, *, strict: bool, by_question: bool = False) -> Suite:
    """Build a JUnit suite with a test case per check; FAIL is a failure, and so is UNDECIDED with
    `strict` or after a large loss. With `by_question`, each question of a check is a test case too: where the
    check is a failure, so are the questions that are worse than in the baseline."""
    bad = {"FAIL", "UNDECIDED"} if strict or found.large_losses else {"FAIL"}
    cases = []
    for check in found.checks:
        said = f"{_figures(check)}, n {check.questions}{deciding_p(found, check)}: {check.verdict}"
        failure = (check.verdict, said) if check.verdict in bad else None
        cases.append(Case(f"{KIND} {check_name(check)}", failure=failure, said=said))
        better = -1 if check.metric in found.reversed else 1
        for question, before, now in check.scores if by_question else ():
            said = f"{before:.2f} in the baseline, {now:.2f} in the newest run"
            worse = failure is not None and better * (now - before) < -1e-9
            name = f"{KIND} {check_name(check)}: {question}"
            cases.append(Case(name, failure=("worse", said) if worse else None, said=said))
    for each in found.losses:
        said = loss_text(each) + (f": {listed(each.ids)}" if each.lost else "")
        failure = (each.verdict, said) if each.verdict in bad else None
        cases.append(Case(f"{KIND} {each.metric}", failure=failure, said=said))
        for question, *_ in each.lost if by_question else ():
            lost = (each.verdict, said) if each.verdict == "FAIL" else None
            cases.append(Case(f"{KIND} {each.metric}: {question}", failure=lost, said="lost"))
    for limit in found.limits:
        said = limited(limit)
        name = f"{limit.limit.side} {limit.limit.metric}" + (
            f" in {limit.category}" if limit.category else ""
        )
        cases.append(Case(f"{KIND} {name}", failure=None if limit.kept else ("FAIL", said), said=said))
    return Suite(KIND, cases)
