"""What a model's context has room for."""

from __future__ import annotations

from collections.abc import Callable

from fathoms.errors import ConfigError
from fathoms.models.protocols import ChatModel


def room_for_prompt(model: ChatModel, name: str = "generate") -> int | None:
    """Tokens that the longest reply leaves for the prompt; `None` where nobody knows the context.

    Raises ConfigError, which begins with `name`, where it leaves none.
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
    """The largest n in [0, high) that fits, by bisection; 0 is known to fit and `high` not to."""
    low = 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
