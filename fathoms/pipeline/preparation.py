"""What preparing documents needs, whichever stage does it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from fathoms.executors import Executor, LocalExecutor
from fathoms.pipeline.ingest_times import IngestTimes
from fathoms.runs.cache import Cache

Progress = Callable[[str, int, int], None]
"""Reports progress; called with (stage, items done, items in total)."""


def silent(stage: str, done: int, total: int) -> None:
    """Ignore the progress, where nobody shows it."""


@dataclass(frozen=True)
class Preparation:
    """The preparation of some documents: where results are cached, how many processes parse, who hears of the
    progress, who does the work, and how long each stage takes. The documents of `spared` may be left out if
    they cannot be read."""

    cache: Cache
    workers: int = 2
    progress: Progress = silent
    executor: Executor = field(default_factory=LocalExecutor)
    times: IngestTimes = field(default_factory=IngestTimes)
    spared: Collection[str] = ()
