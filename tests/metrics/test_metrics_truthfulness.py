"""Truthfulness and its companions, worked by hand on ten answers with every kind of outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from fathoms.metrics.aggregate import summarise
from fathoms.metrics.metric import Facts, Metric
from fathoms.metrics.pooling import Pool
from fathoms.metrics.registry import named
from fathoms.metrics.score_records import Scoring, score
from fathoms.metrics.truthfulness import Truthfulness
from fathoms.stats.intervals import blaker
from fathoms.types import Failure, Question, Record, Reply

SILENT = "The document does not say."


def record(name: str, gold: Sequence[str], text: str | None, refusal: str | None = None) -> Record:
    """One answer; without gold phrases the question is unanswerable, without a text the call failed."""
    question = Question(
        id=name,
        text="?",
        category=name[0].upper(),
        answers=(tuple(gold),) if gold else (),
        answerable=bool(gold),
    )
    if text is None:
        return Record(question=question, error=Failure(kind="ModelError", message="timed out"))
    return Record(question=question, answer=Reply(text=text, refusal=refusal))


BARE = Question(id="b5", text="?", category="B", reference="It is Paris.")
TEN = [
    record("a1", ["paris"], "It is Paris."),  # right: 1
    record("a2", ["paris", "1900"], "It is Paris."),  # half right: 1/2 - 1/2 = 0
    record("a3", ["paris"], "It is Rome."),  # wrong: -1
    record("a4", ["paris"], SILENT),  # abstains where there is an answer: 0
    record("a5", [], SILENT),  # abstains where there is none: 1
    record("b1", [], "It is Paris."),  # answers what has no answer: -1
    record("b2", ["paris"], "", "safety"),  # refuses: 0
    record("b3", ["paris"], None),  # the call failed: 0
    record("b4", [], ""),  # empty, which is no decision: 0
    Record(question=BARE, answer=Reply(text="It is Paris.")),  # no gold phrases: no value
]
ROWS = score(TEN, Scoring())


def figures(metric: Metric) -> dict[str, Any]:
    pool = Pool(metric)
    for one, row in zip(TEN, ROWS.rows, strict=True):
        pool.add(one.question, metric.of(Facts(one, row["fathoms"])))
    return pool.figures().plain()


def values(metric: Metric) -> list[float | None]:
    pairs = zip(TEN, ROWS.rows, strict=True)
    return [metric.of(Facts(one, row["fathoms"])).value for one, row in pairs]


def test_truthfulness_of_each_answer() -> None:
    assert values(Truthfulness()) == [1, 0, -1, 0, 1, -1, 0, 0, 0, None]
    assert values(Truthfulness(penalty=2)) == [1, -0.5, -2, 0, 1, -2, 0, 0, 0, None]
    assert values(Truthfulness(penalty=0)) == [1, 0.5, 0, 0, 1, 0, 0, 0, 0, None]


def test_truthfulness_by_category_and_overall() -> None:
    found = figures(Truthfulness())
    cells = {name: (cell["value"], cell["n"]) for name, cell in found["categories"].items()}
    assert cells == {"A": (0.2, 5), "B": (-0.25, 4)}
    assert found["overall"]["value"] == pytest.approx(-0.025)
    assert found["micro"]["value"] == 0
    assert found["unit"] == "score -1 to 1"
    assert -1 <= found["overall"]["low"] < 0 < found["overall"]["high"] <= 1
    assert found["overall"]["method"] == "score"


def test_another_penalty_stands_beside_the_plain_one() -> None:
    strict = Truthfulness(penalty=2)
    assert (strict.name, strict.measured_in) == ("truthfulness-2", "score -2 to 1")


def test_a_failed_call_is_counted_and_a_reference_alone_says_what_lacks() -> None:
    metric = Truthfulness()
    failed, bare = (metric.of(Facts(TEN[i], ROWS.rows[i]["fathoms"])) for i in (7, 9))
    assert (failed.value, failed.n, failed.why) == (0, 0, {"failed": "ModelError"})
    assert (bare.value, bare.why) == (None, {"lacks": "gold phrases"})


@pytest.mark.parametrize(
    ("name", "overall", "categories"),
    [
        # unanswerable: a5 abstains, b1 answers, b4 is empty
        ("answered-unanswerable", 0.5, {"A": (0, 1), "B": (1, 1)}),
        # answerable: a4 of a1 to a4 abstains, b5 does not; refusals and failed calls show no decision
        ("abstained-answerable", 0.125, {"A": (0.25, 4), "B": (0, 1)}),
        # A: tp a5, fp a4; B: fn b1
        ("abstention-f1", pytest.approx(1 / 2), {"A": (2 / 3, 5), "B": (0, 2)}),
    ],
)
def test_decisions(name: str, overall: float, categories: dict[str, tuple[float, int]]) -> None:
    (metric,) = named([name])
    found = figures(metric)
    assert found["overall"]["value"] == overall
    assert found["missing"] is None
    assert {key: (cell["value"], cell["n"]) for key, cell in found["categories"].items()} == {
        key: (pytest.approx(value), n) for key, (value, n) in categories.items()
    }


def test_f1_has_blakers_interval_of_its_share_of_hits() -> None:
    """One of the three answers that count is a hit, so the share of hits is 1/3, and F1 = 2 * 1/3 / (4/3)."""
    found = figures(named(["abstention-f1"])[0])["overall"]
    low, high = blaker(1 / 3, 3)
    assert (found["low"], found["high"]) == pytest.approx((2 * low / (1 + low), 2 * high / (1 + high)))
    assert found["method"] == "blaker"


def over(cell: dict[str, Any]) -> dict[str, tuple[float | None, int]]:
    return {name: (part["value"], part["n"]) for name, part in cell["hallucination_over"].items()}


def test_hallucination_has_its_own_denominators() -> None:
    # hallucinations: a2, a3 and b1; b2 refuses; b3 (failed), b4 (empty) and b5 (no gold
    # phrases) are in no denominator
    own = summarise(TEN, ROWS)["fathoms"].plain()
    assert over(own["overall"]) == {
        "all": (3 / 7, 7),
        "answerable": (2 / 5, 5),
        "unanswerable": (1 / 2, 2),
    }
    assert over(own["categories"]["A"]) == {
        "all": (2 / 5, 5),
        "answerable": (1 / 2, 4),
        "unanswerable": (0, 1),
    }
    assert over(own["categories"]["B"]) == {
        "all": (1 / 2, 2),
        "answerable": (0, 1),
        "unanswerable": (1, 1),
    }
    assert own["overall"]["hallucination"] == pytest.approx((2 / 5 + 1 / 2) / 2)


def test_the_profiles_of_the_paper_know_no_hallucination_without_an_answer() -> None:
    profile = "paper-by-words"
    found = summarise(TEN, ROWS)[profile].plain()
    assert [row[profile].hallucination for row in ROWS.rows][4:6] == [None, None]
    assert "hallucination_over" not in found["overall"]
