"""How precise a mean over n questions can be: the width of its confidence interval."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from fathoms.gate.settings import GateSettings
from fathoms.text.amounts import percent
from fathoms.types import Question

WIDEST = 0.5
"""An interval wider than this hardly tells a good pipeline from a bad one."""


def interval_width(n: int) -> float:
    """Return the width of Blaker's 95 % interval over `n` questions, half of them right.

    It is about the largest one: 0.56 for 10 questions, 0.20 for 100.
    """
    from fathoms.stats.intervals import blaker

    low, high = blaker(0.5, n)
    return high - low


def macro_width(sizes: Sequence[int]) -> float:
    """Return the width of the interval of the mean of categories with `sizes` questions, half right."""
    import numpy as np

    from fathoms.stats.intervals import stratified_interval

    scores = np.arange(sum(sizes)) % 2.0
    strata = np.split(scores, np.cumsum(sizes)[:-1])
    found = stratified_interval(strata, np.full(len(sizes), 1 / len(sizes)))
    return found.high - found.low


def needed(width: float) -> int:
    """Return the smallest number of questions whose interval is at most `width` wide: 15 for 0.5."""
    from fathoms.stats.intervals import CONFIDENCE, normal_quantile

    # Wilson's interval has a closed form and is narrower, so the search can begin there.
    n = max(math.ceil(normal_quantile(CONFIDENCE) ** 2 * (1 / width**2 - 1)), 1)
    while interval_width(n) > width:
        n += 1
    return n


def answerable_sizes(questions: Sequence[Question]) -> dict[str, int]:
    """Return the number of answerable questions in each category that has any."""
    return dict(Counter(question.category for question in questions if question.answerable))


def margin_lines(questions: Sequence[Question], gate: GateSettings | None) -> list[str]:
    """Say the smallest margin with which an unchanged pipeline would pass a gate, and whether that of `gate`
    (or the default without one) is too small; empty without an answerable question."""
    from fathoms.stats.power import DIFFERENT, POWER, RIGHT, RUNS, smallest_margin

    settings = gate or GateSettings()
    sizes = answerable_sizes(questions)
    if not sizes:
        return []
    if settings.preset == "small":
        return ["With preset 'small', the gate counts the right answers that were lost, and uses no margin."]
    least, where = smallest_margin(tuple(sizes.values()), settings.alpha), ""
    if settings.by_category:
        name = min(sizes, key=lambda each: sizes[each])
        alone = smallest_margin((sizes[name],), settings.alpha)
        if alone > least:
            least, where = alone, f" in the smallest category ({name}, {sizes[name]})"
    shown = math.ceil(least * 1000) / 1000
    lines = [
        f"With {sum(sizes.values())} answerable questions, 'fathoms gate' needs a margin of"
        f" {shown:.3f}{where} to pass an unchanged pipeline on {percent(POWER)} of nights. This assumes"
        f" that {percent(RIGHT)} of the answers are right, that two runs differ in {percent(DIFFERENT)} of"
        f" the questions, and that the baseline has {RUNS} runs."
    ]
    if settings.margin < least:
        often = "is smaller: the gate will often say UNDECIDED although nothing has changed."
        if gate is None:
            lines.append(f"The default margin of {settings.margin:g} {often}")
        else:
            lines.append(
                f"warning: gate.margin, {settings.margin:g}, {often} Raise it, or ask more questions."
            )
        if sum(sizes.values()) <= 100:
            lines.append("With so few questions, use 'gate: {preset: small}', which needs no margin.")
    return lines
