"""Times of a run for tools that count seconds since 1970."""

from __future__ import annotations

from datetime import datetime


def seconds_of(stamp: str | None) -> float | None:
    """Convert a time in ISO 8601 to seconds since 1970; `None` where none is known, or where a foreign run
    has a text that is no time."""
    try:
        return datetime.fromisoformat(stamp or "").timestamp()
    except (ValueError, OverflowError):
        return None
