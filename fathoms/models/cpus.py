"""How many threads are worth starting."""

from __future__ import annotations

import os


def available_cpus() -> int:
    """CPUs that this process may use, at least 1; a container or `taskset` may leave fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
