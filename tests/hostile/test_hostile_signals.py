"""A signal is handled at once, also where it does not wake up the main thread."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

import pytest

from fathoms.pipeline.external.calls import Functions
from fathoms.safety.signals import next_of, result_of


class _SignalError(Exception):
    """Raised by the signal handler of a test."""


@pytest.fixture
def deaf() -> Iterator[None]:
    """Let the main thread sleep through SIGUSR1, as if it came just before the thread waits for a lock."""

    def handler(number: int, frame: object) -> None:
        raise _SignalError

    before = signal.signal(signal.SIGUSR1, handler)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    yield
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
    signal.signal(signal.SIGUSR1, before)


def _queued(work: Callable[[], None]) -> Any:
    threading.Thread(target=work, daemon=True).start()
    return next_of(SimpleQueue())


def _submitted(work: Callable[[], None]) -> Any:
    future: Future[None] = ThreadPoolExecutor(max_workers=1).submit(work)
    return result_of(future)


@pytest.mark.parametrize("call", [_queued, _submitted, lambda work: Functions().call(work)])
def test_signal_interrupts_a_wait_it_did_not_wake_up(deaf: None, call: Callable[..., Any]) -> None:
    released, ended = threading.Event(), threading.Event()

    def work() -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
        os.kill(os.getpid(), signal.SIGUSR1)
        released.wait(30)
        ended.set()

    with pytest.raises(_SignalError):
        call(work)
    assert not ended.is_set()
    released.set()
    assert ended.wait(30)
