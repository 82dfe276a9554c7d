"""Upper bounds of numeric options. A larger value is a typing error, and would otherwise exhaust the memory
or overflow a timer instead of producing a clear message."""

from __future__ import annotations

MOST_AT_ONCE = 1024
"""Requests, threads or processes at the same time."""
MOST_REPEATS = 1000
"""Times that one command asks each question."""
MOST_TOKENS = 2**24
"""Tokens of a context window or a reply."""
MOST_CHUNKS = 100_000
"""Retrieved chunks per question."""
MOST_TEXTS = 4096
"""Texts in one embedding request."""
LONGEST_WAIT = 604_800
"""Seconds of any time-out or wait: one week."""
