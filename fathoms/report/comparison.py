"""Builds the terminal report of a statistical comparison of runs; the caller prints it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.text import Text

from fathoms.compare.compare import ALPHA, AnswerCounts, Comparison, Effect, Tested, Unshared
from fathoms.report.leaderboard import figure, short_figure
from fathoms.report.terminal import note, plain_table, with_blank_lines, with_ids
from fathoms.report.text import plain, shorten

CATEGORY = 25
SHOWN = 20
LETTERS = "BCDEFGHIJKLMNOPQRSTUVWXYZ"
TESTS = {
    "sign-flip": "sign-flip and score test of Overall",
    "sign-flip-and-pooled": "sign-flip, score and pooled test of Overall, the largest p",
    "mcnemar": "McNemar, mid-p, of Micro",
}


def comparison_panel(found: Comparison) -> list[RenderableType]:
    """Compare every run with the first: differences, intervals, tests, changed questions and omissions."""
    parts: list[RenderableType] = [
        with_ids(f"A: {found.first}", "bold"),
        note(f"profile {found.profile}; every run against A, on the same questions"),
    ]
    if any(test.metric == "hallucination" for test in found.tests):
        parts.append(note(f"hallucination: abstentions classified by {found.judge}"))
    parts += count_lines(found.runs[0])
    for position, unshared in enumerate(found.unshared):
        letter = LETTERS[position] if position < len(LETTERS) else f"run {position + 2}"
        parts += [Text(), with_ids(f"{letter}: {unshared.run}", "bold"), *unshared_lines(unshared)]
        parts += count_lines(found.runs[position + 1])
        parts += version_lines({"A": found.runs[0].versions, letter: found.runs[position + 1].versions})
        for test in found.tests:
            if test.run == unshared.run:
                parts += tested_parts(test, letter)
    parts += [note(plain(one)) for one in found.notes]
    count = len(found.tests)
    several = (
        f"p after Holm is over the {count} tests above, for other documents by themselves"
        if count > 1
        else "one test, no correction"
    )
    parts.append(
        note(
            "\n[low, high]: 95 % intervals of the difference; those of the categories are descriptive, not"
            f" corrected for their number; {several}"
        )
    )
    return parts


def count_lines(run: AnswerCounts) -> Iterator[Text]:
    """Warn about failed calls, and about replies that came from another run's cache."""
    if run.failed:
        yield Text(
            f"{run.failed} of {run.answers} calls failed: correctness 0, no hallucination", style="red"
        )
    if run.cached:
        yield Text(f"{run.cached} of {run.answers} replies came from an earlier run's cache", style="red")


def version_lines(versions: Mapping[str, Sequence[str]]) -> Iterator[Text]:
    """Say that the runs, given by name, were answered by different versions of a service."""
    if len({tuple(sorted(listed)) for listed in versions.values()}) > 1:
        sides = (f"{', '.join(listed) or 'not known'} in {name}" for name, listed in versions.items())
        yield Text(f"service version: {plain(', '.join(sides))}", style="red")


def unshared_lines(unshared: Unshared) -> Iterator[Text]:
    """List the questions that could not be compared."""
    sides = {"only A asked": unshared.only_first, "A did not ask": unshared.only_second}
    for what, names in {**sides, "other text or gold": unshared.changed}.items():
        if names:
            yield Text(f"not compared, {what}: {listed(names)}", style="red")


def listed(names: Sequence[str]) -> str:
    """Show how many names there are, and the first of them."""
    more = ", ..." if len(names) > SHOWN else ""
    return f"{len(names)} ({', '.join(map(plain, names[:SHOWN]))}{more})"


def tested_parts(test: Tested, letter: str) -> Iterator[RenderableType]:
    """Show the comparison of one metric between one run and the first."""
    table = plain_table(test.metric, "n", "A", letter, f"{letter} - A")
    table.add_row("Overall (category mean)", *effect_cells(test.overall), style="bold")
    table.add_row("Micro (question mean)", *effect_cells(test.micro), style="dim", end_section=True)
    for category, effect in test.categories.items():
        table.add_row(Text(shorten(category, CATEGORY)), *effect_cells(effect))
    yield with_blank_lines(table)
    yield Text(
        f"for other questions on the same documents: {verdict(test.p, test.p_holm)} ({TESTS[test.test]})"
    )
    least = "unreachable" if test.detectable is None else f"{test.detectable:.2f}"
    of = "Micro" if test.test == "mcnemar" else "Overall"
    yield Text(f"smallest true difference in {of} that this test finds in 80 % of cases: {least}")
    if (wider := test.other_documents) is not None:
        yield Text(
            f"for other documents: {wider.difference:+.2f} {signed_bracket(wider.low, wider.high)},"
            f" {verdict(wider.p, wider.p_holm)} (CR2 of Overall, {wider.groups} groups of documents)"
        )
    else:
        yield Text(f"for other documents: not known ({test.no_other_documents})")
    yield Text(f"{letter} wins {test.wins}, loses {test.losses}, ties {test.ties}")
    if test.left_out:
        yield note(f"left out, {test.metric} does not apply on both sides: {listed(test.left_out)}")
    if test.flips:
        flips = [f"{flip.question} {figure(flip.first)} to {figure(flip.second)}" for flip in test.flips]
        yield note(f"differ: {listed(flips)}")


def verdict(p: float, p_holm: float) -> str:
    """Say what a test shows: `no difference shown, p .040, after Holm .080`."""
    shown = "a difference" if p_holm < ALPHA else "no difference shown"
    return f"{shown}, p {p_text(p)}, after Holm {p_text(p_holm)}"


def effect_cells(effect: Effect) -> list[str]:
    """Format the denominator, both means, and the difference with its interval."""
    return [
        str(effect.n),
        figure(effect.first),
        figure(effect.second),
        f"{effect.difference:+.2f} {signed_bracket(effect.low, effect.high)}",
    ]


def signed_bracket(low: float, high: float) -> str:
    """Format the interval of a difference: `[-.15, +.02]`."""
    return f"[{', '.join(('-' if value < 0 else '+') + short_figure(abs(value)) for value in (low, high))}]"


def p_text(p: float) -> str:
    """Format a p-value with three digits and no leading zero, such as `.042`."""
    return "< .001" if p < 0.001 else f"{p:.3f}".removeprefix("0")
