"""Lower bounds of dependencies are the versions that `make lowest` tests, and the lock fulfils them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]


def direct() -> Iterator[tuple[str, Requirement]]:
    """The requirements of the package and of its extras; developers install the versions of the lock."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    of_users = [line for name in extras.keys() - {"docs", "test"} for line in extras[name]]
    for line in project["dependencies"] + of_users:
        if not line.startswith("fathoms["):
            yield canonicalize_name(Requirement(line).name), Requirement(line)


def pinned(name: str) -> list[tuple[str, Version]]:
    """The versions in a file of pins, of which the lock has several for some packages, by Python."""
    lines = re.findall(r"^([\w.-]+)==(\S+)", (ROOT / name).read_text(), re.MULTILINE)
    return [(canonicalize_name(package), Version(version)) for package, version in lines]


def test_a_lower_bound_is_the_version_that_was_tested() -> None:
    parts = ((name, part) for name, wanted in direct() for part in wanted.specifier)
    bounds = {(name, part.version) for name, part in parts if part.operator == ">="}
    assert len({name for name, _ in bounds}) == len(bounds) == len({name for name, _ in direct()})
    tested = dict(pinned("requirements.lowest"))
    wrong = {name: tested.get(name) for name, bound in bounds if tested.get(name) != Version(bound)}
    assert not wrong, "set the tested versions, or test those set by `nox -s lowest -- renew`"


def test_the_lock_fulfils_the_bounds() -> None:
    allowed = {name: wanted.specifier for name, wanted in direct()}
    locked = [pin for pin in pinned("requirements.lock") if pin[0] in allowed]
    assert len(locked) >= 40
    assert [(name, version) for name, version in locked if version not in allowed[name]] == []
