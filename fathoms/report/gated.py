"""Shows the verdict of a regression gate on the terminal and as JUnit test cases; the caller prints it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from fathoms.compare.against_baseline import GateCheck, Gated, GateNight
from fathoms.report.comparison import listed, p_text
from fathoms.report.junit import Case, Suite
from fathoms.report.terminal import bare_table, note, with_blank_lines, with_ids
from fathoms.report.text import plain, shorten

KIND = "gate"
STYLES = {"PASS": "green", "FAIL": "red", "UNDECIDED": "yellow"}
SCOPE = 24
NEEDED = "; needed: questions like these that would let an unchanged pipeline pass in 80 % of all nights"
HEADERS = ("check", "run", "n", "change", "low", "high", "p")


def gated_panel(found: Gated) -> list[RenderableType]:
    """Build the report of a gate: the verdict first, then the figures behind each check."""
    several = len(found.checks) > 1
    table = bare_table()
    for header in (*HEADERS, *(["Holm"] if several else []), "verdict"):
        table.add_column(header, justify="left" if header in ("check", "run") else "right", no_wrap=True)
    for check in found.checks:
        for row in check_rows(check, several):
            table.add_row(*row)
    runs = [f"run {position}: {run}" for position, run in enumerate(found.runs, 1)]
    return [
        Text(found.verdict, style=f"bold {STYLES[found.verdict]}"),
        with_blank_lines(table),
        *map(with_ids, [*runs, *(f"baseline: {run}" for run in found.baseline)]),
        note(meaning(found)),
        *reasons(found),
    ]


def check_rows(check: GateCheck, several: bool) -> Iterator[list[str | Text]]:
    """Yield a table line for each run; the last line of a check has its Holm-adjusted p and its verdict."""
    name = shorten(f"{check.metric}, {check.category}" if check.category else check.metric, SCOPE)
    for position, night in enumerate(check.nights, 1):
        figures = [f"{value:+.3f}" for value in (night.delta, night.low, night.high)]
        first = Text(name if position == 1 else "")
        outcome = [*([p_text(check.p)] if several else []), check.verdict]
        if position < len(check.nights):
            outcome = [""] * len(outcome)
        yield [first, str(position), str(night.questions), *figures, p_text(night.p), *outcome]


def meaning(found: Gated) -> str:
    """Explain how to read the table."""
    turned = " and ".join(found.reversed)
    verb = "has its sign" if len(found.reversed) == 1 else "have their signs"
    sign = f"; {turned} {verb} reversed: negative is worse" if turned else ""
    of_classifier = {"hallucination", "abstention"} & set(found.reversed)
    judge = f", abstentions classified by {found.judge}" if of_classifier else ""
    return (
        f"profile {found.profile}{judge}; change is run minus baseline{sign}; low and high are one-sided"
        f" {1 - found.alpha:.1%} bounds; the margin is {found.margin:g}; FAIL takes p < {found.alpha:g}"
        f"{f' after Holm over the {len(found.checks)} checks' if len(found.checks) > 1 else ''}"
        f"{NEEDED if found.verdict == 'UNDECIDED' else ''}"
    )


def reasons(found: Gated) -> Iterator[Text]:
    """Explain each check that did not pass, and list the questions that were left out."""
    several = f" after Holm over {len(found.checks)} checks" if len(found.checks) > 1 else ""
    for check in found.checks:
        if check.verdict == "FAIL":
            yield Text(
                f"{_name(check)} is worse in every run by {found.margin:g} or more:"
                f" p {p_text(check.p)}{several}",
                style="red",
            )
        elif check.verdict == "UNDECIDED":
            yield Text(undecided_check(found, check), style="yellow")
        for run, night in zip(found.runs, check.nights, strict=True):
            if night.left_out:
                yield note(
                    f"left out of {plain(run)}, {_name(check)} does not apply: {listed(night.left_out)}"
                )


def undecided(found: Gated) -> str:
    """Return the warning for an undecided gate, about the check that decided it."""
    return f"undecided: {undecided_check(found, _deciding(found))}"


def undecided_check(found: Gated, check: GateCheck) -> str:
    """Explain why one check neither failed nor passed."""
    name, newest = _name(check), check.nights[-1]
    if all(_fails_alone(night, found) for night in check.nights):
        alone = max(night.p for night in check.nights)
        return (
            f"{name} alone would FAIL (p {p_text(alone)}), but not after Holm over the"
            f" {len(found.checks)} checks asked for (p {p_text(check.p)}, it must be below {found.alpha:g})"
        )
    if _fails_alone(newest, found):
        return f"{name} is worse by {found.margin:g} or more in the newest run, but not shown so in every run"
    if newest.high < 0:
        return f"{name} is worse, but the observed change is smaller than the margin of {found.margin:g}"
    if check.needed and check.needed > check.questions:
        return (
            f"{check.questions} questions cannot tell a change of {found.margin:g} in {name};"
            f" about {check.needed:,} would be needed"
        )
    return f"{name} can be shown neither to be worse by {found.margin:g} nor not to be"


def _fails_alone(night: GateNight, found: Gated) -> bool:
    """Return whether a run would fail if this were the only check and the only run."""
    return night.p < found.alpha and night.delta <= -found.margin


def gate_line(found: Gated) -> str:
    """Return the verdict on one line, with the newest figures of the check that decided it."""
    check = _deciding(found)
    several = f", {len(found.runs)} runs" if len(found.runs) > 1 else ""
    runs = f"{len(found.baseline)} baseline run{'s' * (len(found.baseline) != 1)}"
    return (
        f"{plain(found.runs[-1])}: {_name(check)} {_figures(check)} against {runs}{several}: {found.verdict}"
    )


def _deciding(found: Gated) -> GateCheck:
    """Return the check with the largest drop among those that have the overall verdict."""
    return min(
        (check for check in found.checks if check.verdict == found.verdict),
        key=lambda check: check.nights[-1].delta,
    )


def _figures(check: GateCheck) -> str:
    """Format the change in the newest run with its bounds: `-0.081 [-0.131, -0.033]`."""
    night = check.nights[-1]
    return f"{night.delta:+.3f} [{night.low:+.3f}, {night.high:+.3f}]"


def _name(check: GateCheck) -> str:
    """Name the metric and the category of a check: `correctness in Tables`."""
    return check.metric + (f" in {plain(check.category)}" if check.category else "")


def gate_suite(found: Gated, *, strict: bool) -> Suite:
    """Build a JUnit suite with a test case per check; FAIL, or UNDECIDED with `strict`, is a failure."""
    bad = {"FAIL", "UNDECIDED"} if strict else {"FAIL"}
    cases = []
    for check in found.checks:
        said = f"{_figures(check)}, n {check.questions}: {check.verdict}"
        failure = (check.verdict, said) if check.verdict in bad else None
        cases.append(Case(f"{KIND} {_name(check)}", failure=failure, said=said))
    return Suite(KIND, cases)
