"""Workers of a cluster that cannot start, such as those of one badly installed machine."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("ray")

from fathoms.errors import ServerError
from fathoms.extras.cluster.executor import ATTEMPTS, _Job


class GoneError(Exception):
    """What Ray says of an actor whose start failed."""

    actor_init_failed = True


class Member:
    """A worker that has no item."""

    at = None

    def end(self) -> None:
        """End it."""


def test_workers_that_cannot_start_end_the_work_only_where_there_are_no_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    job: Any = _Job(1, None, None, None, [1, 2])  # type: ignore[arg-type]
    for _ in range(5 * ATTEMPTS):
        job.died(None, Member(), GoneError("no module named fathoms"), [Member()])
    assert job.failed_starts == 5 * ATTEMPTS
    (record,) = caplog.records
    assert "(no module named fathoms): the work goes on without it" in record.facts["message"]
    with pytest.raises(ServerError, match="no worker of the Ray cluster can start"):
        job.died(None, Member(), GoneError("no module named fathoms"), [])
