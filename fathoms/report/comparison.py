"""Builds the terminal report of a statistical comparison of runs; the caller prints it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.text import Text

from fathoms.compare.compare import ALPHA, AnswerCounts, Comparison, Effect, Tested, Unshared
from fathoms.report.grid import Grid, Phrases
from fathoms.report.terminal import note, with_blank_lines, with_ids
from fathoms.report.text import plain
from fathoms.text.amounts import bracket, figure, p_figure, p_value, with_sign

SHOWN = 20
LETTERS = "BCDEFGHIJKLMNOPQRSTUVWXYZ"
TESTS = {
    "sign-flip": "sign-flip and score test of the mean of the categories",
    "sign-flip-and-pooled": "sign-flip, score and pooled test of the mean of the categories, the largest p",
    "mcnemar": "McNemar, mid-p, of the mean of the questions",
}


def short_comparison(found: Comparison, labels: Mapping[str, str]) -> Iterator[RenderableType]:
    """Say in a line per run and metric whether it differs from the first run, by how much, and on which
    questions; `labels` are the names of the runs by their ids."""
    first = labels.get(found.first, found.first)
    yield from count_lines(found.runs[0], first)
    for unshared, run in zip(found.unshared, found.runs[1:], strict=True):
        other = labels.get(unshared.run, unshared.run)
        yield from (*unshared_lines(unshared, first), *count_lines(run, other))
        yield from version_lines({first: found.runs[0].versions, other: run.versions})
        changed: dict[str, None] = {}
        for number, test in enumerate(one for one in found.tests if one.run == unshared.run):
            yield short_test(test, f"{other} - {first} = " if number == 0 else "")
            if number == 0:
                yield better(test, first, other)
            changed |= dict.fromkeys(flip.question for flip in test.flips)
        if changed:
            yield Text(f"changed: {few(list(changed))}")
    yield from (note(one) for one in found.notes)
    holm = f"p is corrected for {len(found.tests)} tests (Holm); " if len(found.tests) > 1 else ""
    yield note(f"{holm}95 % intervals, for other questions on the same documents; more: --all")


def short_test(test: Tested, start: str) -> Phrases:
    """Say whether a test shows a difference: `correctness: no difference shown. B - A = -0.09 [-0.22, 0.00],
    p 0.125`."""
    found = test.micro if test.test == "mcnemar" else test.overall
    shown = "a difference" if test.p_holm < ALPHA else "no difference shown"
    difference = f"{start}{with_sign(found.difference)}{bracket((found.low, found.high))},"
    return Phrases(f"{test.metric}: {shown}.", difference, p_value(test.p_holm))


def better(test: Tested, first: str, other: str) -> Phrases:
    """Count the questions on which each run is better, and say which differences the test can show, or that
    there are too few questions to find any."""
    counts = f"{first} is better on {test.losses}, {other} on {test.wins}, equal on {test.ties}"
    if test.detectable is None:
        if test.p_holm < ALPHA:
            return Phrases(counts, indent="  ")
        return Phrases(f"{counts};", "too few questions to show a difference", indent="  ")
    return Phrases(
        f"{counts};", f"only a difference of {figure(test.detectable)} or more can be shown", indent="  "
    )


def few(names: Sequence[str]) -> str:
    """Show the first of some ids."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return " ".join(map(plain, names[:SHOWN])) + more


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
        f"p after Holm is corrected for the {count} tests above, p for other documents separately"
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


def count_lines(run: AnswerCounts, name: str = "") -> Iterator[Text]:
    """Warn about failed calls, and about replies that came from another run's cache."""
    of = f"{plain(name)}: " if name else ""
    if run.failed:
        failed = f"{run.failed} of {run.answers} calls failed: correctness 0, no hallucination"
        yield Text(f"{of}{failed}", style="red")
    if run.cached:
        cached = f"{run.cached} of {run.answers} replies came from an earlier run's cache"
        yield Text(f"{of}{cached}", style="red")


def version_lines(versions: Mapping[str, Sequence[str]]) -> Iterator[Text]:
    """Say that the runs, given by name, were answered by different versions of a service."""
    if len({tuple(sorted(listed)) for listed in versions.values()}) > 1:
        sides = (f"{', '.join(listed) or 'not known'} in {name}" for name, listed in versions.items())
        yield Text(f"service version: {plain(', '.join(sides))}", style="red")


def unshared_lines(unshared: Unshared, first: str = "A") -> Iterator[Text]:
    """List the questions that could not be compared with the run named `first`."""
    first = plain(first)
    sides = {f"only {first} asked": unshared.only_first, f"{first} did not ask": unshared.only_second}
    for what, names in {**sides, "other text or gold": unshared.changed}.items():
        if names:
            yield Text(f"not compared, {what}: {listed(names)}", style="red")


def listed(names: Sequence[str]) -> str:
    """Show how many names there are, and the first of them."""
    more = ", ..." if len(names) > SHOWN else ""
    return f"{len(names)} ({', '.join(map(plain, names[:SHOWN]))}{more})"


def tested_parts(test: Tested, letter: str) -> Iterator[RenderableType]:
    """Show the comparison of one metric between one run and the first."""
    table = Grid(test.metric, "n", "A", letter, f"{letter} - A")
    table.add_row("Mean of the categories", *effect_cells(test.overall), style="bold")
    table.add_row("Mean of the questions", *effect_cells(test.micro), style="dim")
    for category, effect in test.categories.items():
        table.add_row(plain(category), *effect_cells(effect))
    yield with_blank_lines(table)
    yield Text(
        f"for other questions on the same documents: {verdict(test.p, test.p_holm)}"
        f" ({TESTS[test.test]}{_why_apart(test)})"
    )
    least = "unreachable" if test.detectable is None else figure(test.detectable)
    of = "the mean of the questions" if test.test == "mcnemar" else "the mean of the categories"
    yield Text(f"smallest true difference in {of} that this test finds in 80 % of cases: {least}")
    if (wider := test.other_documents) is not None:
        yield Text(
            f"for other documents: {with_sign(wider.difference)}{bracket((wider.low, wider.high))},"
            f" {verdict(wider.p, wider.p_holm)} (CR2 of the mean of the categories, {wider.groups} groups of"
            " documents)"
        )
    else:
        yield Text(f"for other documents: not known ({test.no_other_documents})")
    yield Text(f"{letter} wins {test.wins}, loses {test.losses}, ties {test.ties}")
    if test.left_out:
        yield note(f"not counted, because {test.metric} does not apply in both runs: {listed(test.left_out)}")
    if test.flips:
        flips = [f"{flip.question} {figure(flip.first)} to {figure(flip.second)}" for flip in test.flips]
        yield note(f"differ: {listed(flips)}")


def _why_apart(test: Tested) -> str:
    """Say why the interval leaves out 0 although p shows no difference, or the other way round."""
    if (test.p < ALPHA) == (not test.overall.low <= 0 <= test.overall.high):
        return ""
    return "; interval: score test of the mean of the categories alone"


def verdict(p: float, p_holm: float) -> str:
    """Say what a test shows: `no difference shown, p 0.040, after Holm 0.080`."""
    shown = "a difference" if p_holm < ALPHA else "no difference shown"
    return f"{shown}, {p_value(p)}, after Holm {p_figure(p_holm)}"


def effect_cells(effect: Effect) -> list[str]:
    """Format the denominator, both means, and the difference with its interval."""
    return [
        str(effect.n),
        figure(effect.first),
        figure(effect.second),
        f"{with_sign(effect.difference)}{bracket((effect.low, effect.high))}",
    ]
