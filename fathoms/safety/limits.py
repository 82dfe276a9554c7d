"""The largest numbers that options take: more is a slip of the hand, and would end in a machine without
memory or in a clock that overflows instead of in a sentence."""

from __future__ import annotations

MOST_AT_ONCE = 1024
"""Requests, threads or processes at once."""
MOST_REPEATS = 1000
"""Times that one command asks each question."""
MOST_TOKENS = 2**24
"""Tokens of a context or a reply."""
MOST_CHUNKS = 100_000
"""Chunks for one question."""
MOST_TEXTS = 4096
"""Texts in one request for vectors."""
LONGEST_WAIT = 604_800
"""Seconds of any time-out or wait: a week."""
