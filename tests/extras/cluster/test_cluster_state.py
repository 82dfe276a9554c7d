"""Which ports other machines can reach, and what is said of a cluster."""

from __future__ import annotations

import socket

import pytest

from fathoms.extras.cluster.state import ClusterState, _listening, facts


def test_a_port_on_all_interfaces_is_told_from_one_on_loopback() -> None:
    with socket.create_server(("0.0.0.0", 0)) as everywhere, socket.create_server(("127.0.0.1", 0)) as here:
        found = set(_listening())
        if not found:
            pytest.skip("this system does not tell who listens")
        assert everywhere.getsockname()[1] in found
        assert here.getsockname()[1] not in found


def test_a_machine_tells_its_versions_and_weights() -> None:
    found = facts((), {})
    assert set(found["versions"]) == {"Python", "fathoms", "Ray"}
    assert (found["stages"], found["open"]) == ({}, [])


def test_faults_come_before_warnings() -> None:
    text = ClusterState("Ray at x", ("a: Python is 3.11 here and 3.12 there",), ("the dashboard is on",)).text
    assert text.splitlines() == [
        "Ray at x",
        "a: Python is 3.11 here and 3.12 there",
        "warning: the dashboard is on",
    ]
