"""The number of CPUs available to this process, which is the default number of threads."""

from __future__ import annotations

import os


def available_cpus() -> int:
    """Return the number of CPUs that this process may use, at least 1.

    `taskset` and CPU sets of containers can make it smaller than the number of CPUs of the machine.
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
