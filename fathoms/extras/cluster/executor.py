"""The executor of a Ray cluster: one worker process per processor of the cluster.

Items are sent to the workers and their outcomes come back, so the machines need no disk in common, and the
cache has one writer: the process that asks. A worker has one item at a time. When a worker or its machine
dies, another worker does the item. A machine on which fathoms cannot start, or would make other results, is
reported once and gets no more work; only where no other is left does the work end.
"""

from __future__ import annotations

import logging
import math
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from fathoms.component import Component
from fathoms.errors import ServerError, error_of
from fathoms.executors import Cluster, OnDone, OnPage, Work
from fathoms.extras.cluster.connection import connected
from fathoms.extras.cluster.state import look_at
from fathoms.extras.cluster.worker import Failed, RayWorker, Refused, identity_of
from fathoms.runs.events import happened

I = TypeVar("I")  # noqa: E741
O = TypeVar("O")  # noqa: E741
ATTEMPTS = 3
"""How many workers may die of one item."""
PATIENCE = 300.0
"""Seconds without any worker after which the cluster counts as unable to give one."""
_TIDY = 5.0
"""Seconds that idle workers have to remove their files."""
_RECOUNT = 5.0
"""Seconds between two looks at how many processors the cluster has."""
_WAIT = 0.5
"""Seconds after which a signal such as Ctrl-C is noticed at the latest."""


class RayExecutor(Cluster):
    """Does work on the cluster at an address, which was started by `ray start`.

    It connects when there is work to do, and uses the same workers for all work until `close`.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._crew: list[_Member] = []
        self._number = 0
        self._processors = 1
        self._counted = -math.inf
        self._unfit: dict[str, Refused | str] = {}  # machines by id, with why they get no work

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
        """Return the outcomes in the order of the items, see `Executor`; pages are not reported."""
        if not items:
            return []
        ray = connected(self.address)
        self._number += 1
        sent = work.for_workers()
        job = _Job(self._number, ray.put(sent), ray.put(identity_of(sent)), work, items)
        left = len(items)
        try:
            while left:
                self._hire(ray, left)
                self._give(job)
                for at, seconds in self._collect(ray, job):
                    left -= 1
                    outcome = job.outcomes[at] if keep else job.outcomes.pop(at)
                    if on_done is not None:
                        on_done(at, outcome, seconds)
                if on_pause is not None:
                    on_pause()
        except BaseException:
            self.close()
            raise
        return [job.outcomes[at] for at in range(len(items))] if keep else []

    def width(self) -> int:
        """Return the number of processors of the cluster."""
        self._count(connected(self.address))
        return self._processors

    def described(self, stages: Mapping[str, Component]) -> str:
        """Describe the cluster, for `fathoms doctor`; raises ServerError where it cannot do the work."""
        state = look_at(self.address, stages)
        if state.faults:
            raise ServerError(state.text)
        return state.text

    def _count(self, ray: Any) -> None:
        """Count the processors of the machines that get work; raises the error of `_unfit` where none is
        left."""
        machines = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
        fit = [node for node in machines if node["NodeID"] not in self._unfit]
        if machines and not fit:
            why = list(self._unfit.values())
            if refused := next((one for one in why if isinstance(one, Refused)), None):
                raise error_of(*refused)
            raise ServerError(
                f"execution: fathoms can start on no machine of the Ray cluster ({why[0]}): install the same"
                " fathoms on all machines"
            )
        self._processors = max(1, int(sum(node["Resources"]["CPU"] for node in fit)))
        self._counted = time.monotonic()

    def _leave_out(self, ray: Any, member: _Member, why: Refused | str) -> None:
        """Give no more work to the machine of a worker, and say so once."""
        node = member.node or member.looked_up()
        if node not in self._unfit:
            self._unfit[node] = why
            where = {each["NodeID"]: each["NodeManagerAddress"] for each in ray.nodes()}
            name = f"the machine {where.get(node, '')} ({node[:6]}) of the Ray cluster"
            said = why if isinstance(why, str) else why.message.removeprefix("execution: ")
            mend = "; install the same fathoms on all machines" if isinstance(why, str) else ""
            message = f"{name} cannot do the work ({said}): it goes on without it{mend}"
            happened("cluster-machine", level=logging.WARNING, message=message)
        self._count(ray)

    def close(self) -> None:
        """End the workers, and with them their child processes. Those that are idle tidy up first."""
        if idle := [member.tidied() for member in self._crew if member.is_idle]:
            connected(self.address).wait(idle, num_returns=len(idle), timeout=_TIDY)
        while self._crew:
            self._crew.pop().end()

    def _hire(self, ray: Any, left: int) -> None:
        """Start workers until there are as many as items that are left, or as processors."""
        if len(self._crew) < left and time.monotonic() - self._counted > _RECOUNT:
            self._count(ray)
        while len(self._crew) < min(self._processors, left):
            self._crew.append(_Member(ray, self._unfit))

    def _give(self, job: _Job) -> None:
        """Give an item to each worker that has none."""
        for member in self._crew:
            if member.is_idle and job.waiting:
                member.take(job, job.waiting.popleft())

    def _collect(self, ray: Any, job: _Job) -> list[tuple[int, float]]:
        """Wait for workers, and return the positions of the items that are done now, each with the seconds
        that its worker had it."""
        by_reference = {member.reference: member for member in self._crew if member.reference is not None}
        ready, _ = ray.wait(list(by_reference), timeout=_WAIT)
        done = []
        for reference in ready:
            member = by_reference[reference]
            at = member.at
            try:
                answer = ray.get(reference)
            except ray.exceptions.RayTaskError:
                raise  # a mistake in the code of fathoms, with the worker's own traceback
            except ray.exceptions.RayError as error:
                self._crew.remove(member)
                member.end()
                if at is not None:
                    job.died(ray, member, at)
                elif getattr(error, "actor_init_failed", False):
                    self._leave_out(ray, member, str(error).strip().splitlines()[-1].strip())
            else:
                if isinstance(answer, Refused):
                    assert at is not None
                    self._crew.remove(member)
                    member.end()
                    job.waiting.appendleft(at)
                    self._leave_out(ray, member, answer)
                    continue
                member.free(answer)
                if at is not None:
                    job.ended(at, answer)
            if at is not None and at in job.outcomes:
                done.append((at, time.monotonic() - member.since))
        job.check_patience(self._crew)
        return done


class _Job:
    """One piece of work on many items: those that wait, and the outcomes of the others. `sent` and `identity`
    are references to the work as workers get it, and to what its outcomes depend on."""

    def __init__(self, number: int, sent: Any, identity: Any, work: Work[Any, Any], items: Sequence[Any]):
        self.number, self.sent, self.identity = number, sent, identity
        self.work, self.items = work, items
        self.waiting = deque(range(len(items)))
        self.outcomes: dict[int, Any] = {}
        self._deaths: Counter[int] = Counter()
        self._seen = time.monotonic()

    def ended(self, at: int, answer: Any) -> None:
        """Store the outcome of an item; raises the error that the worker raised."""
        if isinstance(answer, Failed):
            raise error_of(*answer)
        self.outcomes[at] = self.work.received(self.items[at], answer)

    def died(self, ray: Any, member: _Member, at: int) -> None:
        """Note that a worker died that had an item. It waits again, and is given up after so many deaths for
        which no machine is to blame."""
        alive = {node["NodeID"] for node in ray.nodes() if node["Alive"]}
        self._deaths[at] += member.node in alive
        if self._deaths[at] < ATTEMPTS:
            self.waiting.appendleft(at)
        else:
            why = f"killed the worker that had it, {ATTEMPTS} times"
            self.outcomes[at] = self.work.killed(self.items[at], why)

    def check_patience(self, crew: Sequence[_Member]) -> None:
        """Raise ServerError if the cluster has given no worker for a long time."""
        now = time.monotonic()
        if any(member.node is not None for member in crew):
            self._seen = now
        if now - self._seen > PATIENCE:
            raise ServerError(
                f"execution: the Ray cluster has given no worker for {PATIENCE:g} s: 'ray status' shows what"
                " it waits for"
            )


class _Member:
    """A worker of the cluster: it starts, has one item, or is idle. `node` is its machine once it runs, which
    is none of those `without` which the work is done."""

    def __init__(self, ray: Any, without: Collection[str] = ()) -> None:
        self._ray = ray
        options: dict[str, Any] = {"num_cpus": 1, "max_restarts": 0}
        if without:
            options["label_selector"] = {"ray.io/node-id": f"!in({','.join(without)})"}
        self._actor = ray.remote(**options)(RayWorker).remote(str(Path.cwd()))
        self.node: str | None = None
        self.at: int | None = None
        self.since = 0.0
        self._job = 0
        self.reference: Any = self._actor.place.remote()

    @property
    def is_idle(self) -> bool:
        """Whether it can take an item."""
        return self.reference is None

    def take(self, job: _Job, at: int) -> None:
        """Send it the item at a position."""
        self.at, self.since = at, time.monotonic()
        item = job.work.sent(job.items[at])
        work = None if self._job == job.number else job.sent  # it may be large, and is read at each call
        self.reference = self._actor.do.remote(job.number, work, job.identity, item)
        self._job = job.number

    def looked_up(self) -> str:
        """The id of the machine on which it was to start, which Ray does not say with the error."""
        address: Mapping[str, str] = self._ray._private.state.actors(self._actor._actor_id.hex())["Address"]
        return address["NodeID"]

    def free(self, answer: Any) -> None:
        """Note that it has answered."""
        if self.node is None:
            self.node = answer
        self.at = self.reference = None

    def tidied(self) -> Any:
        """Let an idle worker remove its temporary files; returns a reference that is ready when it has."""
        return self._actor.close.remote()

    def end(self) -> None:
        """End the process of the worker, and with it its item."""
        self._ray.kill(self._actor)
