"""A cluster without a cluster: what goes to its workers and comes back passes through pickles."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fathoms.errors import error_of
from fathoms.executors import OnDone, OnPage, Work
from fathoms.extras.cluster.worker import Failed, RayWorker, identity_of


class Away:
    """Does all work in a `RayWorker` of this process, the last item first; `done` counts items by work."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._worker = RayWorker(str(Path.cwd()))
        self._number = 0
        self.done: dict[str, int] = {}

    def run(
        self,
        work: Work[Any, Any],
        items: Sequence[Any],
        on_done: OnDone | None = None,
        on_page: OnPage | None = None,
        *,
        keep: bool = True,
    ) -> list[Any]:
        self._number += 1
        sent_work = through_a_pickle(work.for_workers())
        outcomes: dict[int, Any] = {}
        for at in reversed(range(len(items))):
            sent = through_a_pickle(work.sent(items[at]))
            reported = through_a_pickle(self.do(self._number, sent_work, identity_of(sent_work), sent))
            if isinstance(reported, Failed):
                raise error_of(*reported)
            outcome = work.received(items[at], reported)
            if keep:
                outcomes[at] = outcome
            self.done[type(work).__name__] = self.done.get(type(work).__name__, 0) + 1
            if on_done is not None:
                on_done(at, outcome, 0.0)
        return [outcomes[at] for at in range(len(items))] if keep else []

    def do(self, *given: Any) -> Any:
        """Have the worker do one item."""
        return self._worker.do(*given)

    def width(self) -> int:
        return self._width

    def close(self) -> None:
        self._worker.close()


def through_a_pickle(value: Any) -> Any:
    """The same value, as another machine would get it."""
    return pickle.loads(pickle.dumps(value))
