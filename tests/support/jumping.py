"""An event loop whose clock jumps instead of waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class JumpingLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to the next thing to do."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def time(self) -> float:
        return self.now

    def _run_once(self) -> None:
        ready, scheduled = self._ready, self._scheduled  # type: ignore[attr-defined]
        times = [handle.when() for handle in scheduled if not handle.cancelled()]
        if not ready and times:
            self.now = max(self.now, min(times))
        super()._run_once()  # type: ignore[misc]


def jump(main: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Run a coroutine on such a loop; its clock begins at 0."""
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        return runner.run(main())
