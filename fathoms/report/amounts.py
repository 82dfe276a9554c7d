"""Formats scores, costs and durations for people."""

from __future__ import annotations

import math


def short(score: float) -> str:
    """Format a score as `.19` or `1.00`."""
    return f"{score:.2f}".removeprefix("0")


def dollars(cost: float) -> str:
    """Format a cost as `$0.42`; costs below ten cents are shown with two significant digits."""
    if not cost or cost >= 0.1:
        return f"${cost:.2f}"
    places = 1 - math.floor(math.log10(cost))
    return f"${cost:.{places}f}"


def duration(seconds: float) -> str:
    """Format a duration as `12 s`, `3 min` or `2 h 05 min`."""
    if round(seconds) < 60:
        return f"{round(seconds)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"
