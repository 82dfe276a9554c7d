"""Agreement with labels: figures worked by hand or published, intervals, and files that cannot be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathoms.errors import DataError
from fathoms.metrics.agreement import Counts, Labelled, agree, count, figures, intervals, read_labels
from fathoms.metrics.cues import Cues


def test_figures_by_hand() -> None:
    found = figures(Counts(hits=3, false=1, missed=2, agreed=4))
    assert found["n"] == 10
    assert (found["accuracy"], found["precision"], found["recall"]) == (0.7, 0.75, 0.6)
    assert found["f1"] == pytest.approx(2 * 0.75 * 0.6 / (0.75 + 0.6))
    # chance: 5/10 * 4/10 + 5/10 * 6/10 = 0.5
    assert found["kappa"] == pytest.approx((0.7 - 0.5) / 0.5)


def test_kappa_of_the_textbook_example() -> None:
    # 50 proposals, two readers: 20 yes-yes, 5 and 10 apart, 15 no-no; kappa 0.4
    assert figures(Counts(20, 5, 10, 15))["kappa"] == pytest.approx(0.4)


def test_a_figure_without_a_denominator_is_none() -> None:
    found = figures(Counts(0, 0, 0, 5))
    assert (found["precision"], found["recall"], found["f1"], found["kappa"]) == (None, None, None, None)
    assert found["accuracy"] == 1
    assert intervals(Counts(0, 0, 0, 5))["precision"] is None


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    # the examples of the R package BlakerCI
    [(3, 10, 0.08726443, 0.61941066), (59, 355, 0.1300807, 0.2090809), (6, 13, 0.2158050, 0.7395922)],
)
def test_blaker_as_published(successes: int, n: int, low: float, high: float) -> None:
    counts = Counts(hits=successes, false=0, missed=n - successes, agreed=0)
    assert intervals(counts)["recall"] == pytest.approx((low, high), abs=5e-8)


@pytest.mark.slow
@given(st.tuples(*[st.integers(0, 60)] * 4).filter(lambda cells: sum(cells) >= 5))
def test_intervals_hold_their_values(cells: tuple[int, int, int, int]) -> None:
    counts = Counts(*cells)
    values, found = figures(counts), intervals(counts)
    for name, bounds in found.items():
        assert (bounds is None) == (values[name] is None)
        if bounds is not None:
            assert -1 <= bounds[0] < bounds[1] <= 1
            if name in ("accuracy", "precision", "recall"):
                assert bounds[0] - 1e-9 <= values[name] <= bounds[1] + 1e-9


def test_intervals_are_the_same_again_and_never_of_no_width() -> None:
    perfect = Counts(40, 0, 0, 153)
    assert intervals(perfect) == intervals(perfect)
    assert intervals(perfect)["f1"] != intervals(perfect, seed=1)["f1"]
    low, high = intervals(perfect)["f1"] or (0, 0)
    assert 0.9 < low < high == 1


def test_empty_and_refused_count_as_abstentions() -> None:
    assert count([("abstention", "empty"), ("abstention", "refusal"), ("statement", "statement")]) == (
        2,
        0,
        0,
        1,
    )


ROWS = [
    Labelled("a", "It is 12 m deep.", "statement"),
    Labelled("b", "The text does not say.", "abstention"),
    Labelled("c", "I can't assist with that request.", "abstention"),
    Labelled("d", "The text does not say.", "statement"),
    Labelled("e", "The text does not say, so the answer is probably 12 m.", "hedged"),
    Labelled("f", "12", "odd"),
]


@pytest.mark.slow
def test_other_labels_are_left_out_and_hedged_ones_counted_both_ways() -> None:
    found = agree(ROWS, Cues())
    assert found["n"] == 4
    assert found["confusion"] == {
        "statement": {"statement": 1, "abstention": 1},
        "abstention": {"statement": 0, "abstention": 2},
    }
    assert found["left_out"] == {"hedged": 1, "odd": 1}
    assert found["kinds"] == {"statement": 1, "abstention": 2, "refusal": 1}
    said_to_abstain = Cues().classify([ROWS[4].answer])[0].label != "statement"
    right = {"as_abstention": 3 + said_to_abstain, "as_statement": 3 + (not said_to_abstain)}
    assert {way: values["accuracy"] for way, values in found["hedged"].items()} == {
        way: number / 5 for way, number in right.items()
    }
    (differs,) = found["differ"]
    assert (differs["id"], differs["clause"]) == ("d", "the text does not say")
    assert json.loads(json.dumps(found))["classifier"]["kind"] == "cues"


def test_nothing_to_compare_with() -> None:
    with pytest.raises(DataError, match="no row is labelled statement or abstention"):
        agree(ROWS[4:], Cues())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"labels\.jsonl:3:2: not valid JSON"),
        ("[1]", r"labels\.jsonl:3: expected an object"),
        ('{"id": "x", "label": "statement"}', r"labels\.jsonl:3: 'answer' is missing"),
        ('{"id": "x", "answer": 12, "label": "statement"}', r"labels\.jsonl:3: 'answer' is not text"),
    ],
)
def test_a_row_that_cannot_be_read_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text('{"id": "a", "answer": "12", "label": "statement", "more": 1}\n\n' + line + "\n")
    with pytest.raises(DataError, match=message):
        read_labels(path)


def test_a_null_label_is_read_as_unlabelled(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text('{"id": "a", "answer": "12", "label": null}\n')
    assert read_labels(path) == [Labelled("a", "12", "unlabelled")]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere\.jsonl: cannot be read"):
        read_labels(tmp_path / "nowhere.jsonl")


@pytest.mark.slow
def test_the_shared_labels(shared: Path) -> None:
    found = agree(read_labels(shared / "abstention" / "dev.jsonl"), Cues())
    assert (found["n"], found["left_out"]) == (193, {"hedged": 7})
    assert found["accuracy"] >= 0.97
    assert found["f1"] >= 0.93
