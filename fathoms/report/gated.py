"""The verdict of a gate on the terminal. Nothing is printed here."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from fathoms.compare.gate import GateCheck, Gated, GateNight
from fathoms.compare.question_scores import HIGHER_IS_BETTER
from fathoms.report.comparison import listed, p_text
from fathoms.report.junit import Case, Suite
from fathoms.report.terminal import apart, bare_table, note
from fathoms.report.text import plain, shorten

KIND = "gate"
STYLES = {"PASS": "green", "FAIL": "red", "UNDECIDED": "yellow"}
SCOPE = 24
NEEDED = "; needed: questions like these that would let an unchanged pipeline pass in 80 % of all nights"
HEADERS = ("check", "run", "n", "change", "low", "high", "p")


def gated_panel(found: Gated) -> list[RenderableType]:
    """The verdict first, then what each check rests on."""
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
        apart(table),
        *map(note, [*runs, f"baseline: {', '.join(map(plain, found.baseline))}"]),
        note(meaning(found)),
        *reasons(found),
    ]


def check_rows(check: GateCheck, several: bool) -> Iterator[list[str | Text]]:
    """A line for each run; Holm's p, of `several` checks, and the verdict are those of all of them."""
    name = shorten(f"{check.metric}, {check.category}" if check.category else check.metric, SCOPE)
    for position, night in enumerate(check.nights, 1):
        figures = [f"{value:+.3f}" for value in (night.delta, night.low, night.high)]
        first = Text(name if position == 1 else "")
        outcome = [*([p_text(check.p)] if several else []), check.verdict]
        if position < len(check.nights):
            outcome = [""] * len(outcome)
        yield [first, str(position), str(night.questions), *figures, p_text(night.p), *outcome]


def meaning(found: Gated) -> str:
    """How to read the table."""
    turned = [name for name in {check.metric for check in found.checks} if not HIGHER_IS_BETTER[name]]
    sign = f"; {turned[0]} is turned round: negative is worse" if turned else ""
    judge = f", abstentions told by {found.judge}" if "hallucination" in turned else ""
    return (
        f"profile {found.profile}{judge}; change is run minus baseline{sign}; low and high are one-sided"
        f" {1 - found.alpha:.1%} bounds; the margin is {found.margin:g}; FAIL takes p < {found.alpha:g}"
        f"{f' after Holm over the {len(found.checks)} checks' if len(found.checks) > 1 else ''}"
        f"{NEEDED if found.verdict == 'UNDECIDED' else ''}"
    )


def reasons(found: Gated) -> Iterator[Text]:
    """A sentence for each check that did not pass, and what was left out."""
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
    """The warning of an undecided gate, of the check that decides."""
    return f"undecided: {undecided_check(found, _deciding(found))}"


def undecided_check(found: Gated, check: GateCheck) -> str:
    """Why one check neither failed nor passed."""
    name, newest = _name(check), check.nights[-1]
    if all(_fails_alone(night, found) for night in check.nights):
        alone = max(night.p for night in check.nights)
        return (
            f"{name} alone would FAIL (p {p_text(alone)}), but not after Holm over the"
            f" {len(found.checks)} checks asked for (p {p_text(check.p)}, {found.alpha:g} is wanted)"
        )
    if _fails_alone(newest, found):
        return f"{name} is worse by {found.margin:g} or more in the newest run, but not shown so in every run"
    if newest.high < 0:
        return f"{name} is worse, by less than the margin of {found.margin:g} as far as it was seen"
    if check.needed and check.needed > check.questions:
        return (
            f"{check.questions} questions cannot tell a change of {found.margin:g} in {name};"
            f" about {check.needed:,} would be needed"
        )
    return f"{name} is neither shown to be worse nor shown not to be, by {found.margin:g}"


def _fails_alone(night: GateNight, found: Gated) -> bool:
    """Whether a run is worse by the margin beyond doubt, were it judged by nothing else."""
    return night.p < found.alpha and night.delta <= -found.margin


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
