"""The verdict of a gate on the terminal. Nothing is printed here."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from fathoms.gating import GateCheck, Gated
from fathoms.question_scores import HIGHER_IS_BETTER
from fathoms.report.comparison import listed, p_text
from fathoms.report.junit import Case, Suite
from fathoms.report.terminal import apart, bare_table, note
from fathoms.report.text import plain, shorten

KIND = "gate"
STYLES = {"PASS": "green", "FAIL": "red", "UNDECIDED": "yellow"}
SCOPE = 24
HEADERS = ("check", "run", "n", "change", "low", "high", "p", "verdict", "needed")


def gated_panel(found: Gated) -> list[RenderableType]:
    """The verdict first, then what each check rests on."""
    table = bare_table()
    for header in HEADERS:
        table.add_column(header, justify="left" if header in ("check", "run") else "right", no_wrap=True)
    for check in found.checks:
        for row in check_rows(check):
            table.add_row(*row)
    runs = [f"run {position}: {run}" for position, run in enumerate(found.runs, 1)]
    return [
        Text(found.verdict, style=f"bold {STYLES[found.verdict]}"),
        apart(table),
        *map(note, [*runs, f"baseline: {', '.join(map(plain, found.baseline))}"]),
        note(meaning(found)),
        *reasons(found),
    ]


def check_rows(check: GateCheck) -> Iterator[list[str | Text]]:
    """A line for each run."""
    name = shorten(f"{check.metric}, {check.category}" if check.category else check.metric, SCOPE)
    for position, night in enumerate(check.nights, 1):
        figures = [f"{value:+.3f}" for value in (night.delta, night.low, night.high)]
        first = Text(name if position == 1 else "")
        last = position == len(check.nights)
        outcome = [check.verdict, f"{check.needed:,}" if check.needed else ""] if last else ["", ""]
        yield [first, str(position), str(check.questions), *figures, p_text(night.p), *outcome]


def meaning(found: Gated) -> str:
    """How to read the table."""
    turned = [name for name in {check.metric for check in found.checks} if not HIGHER_IS_BETTER[name]]
    sign = f"; {turned[0]} is turned round: negative is worse" if turned else ""
    return (
        f"profile {found.profile}; change is run minus baseline{sign}; low and high are one-sided"
        f" {1 - found.alpha:.1%} bounds; the margin is {found.margin:g}; needed: questions like these that"
        " would let an unchanged pipeline pass in 80 % of all nights"
    )


def reasons(found: Gated) -> Iterator[Text]:
    """A sentence for each check that failed, and what was left out."""
    several = f" after Holm over {len(found.checks)} checks" if len(found.checks) > 1 else ""
    for check in found.checks:
        name = _name(check)
        if check.verdict == "FAIL":
            yield Text(
                f"{name} is worse in every run by {found.margin:g} or more: p {p_text(check.p)}{several}",
                style="red",
            )
        if check.left_out:
            yield note(f"left out, {name} does not apply: {listed(check.left_out)}")


def undecided(found: Gated) -> str:
    """The warning of an undecided gate: the check that is farthest from telling."""
    open_checks = [check for check in found.checks if check.verdict == "UNDECIDED"]
    worst = max(open_checks, key=lambda check: check.needed or 0)
    needed = f"; about {worst.needed:,} would be needed" if worst.needed else ""
    return (
        f"undecided: {worst.questions} questions cannot tell a change of {found.margin:g} in"
        f" {worst.metric}{f' in {plain(worst.category)}' if worst.category else ''}{needed}"
    )


def gate_line(found: Gated) -> str:
    """The verdict in one line, for the morning: of the check that decides, its newest run."""
    check = _deciding(found)
    several = f", {len(found.runs)} runs" if len(found.runs) > 1 else ""
    runs = f"{len(found.baseline)} baseline run{'s' * (len(found.baseline) != 1)}"
    return (
        f"{plain(found.runs[-1])}: {_name(check)} {_figures(check)} against {runs}{several}: {found.verdict}"
    )


def _deciding(found: Gated) -> GateCheck:
    """A check with the verdict of all, the worst of them."""
    return min(
        (check for check in found.checks if check.verdict == found.verdict),
        key=lambda check: check.nights[-1].delta,
    )


def _figures(check: GateCheck) -> str:
    """`-0.081 [-0.131, -0.033]`, of the newest run."""
    night = check.nights[-1]
    return f"{night.delta:+.3f} [{night.low:+.3f}, {night.high:+.3f}]"


def _name(check: GateCheck) -> str:
    """`correctness in Tables`."""
    return check.metric + (f" in {plain(check.category)}" if check.category else "")


def gate_suite(found: Gated, *, strict: bool) -> Suite:
    """A test case a check: a failure where it FAILs, or is UNDECIDED under `strict`."""
    bad = {"FAIL", "UNDECIDED"} if strict else {"FAIL"}
    cases = []
    for check in found.checks:
        night = check.nights[-1]
        said = (
            f"{night.delta:+.3f} [{night.low:+.3f}, {night.high:+.3f}], n {check.questions}: {check.verdict}"
        )
        failure = (check.verdict, said) if check.verdict in bad else None
        cases.append(Case(f"{KIND} {_name(check)}", failure=failure, said=said))
    return Suite(KIND, cases)
