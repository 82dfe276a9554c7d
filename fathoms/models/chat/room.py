"""Computes how much of the context window of a model is available for the prompt."""

from __future__ import annotations

from collections.abc import Callable

from fathoms.errors import ConfigError
from fathoms.models.protocols import ChatModel


def room_for_prompt(model: ChatModel, name: str = "generate") -> int | None:
    """Return the number of tokens that `max_tokens` leaves for the prompt; `None` if the context is not
    known.

    Raises ConfigError, whose message begins with `name`, if it leaves none.
    """
    window, longest = model.context_window, model.max_tokens or 0
    if window is None:
        return None
    if longest >= window:
        raise ConfigError(
            f"{name}: a reply of {longest} tokens leaves no room in a context of {window}:"
            " lower max_tokens or raise the context"
        )
    return window - longest


def most_that_fits(high: int, fits: Callable[[int], bool]) -> int:
    """Return the largest n in [0, high) for which `fits(n)` is true, by bisection.

    `fits` must be true for 0 and false for `high`; neither is called.
    """
    low = 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
