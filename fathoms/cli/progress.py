"""Progress on stderr: bars on a terminal, and elsewhere a line a minute."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fathoms.cli.console import aside, settings
from fathoms.cli.harmless import harmless, harmless_console
from fathoms.text.amounts import dollars, duration

if TYPE_CHECKING:
    from rich.progress import Task
    from rich.text import Text

    from fathoms.runner.runner import Tally

PLAIN_SECONDS = 60
"""Seconds between two plain lines, where stderr is no terminal."""
_STEPS = 5
"""The fewest steps from which the time left is estimated."""
_PATIENCE = 10.0
"""Seconds without a step, from which on nobody knows how much time is left."""


class Pace:
    """How fast a stage goes on, by its last fifty steps."""

    def __init__(self, now: float, done: int) -> None:
        self._steps = deque([(now, done)], maxlen=50)
        self.done, self.total, self.remark = done, 0, ""

    def step(self, now: float, done: int, total: int, remark: str) -> None:
        """Note how much is done; less than before means that the stage begins again."""
        if done < self.done:
            self._steps.clear()
        if done != self.done:
            self._steps.append((now, done))
        self.done, self.total, self.remark = done, total, remark

    @property
    def rate(self) -> float | None:
        """Steps a second; `None` before the first few."""
        (began, first), (last, done) = self._steps[0], self._steps[-1]
        enough = len(self._steps) > _STEPS and last > began
        return (done - first) / (last - began) if enough else None

    def silence(self, now: float) -> float:
        """Seconds since the last step."""
        return now - self._steps[-1][0]

    def left(self, now: float) -> float | None:
        """Seconds left; `None` where they are not known, because there were few steps, or none for longer
        than usual."""
        rate = self.rate
        if not rate or self.silence(now) > max(_PATIENCE, 3 / rate):
            return None
        return (self.total - self.done) / rate


class Retries(logging.Handler):
    """Counts the calls that are tried again, and keeps what is known of the last one."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.count, self.last = 0, ""

    def emit(self, record: logging.LogRecord) -> None:
        """Count a retry and describe it for the next line of progress."""
        facts = getattr(record, "facts", {})
        if facts.get("event") == "question-retried":
            self.count += 1
            of = f"question {facts['question']}, " if "question" in facts else ""
            again = f"attempt {facts['attempt']} failed ({facts['kind']})"
            self.last = f"{of}{again}, the next one follows in {facts['wait']:.0f} s"


class Bars:
    """The progress of a command, shown on stderr.

    On a terminal, one bar per stage and per provider, with rate, time left, failures, cost and retries.
    Elsewhere, and with `--verbose`, one plain line per stage and minute, also while nothing goes on. With
    `--quiet`, nothing. `stages` names the stages of the whole command, if that is known: then each line says
    which of them it is.
    """

    def __init__(
        self,
        plain_seconds: float = PLAIN_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        stages: Sequence[str] = (),
    ) -> None:
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            ProgressColumn,
            SpinnerColumn,
            TextColumn,
            TimeElapsedColumn,
        )
        from rich.text import Text

        class Left(ProgressColumn):
            """The time left where it is known."""

            def render(_, task: Task) -> Text:  # noqa: N805 - `self` is the bars
                return Text(self._left(task.description))

        watched = sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and not settings.verbose
        self._loud = watched and not settings.quiet and not os.environ.get("CI")
        self._plain = not watched and not settings.quiet
        self._plain_seconds, self._clock, self._all_stages = plain_seconds, clock, list(stages)
        self._began = clock()
        self._said: dict[str, float] = {}
        self._paces: dict[str, Pace] = {}
        self._tasks: dict[str, Any] = {}
        self._retries, self._ended = Retries(), threading.Event()
        self._bars = Progress(
            SpinnerColumn(),
            TextColumn("{task.description:<9}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            Left(),
            TextColumn("{task.fields[note]}", markup=False),
            console=harmless_console(file=sys.stderr),
            disable=not self._loud,
        )

    def stage(self, stage: str, done: int, total: int, remark: str = "") -> None:
        """Update the progress of a stage: `done` of `total` steps, with an optional remark."""
        now = self._clock()
        pace = self._paces.setdefault(stage, Pace(now, done))
        pace.step(now, done, total, remark)
        self._say(stage, pace, now)
        if not self._loud:
            return
        if stage not in self._tasks:
            shown = harmless(self._place(stage) + stage)
            self._tasks[stage] = self._bars.add_task(shown, total=total, note="")
        self._bars.update(self._tasks[stage], completed=done, total=total, note=harmless(remark))

    def tally(self, tally: Tally) -> None:
        """Update the progress of the questions to one provider."""
        counts = {
            "failed": tally.failed,
            "from the cache": tally.cached,
            "retries": self._retries.count,
        }
        parts = [f"{count} {name}" for name, count in counts.items() if count]
        if tally.cost:
            left = tally.cost / tally.done * (tally.total - tally.done) if tally.done else 0.0
            parts.append(dollars(tally.cost) + (f", about {dollars(left)} more" if left else ""))
        stage = "search" if tally.retrieval_only else f"answer {tally.provider}"
        done, total = tally.done, tally.total
        if tally.documents and not tally.retrieval_only:
            parts.insert(0, f"counted in documents ({done} of {total} questions)")
            done, total = tally.documents
        self.stage(stage, done, total, ", ".join(parts))

    def wait(self) -> None:
        """Say of each stage that has not ended what it waits for, if its last line is long enough ago."""
        now = self._clock()
        for stage, pace in list(self._paces.items()):
            if pace.done < pace.total:
                self._say(stage, pace, now)

    def _say(self, stage: str, pace: Pace, now: float) -> None:
        """Print the plain line of a stage, if the last one is long enough ago."""
        if not self._plain or now - self._said.get(stage, self._began) < self._plain_seconds:
            return
        self._said[stage] = now
        parts = [
            f"{self._place(stage)}{stage}: {pace.done} of {pace.total}",
            pace.remark,
            *self._speed(pace, now),
        ]
        aside(", ".join(part for part in parts if part))

    def _speed(self, pace: Pace, now: float) -> list[str]:
        """The rate and the time left where they are known, else how long nothing has gone on, and why."""
        left = pace.left(now)
        if left is not None:
            return [f"{pace.rate:.2g}/s, about {duration(left)} left"]
        silent = pace.silence(now)
        if silent < _PATIENCE:
            return []
        return [f"waiting for {duration(silent)}", self._retries.last]

    def _place(self, stage: str) -> str:
        """Say which of the stages of the command a stage is: `stage 3 of 5, `; empty where not known."""
        name = stage.partition(" ")[0]
        if name not in self._all_stages:
            return ""
        return f"stage {self._all_stages.index(name) + 1} of {len(self._all_stages)}, "

    def _left(self, stage: str) -> str:
        """The last column of the bar of a stage: rate and time left, or how long it has waited."""
        now = self._clock()
        paces = self._paces.items()
        pace = next((pace for name, pace in paces if harmless(self._place(name) + name) == stage), None)
        return ", ".join(part for part in self._speed(pace, now) if part) if pace else ""

    def _watch(self) -> None:
        """Call `wait` from time to time until the end."""
        while not self._ended.wait(max(1.0, self._plain_seconds / 4)):
            self.wait()

    def __enter__(self) -> Bars:
        logging.getLogger("fathoms.run").addHandler(self._retries)
        if self._plain:
            threading.Thread(target=self._watch, daemon=True).start()
        self._bars.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._bars.stop()
        self._ended.set()
        logging.getLogger("fathoms.run").removeHandler(self._retries)


@contextmanager
def bars(stages: Sequence[str] = ()) -> Iterator[Bars]:
    """Show progress while the block runs; `stages` names the stages of the command."""
    with Bars(stages=stages) as progress:
        yield progress
