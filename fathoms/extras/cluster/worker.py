"""What runs on the workers of a Ray cluster: one work at a time, one item after another."""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from fathoms import __version__
from fathoms.errors import ConfigError, FathomsError
from fathoms.executors import Pool, Work, undisturbed
from fathoms.paths import temporary_folder
from fathoms.safety.children import Children


class Failed(NamedTuple):
    """An error of fathoms that a worker raised: its class and its message, because not every error survives
    being sent."""

    name: str
    message: str


class Refused(NamedTuple):
    """An error of fathoms that keeps a machine from doing a work at all, such as another version of a parser:
    its class and its message."""

    name: str
    message: str


def identity_of(work: Work[Any, Any]) -> dict[str, Any]:
    """All that the outcomes of a work depend on, on this machine."""
    return {"fathoms": __version__, **work.identity()}


class RayWorker:
    """A process of a cluster. It keeps open what the present work needs, so models are loaded once.

    `folder` is the current one of the command, in which modules and weights of one's own are looked for if
    this machine has such a folder.
    """

    def __init__(self, folder: str) -> None:
        gc.set_threshold(100_000)  # as the command line does, which imports the same
        with suppress(OSError):
            os.chdir(folder)
        self._number = 0
        self._work: Work[Any, Any] | None = None
        self._pool: Pool[Any, Any] | None = None

    def place(self) -> str:
        """Return the id of the machine in the cluster; also tells that this process is ready."""
        import ray

        return str(ray.get_runtime_context().get_node_id())

    def do(self, number: int, work: Work[Any, Any] | None, identity: Mapping[str, Any], sent: Any) -> Any:
        """Do the work of this number on one item, as it was sent; returns what is sent back.

        The work itself comes with its first item. `identity` is that of the work on the machine that asks. A
        worker with other versions would make other results, so it refuses.
        """
        try:
            if work is not None and number != self._number:
                self._open(number, work, identity)
        except FathomsError as error:
            return Refused(type(error).__name__, str(error))
        try:
            assert self._work is not None
            assert self._pool is not None
            with worker_folder() as folder:
                item = self._work.arrived(sent, folder)
                return self._work.returned(self._pool.do(item, undisturbed)())
        except FathomsError as error:
            return Failed(type(error).__name__, str(error))
        except OSError as error:  # such as a full disk there, which is not one here
            return Failed("FathomsError", f"a worker of the Ray cluster failed: {error}")

    def close(self) -> None:
        """Let go of what the present work has opened."""
        if self._pool is not None:
            self._pool.close()
            self._number, self._pool = 0, None

    def _open(self, number: int, work: Work[Any, Any], identity: Mapping[str, Any]) -> None:
        """Close the pool of the work before and open that of another one. Raises ConfigError if its outcomes
        would differ here from those on the machine that asks."""
        self.close()
        if unlike := list(differences(identity, identity_of(work))):
            raise ConfigError(
                f"execution: the workers of the Ray cluster would make other results: {'; '.join(unlike)};"
                " install the same versions on all machines (pip install -c requirements.lock)"
            )
        self._pool = work.open(Children(), 1)
        self._work, self._number = work, number


def worker_folder() -> AbstractContextManager[Path]:
    """Create a folder for files that a worker was sent, which only its user can read. A worker that is killed
    leaves it behind, and the next one on the machine removes it."""
    return temporary_folder(Path(tempfile.gettempdir()), 0o700)


def differences(here: Any, there: Any, name: str = "") -> Iterator[str]:
    """Describe what is not the same on the machine that asks and on the worker."""
    if isinstance(here, Mapping) and isinstance(there, Mapping):
        for key in sorted(here.keys() | there.keys()):
            yield from differences(here.get(key), there.get(key), f"{name}.{key}" if name else key)
    elif here != there:
        yield f"{name.removeprefix('versions.')} is {here} here and {there} there"
