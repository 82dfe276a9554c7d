"""The typed reader of scored runs."""

from __future__ import annotations

from fathoms.metrics.profiles import PROFILES
from fathoms.metrics.score_records import RELEASED
from fathoms.runs import profile_figures
from fathoms.types.run.summary import Summary


def test_the_reader_knows_the_name_of_every_profile() -> None:
    assert (*(profile.name for profile in PROFILES), RELEASED) == profile_figures.PROFILES


def test_null_and_a_missing_key_of_an_old_run_are_read_alike() -> None:
    given = Summary.model_validate({"counts": None, "profiles": {"fathoms": {"funnel": None}}})
    assert given == Summary.model_validate({"profiles": {"fathoms": {}}})
    assert given.counts.done == 0
