"""The wait that a server asks for in the headers of its answer."""

from __future__ import annotations

import email.utils
import math
import time
from collections.abc import Mapping


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """Return the wait in seconds that a server asks for: `retry-after-ms`, or `Retry-After` in seconds or as
    a date.

    The wait is finite and at least 0; `None` if there is no valid header.
    """
    found = {name.lower(): value for name, value in headers.items()}
    milliseconds, wait = found.get("retry-after-ms"), found.get("retry-after")
    if (exact := _number(milliseconds)) is not None:
        return exact / 1000
    if (seconds := _number(wait)) is not None:
        return seconds
    date = email.utils.parsedate_tz(wait) if wait else None
    return None if date is None else max(0.0, email.utils.mktime_tz(date) - time.time())


def _number(text: str | None) -> float | None:
    """Parse a finite number and raise it to at least 0; `None` if the text is something else."""
    try:
        number = float(text or "")
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None
