"""Names of runs for people: what tells runs with one name apart."""

from __future__ import annotations

import pytest

from fathoms.runs.order import times_apart

DAY = "20261127T{}_night_0a1b2c3d"


@pytest.mark.parametrize(
    ("ids", "texts"),
    [
        ([DAY.format("132805123Z"), DAY.format("134105123Z")], ["13:28", "13:41"]),
        ([DAY.format("132805123Z"), DAY.format("132841123Z")], ["13:28:05", "13:28:41"]),
        ([DAY.format("132805123Z"), "20261128T132805123Z_night_0a1b2c3d"], ["27 Nov", "28 Nov"]),
        (
            [DAY.format("132805123Z"), DAY.format("134105123Z"), "20261128T132805123Z_night_0a1b2c3d"],
            ["27 Nov 13:28", "27 Nov 13:41", "28 Nov 13:28"],
        ),
        ([DAY.format("132805123Z"), "20251127T132805123Z_night_0a1b2c3d"], ["27 Nov 2026", "27 Nov 2025"]),
        ([DAY.format("132805123Z"), DAY.format("132805124Z")], None),
        (["imported", "again"], None),
    ],
)
def test_runs_of_one_name_are_told_apart_by_the_shortest_time(
    ids: list[str], texts: list[str] | None
) -> None:
    assert times_apart(ids) == (texts or ids)
