"""The connection of this process to a Ray cluster."""

from __future__ import annotations

import logging
import os
import re
import socket
from importlib.util import find_spec
from typing import Any

from fathoms.errors import MissingExtraError, ServerError

_CONNECT = 10.0
"""Seconds that the head of a cluster has to take a connection."""
_OTHER_VERSION = re.compile(
    r"Version mismatch:[^:]*:\s*Ray: (\S+)\s+Python: (\S+)\s[^\n]*\s+Ray: (\S+)\s+Python: (\S+)"
)
"""What Ray says of a cluster with another version of Ray or of Python."""


def connected(address: str) -> Any:
    """Return the module `ray`, connected to the cluster at an address.

    Raises MissingExtraError where Ray is not installed, and ServerError where there is no such cluster. Ray
    sends no statistics of its use from here, and starts its workers as `ray start` does, whatever started
    this process. What workers print stays in the logs of the cluster.
    """
    if find_spec("ray") is None:
        raise MissingExtraError("ray", "ray", "execution kind 'ray'")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] = "0"
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else Ray warns of what will change
    import ray

    # Ray prints what became of its machines on stdout, where the results of a command stand, and has no
    # option against it.
    ray._private.worker._worker_logs_enabled = False
    if ray.is_initialized():
        return ray
    answers = False
    try:
        if address != "auto":  # for where nobody listens, Ray would look again for minutes
            host, _, port = address.rpartition(":")
            socket.create_connection((host, int(port)), timeout=_CONNECT).close()
            answers = True
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR, configure_logging=False)
    except Exception as error:  # Ray raises ConnectionError, ValueError, RuntimeError and its own
        why = f"({type(error).__name__}: {error})"
        if (other := other_version(error)) is not None:
            raise ServerError(
                f"execution: the Ray cluster at '{address}' has another version: {other}: install the same on"
                " all machines"
            ) from error
        if answers:  # Ray does not say that a token was refused
            raise ServerError(
                f"execution: Ray cannot join what answers at '{address}' {why}: set RAY_AUTH_MODE and"
                " RAY_AUTH_TOKEN as on its head, install the same Ray here, or correct 'address'"
            ) from error
        raise ServerError(
            f"execution: no Ray cluster answers at '{address}' {why}: start one with 'ray start --head', or"
            " correct 'address'"
        ) from error
    return ray


def other_version(error: Exception) -> str | None:
    """Return the versions of a cluster and of this machine where Ray says that they differ, else `None`."""
    found = _OTHER_VERSION.search(str(error))
    return found and "Ray {} with Python {} there, Ray {} with Python {} here".format(*found.groups())
