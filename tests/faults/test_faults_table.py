"""The table of faults and outcomes: every test that it names is there, and every fault is in it."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.fault_server.faults import FAULTS

FOLDER = Path(__file__).parent
ROWS = [
    line for line in (FOLDER / "README.md").read_text().splitlines() if re.match(r"\| (?!fault|who)", line)
]


def functions(path: Path) -> set[str]:
    return set(re.findall(r"^def (test_\w+)\(", path.read_text(), re.MULTILINE))


def test_every_row_names_a_test_that_exists() -> None:
    assert ROWS
    wrong = []
    for row in ROWS:
        named = re.search(r"`(?P<file>test_faults_\w+\.py)::(?P<test>\w+)` \|$", row)
        if named is None or named["test"] not in functions(FOLDER / named["file"]):
            wrong.append(row)
    assert not wrong, "\n".join(wrong)


def test_every_fault_has_a_row() -> None:
    named = {found[1] for row in ROWS if (found := re.match(r"\| `([a-z0-9-]+)` \|", row))}
    assert named == FAULTS.keys() - {"restart"}  # which has a row in words
