"""What an executor is given to do, and what every executor can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from fathoms.component import Component
from fathoms.errors import FathomsError
from fathoms.safety.children import Children

I = TypeVar("I")  # noqa: E741 - an item
O = TypeVar("O")  # noqa: E741 - its outcome
ItemIn = TypeVar("ItemIn", contravariant=True)
OutcomeOut = TypeVar("OutcomeOut", covariant=True)
OnPage = Callable[[int, int], None]
"""A callback for progress: the number of pages that are done, and of all pages."""
OnDone = Callable[[int, Any, float], None]
"""A callback for an item that is done: its position among the items, its outcome, and the seconds that a
worker had it."""


class Packed(NamedTuple):
    """A file on its way to another machine: its name and its bytes, `None` if it cannot be read here."""

    name: str
    content: bytes | None

    @classmethod
    def of(cls, path: Path) -> Packed:
        """Read the file at a path; the content is `None` where that fails."""
        try:
            return cls(path.name, path.read_bytes())
        except OSError:
            return cls(path.name, None)

    def unpack(self, folder: Path) -> Path:
        """Write the file into a folder, which need not exist; one that could not be read is missing there."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / self.name
        if self.content is not None:
            path.write_bytes(self.content)
        return path


class Ready(Generic[O]):
    """An outcome that is there already, where a `Pool` gives what makes one."""

    def __init__(self, outcome: O) -> None:
        self.outcome = outcome

    def __call__(self) -> O:
        return self.outcome


class Pool(Protocol[ItemIn, OutcomeOut]):
    """What does the work on one machine: processes with their models loaded. It is safe for as many threads
    as it was opened for."""

    def do(self, item: ItemIn, on_page: OnPage) -> Callable[[], OutcomeOut]:
        """Have the work on one item done, and return what makes its outcome of that: it is called in another
        thread, while the next item is worked on, or `Ready`. An error that either raises ends the work on all
        items."""

    def close(self) -> None:
        """End the processes that are idle."""


class Work(ABC, Generic[I, O]):
    """What is done with each item of a stage.

    `open` is all that this machine needs. The other methods are for the workers of a cluster, to which a work
    and its items are sent as pickles.
    """

    @abstractmethod
    def open(self, children: Children, workers: int) -> Pool[I, O]:
        """Return what does the work with so many items at a time. `children` starts all its processes."""

    def most(self, items: Sequence[I]) -> int:
        """Return how many workers at most are of use on one machine; 0 if this process does the work itself,
        in the calling thread."""
        return len(items)

    def identity(self) -> dict[str, Any]:
        """Return all that the outcomes depend on: it must be the same on every machine."""
        return {}

    def for_workers(self) -> Work[I, O]:
        """Return the same work for one worker of a cluster, with what cannot be sent there replaced."""
        return self

    def sent(self, item: I) -> Any:
        """Return what of an item is sent to a worker."""
        return item

    def arrived(self, sent: Any, folder: Path) -> I:
        """Make the item of what was sent; a worker calls it, with an empty folder for files."""
        return sent  # type: ignore[no-any-return]

    def returned(self, outcome: O) -> Any:
        """Return what of an outcome a worker sends back."""
        return outcome

    def received(self, item: I, returned: Any) -> O:
        """Make the outcome of what a worker has sent back."""
        return returned  # type: ignore[no-any-return]

    def killed(self, item: I, why: str) -> O:
        """Return the outcome of an item whose workers died again and again, or raise an error."""
        raise FathomsError(f"a part of the work {why}, perhaps because memory ran out there")


class Executor(Protocol):
    """Does work on many items at once."""

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
        """Return the outcomes in the order of the items; with `keep` false they are only given to `on_done`,
        so that few of them are in memory at a time.

        All callbacks run in the calling thread: `on_done` as each item ends, `on_page` (only where pages are
        reported) with the pages done and the pages of all items started so far, and `on_pause` where the next
        outcome is not there yet. An exception, Ctrl-C included, ends all work first.
        """

    def width(self) -> int:
        """Return how many items it is worth to gather for one call of `run`, by those who have too many to
        name all at once."""

    def close(self) -> None:
        """Let go of the workers."""


class Cluster(Executor, Protocol):
    """The workers of several machines; it comes with an extra."""

    def described(self, stages: Mapping[str, Component]) -> str:
        """Describe the cluster, where the work of stages, given by their keys, would be done; raises
        ServerError where it cannot do it."""


def undisturbed(done: int, total: int) -> None:
    """Ignore the progress of pages."""
