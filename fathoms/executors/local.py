"""The executor of this machine: a thread per worker, which talks to child processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from itertools import islice
from queue import SimpleQueue
from typing import Any, TypeVar

from fathoms.executors.work import OnDone, OnPage, Ready, Work, undisturbed
from fathoms.safety.children import Children
from fathoms.safety.signals import next_of

I = TypeVar("I")  # noqa: E741
O = TypeVar("O")  # noqa: E741
Event = tuple[int, Callable[[], Any] | tuple[int, int]]
"""The position of an item with what gives its outcome or raises its error, or with its progress: the pages
that are done, and all pages."""
_BEFORE_OUTCOMES = 4
"""As many items per worker are started before an outcome is taken, so that few outcomes are in memory."""


class LocalExecutor:
    """Does work with up to `workers` items at a time."""

    def __init__(self, workers: int = 1) -> None:
        self.workers = workers

    def run(
        self,
        work: Work[I, O],
        items: Sequence[I],
        on_done: OnDone | None = None,
        on_page: OnPage | None = None,
        on_pause: Callable[[], None] | None = None,
        *,
        keep: bool = True,
    ) -> list[O]:
        """Return the outcomes in the order of the items, see `Executor`."""
        if not items:
            return []
        children = Children()
        workers = min(self.workers, work.most(items))
        if not workers:
            return self._in_turn(work, items, children, on_done, on_page or undisturbed, keep)
        events: SimpleQueue[Event] = SimpleQueue()
        outcomes: dict[int, O] = {}
        pages = _Pages()
        began: dict[int, float] = {}
        waiting = iter(range(len(items)))
        ended = 0

        def begin(at: int) -> None:
            began[at] = time.perf_counter()
            try:
                make = pool.do(items[at], partial(_report_pages, events, at))
            except BaseException as error:
                events.put((at, partial(_raise, error)))
                return
            if isinstance(make, Ready):
                events.put((at, make))
            else:
                making = makers.submit(make)
                making.add_done_callback(lambda future: events.put((at, future.result)))

        def begin_next(number: int) -> None:
            for at in islice(waiting, number):
                threads.submit(begin, at)

        with (
            closing(work.open(children, workers)) as pool,
            ThreadPoolExecutor(
                max_workers=workers
            ) as makers,  # of outcomes, while the next items are started
            ThreadPoolExecutor(max_workers=workers) as threads,
        ):
            try:
                begin_next(_BEFORE_OUTCOMES * workers)
                while ended < len(items):
                    at, event = next_of(events, on_pause)
                    if not isinstance(event, tuple):
                        outcome, ended = event(), ended + 1
                        if keep:
                            outcomes[at] = outcome
                        if on_done is not None:
                            on_done(at, outcome, time.perf_counter() - began.pop(at))
                        begin_next(1)
                    elif on_page is not None:
                        on_page(*pages.add(at, event))
            except BaseException:
                threads.shutdown(wait=False, cancel_futures=True)
                children.stop()
                raise
        return [outcomes[at] for at in range(len(items))] if keep else []

    def _in_turn(
        self,
        work: Work[I, O],
        items: Sequence[I],
        children: Children,
        on_done: OnDone | None,
        on_page: OnPage,
        keep: bool,
    ) -> list[O]:
        """Do the work in the calling thread, one item after another."""
        outcomes = []
        with closing(work.open(children, 1)) as pool:
            for at, item in enumerate(items):
                began = time.perf_counter()
                outcome = pool.do(item, on_page)()
                if keep:
                    outcomes.append(outcome)
                if on_done is not None:
                    on_done(at, outcome, time.perf_counter() - began)
        return outcomes

    def width(self) -> int:
        """Return 1: nothing is gained by gathering items here, see `Executor`."""
        return 1

    def close(self) -> None:
        """Do nothing: no process outlives `run`."""


class _Pages:
    """The pages that are done, and all pages, of the items started so far."""

    def __init__(self) -> None:
        self._of: dict[int, tuple[int, int]] = {}
        self._done = self._total = 0

    def add(self, at: int, pages: tuple[int, int]) -> tuple[int, int]:
        """Add the pages of one item; returns those of all items."""
        before = self._of.get(at, (0, 0))
        self._of[at] = pages
        self._done += pages[0] - before[0]
        self._total += pages[1] - before[1]
        return self._done, self._total


def _report_pages(events: SimpleQueue[Event], at: int, done: int, total: int) -> None:
    """Report the progress of one item to the calling thread."""
    events.put((at, (done, total)))


def _raise(error: BaseException) -> None:
    """Raise an error in the calling thread."""
    raise error
