"""The threshold of a cascade, on labels whose best threshold is known by construction."""

from __future__ import annotations

import pytest

from fathoms.errors import DataError
from fathoms.judges.people import LabelledClaim
from fathoms.judges.threshold import Labelled, choose_threshold
from fathoms.types import Verdict


def row(number: int, people: bool, p: float | None, dear: bool, group: str = "") -> Labelled:
    text = f"claim {number}"
    label = {True: "supported", False: "unsupported"}
    cheap = Verdict(claim=text, premise="x", label=label[(p or 0) >= 0.5], p=p)
    return Labelled(
        LabelledClaim(claim=text, premise="x", label=label[people], group=group),
        cheap,
        Verdict(claim=text, premise="x", label=label[dear]),
    )


def test_the_lowest_of_the_best_thresholds_is_chosen() -> None:
    # the cheap judge is right where it is sure by .9 and wrong at .7; the dear one is always right
    rows = []
    for number in range(40):
        people = number % 2 == 0
        sure, right = (0.9, True) if number % 4 < 2 else (0.7, False)
        rows.append(row(number, people, sure if people == right else 1 - sure, people))
    found = choose_threshold(rows)
    assert found.threshold == pytest.approx(0.9)
    assert (found.cascade, found.dear) == (1.0, 1.0)
    assert found.cheap is not None
    assert found.cheap < 0.8
    assert 0 < found.share_dear < 1
    assert found.chosen_on == found.reported_on == 20


def test_a_cheap_judge_that_is_always_right_is_asked_alone() -> None:
    rows = [row(n, n % 2 == 0, 0.6 if n % 2 == 0 else 0.4, False) for n in range(20)]
    found = choose_threshold(rows)
    assert (found.threshold, found.share_dear, found.cascade) == (0.5, 0.0, 1.0)


def test_without_a_probability_the_dear_judge_decides() -> None:
    found = choose_threshold([row(n, n % 2 == 0, None, n % 2 == 0) for n in range(20)])
    assert (found.share_dear, found.cascade) == (1.0, 1.0)


def test_claims_of_one_group_are_never_split() -> None:
    rows = [row(n, n % 2 == 0, 0.9, True, group="one topic" if n < 15 else "other") for n in range(20)]
    found = choose_threshold(rows)
    assert {found.chosen_on, found.reported_on} == {15, 5}
    with pytest.raises(DataError, match="at least two groups"):
        choose_threshold(rows[:15])
