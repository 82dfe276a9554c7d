"""Reads how many of some questions may fail or differ: a count, or a share in percent."""

from __future__ import annotations

from collections.abc import Callable

from fathoms.errors import UsageError


def allowance(text: str, option: str = "--fail-on-error") -> Callable[[int], float]:
    """Parse the value of an option (`3` or `2%`) into a function from questions asked to failures allowed.

    Raises UsageError for other texts.
    """
    share = text.endswith("%")
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = -1
    if not number >= 0:
        raise UsageError(f"{option} {text}: expected a count such as 3 or a share such as 2%")
    return lambda asked: asked * number / 100 if share else number
