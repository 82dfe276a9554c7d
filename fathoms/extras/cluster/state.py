"""What `fathoms doctor` says of a Ray cluster: its machines, what differs there, and who can reach it."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fathoms import __version__
from fathoms.component import Component, package_version
from fathoms.errors import FathomsError
from fathoms.extras.cluster.connection import connected
from fathoms.extras.cluster.worker import differences

_PATIENCE = 60.0
"""Seconds that a machine has to answer."""
_LISTENING = "0A"
"""The state of a listening socket in the tables of Linux."""
_PORTS = ("NodeManagerPort", "ObjectManagerPort")
_MEND = "install the same versions on all machines (pip install -c requirements.lock)"


class ClusterState(NamedTuple):
    """What was found: a line for people, what keeps work from being done there, and what to take care of."""

    line: str
    faults: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What was found, a line each, warnings last."""
        return "\n".join([self.line, *self.faults, *(f"warning: {one}" for one in self.warnings)])


def look_at(address: str, stages: Mapping[str, Component] | None = None) -> ClusterState:
    """Compare every machine of the cluster at an address with this one: its versions, its weights, and what
    the results of `stages`, given by their keys, depend on. Raises ServerError where no cluster answers."""
    ray, stages = connected(address), dict(stages or {})
    nodes = sorted((node for node in ray.nodes() if node["Alive"]), key=lambda node: str(node["NodeID"]))
    there = {
        f"{node['NodeManagerAddress']} ({node['NodeID'][:6]})": _facts_of(ray, node, stages) for node in nodes
    }
    here = facts((), stages)
    faults, warnings = [], []
    for name, found in there.items():
        if isinstance(found, str):
            faults.append(f"{name}: {found}")
            continue
        unlike = differences({**here["versions"], **here["stages"]}, {**found["versions"], **found["stages"]})
        faults += [f"{name}: {each}: {_MEND}" for each in unlike]
        if lacking := [weights for weights in here["weights"] if weights not in found["weights"]]:
            warnings.append(f"{name} lacks weights that are here: fathoms models pull {' '.join(lacking)}")
        if found["open"]:
            ports = ", ".join(map(str, found["open"]))
            warnings.append(
                f"{name} can be reached from other machines (port {ports} on all interfaces), and whoever"
                " reaches it can run code there: start Ray with RAY_AUTH_MODE=token, in a network of its own"
            )
    if dashboard := ray._private.worker.get_dashboard_url():
        warnings.append(
            f"Ray's dashboard is on ({dashboard}), and asks for no password: start the head with"
            " --include-dashboard=false"
        )
    processors = int(ray.cluster_resources().get("CPU", 0))
    if not processors:
        faults.append("it has no processors: start other machines with 'ray start --address=HEAD:6379'")
    machines = f"{len(nodes)} machine{'s' * (len(nodes) != 1)}, {processors} processors"
    line = f"Ray {package_version('ray')} at {address}: {machines}"
    return ClusterState(line, tuple(faults), tuple(warnings))


def _facts_of(ray: Any, node: Mapping[str, Any], stages: Mapping[str, Component]) -> dict[str, Any] | str:
    """Return the facts of a machine, or why there are none."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    on = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
    task = ray.remote(num_cpus=0, max_retries=0, scheduling_strategy=on)(facts)
    ports = [int(node[name]) for name in _PORTS if node.get(name)]
    try:
        found: dict[str, Any] = ray.get(task.remote(ports, stages, str(Path.cwd())), timeout=_PATIENCE)
    except ray.exceptions.GetTimeoutError:
        return f"no answer within {_PATIENCE:g} s: 'ray status' shows what it waits for"
    except ray.exceptions.RayError as error:
        why = str(error).strip().splitlines()[-1].strip()
        return f"fathoms cannot run there ({why}): install the same fathoms on all machines"
    return found


def facts(ports: Sequence[int], stages: Mapping[str, Component], folder: str | None = None) -> dict[str, Any]:
    """Return what this machine would work with: `versions`, the `weights` that are installed, the identity of
    each of the `stages`, and those of the `ports` that other machines can reach without a token."""
    from fathoms.models.weights.assets import ASSETS
    from fathoms.models.weights.weights import is_installed

    if folder is not None and Path(folder).is_dir():
        os.chdir(folder)  # as a worker does
    return {
        "versions": {
            "Python": platform.python_version(),
            "fathoms": __version__,
            "Ray": package_version("ray"),
        },
        "weights": [name for name in ASSETS if is_installed(name)],
        "stages": {name: _identity(stage) for name, stage in stages.items()},
        "open": sorted(set(ports) & set(_listening())) if _has_network() and not _asks_for_token() else [],
    }


def _identity(stage: Component) -> Any:
    """What the results of a stage depend on, or why this machine cannot do its work."""
    from fathoms.models.weights.assets import ASSETS
    from fathoms.models.weights.weights import files

    try:
        if (require := getattr(stage, "require", None)) is not None:  # of a parser
            require()
        if (model := getattr(stage, "model", None)) in ASSETS:
            files(str(model))
        return stage.identity()
    except FathomsError as error:
        return str(error)


def _listening() -> Iterator[int]:
    """Yield the ports at which this machine listens on all interfaces, where the system tells."""
    for name in ("tcp", "tcp6"):
        for cells in _rows(name):
            address, _, port = cells[1].rpartition(":")
            if cells[3] == _LISTENING and not address.strip("0"):
                yield int(port, 16)


def _asks_for_token() -> bool:
    """Whether Ray on this machine answers only those who know the token of the cluster."""
    return os.environ.get("RAY_AUTH_MODE", "").lower() == "token"


def _has_network() -> bool:
    """Whether this machine has a way out other than loopback."""
    return any(cells[0] != "lo" for cells in _rows("route"))


def _rows(name: str) -> Iterator[list[str]]:
    """Yield the rows of a table of the network of Linux."""
    try:
        lines = Path("/proc/net", name).read_text().splitlines()[1:]
    except OSError:
        return
    yield from (cells for line in lines if len(cells := line.split()) > 3)
