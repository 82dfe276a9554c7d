"""Formats every figure that people read: scores, intervals, differences, p values, costs and durations.

All tables, plots, pages and logs use these functions, so that a figure looks the same everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

SHARE = "share"
"""The unit of a figure between 0 and 1, and of the difference between two."""
UNKNOWN = "n/a"
"""What stands in place of a figure that does not apply or is not known."""


def figure(value: float | None, digits: int = 2) -> str:
    """Format a score with two decimals, such as `0.09` or `-0.20`; `n/a` if it does not apply."""
    if value is None:
        return UNKNOWN
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text  # there is no -0.00


def with_sign(value: float | None) -> str:
    """Format a difference with its sign, such as `+0.08` or `-0.09`; one that rounds to 0 has none."""
    text = figure(value)
    return f"+{text}" if value is not None and float(text) > 0 else text


def bracket(bounds: Sequence[float] | None, unit: str = SHARE) -> str:
    """Format an interval to follow its value, such as ` [0.17, 0.42]`; empty if it is not known."""
    return f" [{', '.join(measured(end, unit) for end in bounds)}]" if bounds else ""


def percent(share: float, digits: int = 0) -> str:
    """Format a share from 0 to 1 as a percentage, `88 %`, or with `digits` decimals, `88.2 %`."""
    return f"{100 * share:.{digits}f} %"


def p_value(p: float) -> str:
    """Format a p value with its name: `p 0.042`, or `p < 0.001`."""
    return f"p {p_figure(p)}"


def p_figure(p: float) -> str:
    """Format a p value with three digits, such as `0.042`, or `< 0.001`."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def dollars(cost: float) -> str:
    """Format a cost as `$0.42`; costs below ten cents are shown with two significant digits."""
    if not 0 < cost < 0.1:
        return f"${cost:.2f}"
    places = 1 - math.floor(math.log10(cost))
    return f"${cost:.{places}f}"


def duration(seconds: float) -> str:
    """Format a duration as `<1 ms`, `34 ms`, `1.3 s`, `54 s`, `1:41` or `2 h 05 min`; 0 is `0 s`."""
    if not math.isfinite(seconds):
        return UNKNOWN
    if 0 < seconds < 0.001:
        return "<1 ms"
    if 0 < seconds < 0.9995:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 9.95:
        return f"{round(seconds, 1):g} s"
    if round(seconds) < 60:
        return f"{round(seconds)} s"
    if round(seconds) < 3600:
        return f"{round(seconds) // 60}:{round(seconds) % 60:02}"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02} min"


def measured(value: float | None, unit: str) -> str:
    """Format the value of a metric by its unit: a duration, a cost, a score with two decimals, or a count."""
    if value is None:
        return UNKNOWN
    if unit == "seconds":
        return duration(value)
    if unit == "US dollars":
        return dollars(value)
    return f"{value:,.0f}" if abs(value) >= 100 else figure(value)
