"""Answers that are a number or a list: what each states, and its precision and recall, worked by hand."""

from __future__ import annotations

import time

import pytest

from fathoms.metrics.metric import Facts
from fathoms.metrics.registry import named
from fathoms.metrics.score_records import RecordScore
from fathoms.types import Failure, GoldList, GoldNumber, GoldPhrase, Question, Record, Reply, Score

NAMES = GoldList(list=("Alder", "Birch", "Brix and Toll", "Dorn"))
LISTS = ("list-precision", "list-recall", "list-f1")


def scored(name: str, said: str | None, *gold: GoldPhrase, text: str = "?", abstains: bool = False) -> Score:
    question = Question(id="q", text=text, category="A", answers=tuple((one,) for one in gold))
    reply = None if said is None else Reply(text=said)
    error = Failure(kind="Timeout", message="late") if said is None else None
    (metric,) = named([name])
    record = Record(question=question, answer=reply, error=error)
    return metric.of(Facts(record, RecordScore(abstained=abstains)))


def shares(said: str | None, *gold: GoldPhrase, **more: bool) -> list[float | None]:
    return [scored(name, said, *(gold or (NAMES,)), **more).value for name in LISTS]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("said", "right", "listed"),
    [
        ("Alder, Birch, Brix and Toll, Dorn", 4, 4),
        ("Alder, Birch and Dorn.", 3, 3),
        ("The stations are: Alder; Zorb; Dorn", 2, 3),
        ("Based on the documents, the stations are Alder, Cedar and Zorb Mill.", 1, 3),
        ("Alder, Birch and Cedar have pumps by Halvard.", 2, 3),
        ("However, it is Alder.", 1, 1),
        ("- Alder: like Birch\n- **Zorb**\n- Brix and Toll (2019)", 2, 3),
        ("The stations are:\n1. Dorn\n2. Zorb\n", 1, 2),
        ("Alder\nZorb\nElm", 1, 3),
        ('["Alder", "Zorb", "alder"]', 1, 2),
        ('```json\n{"stations": ["Alder", "Birch"]}\n```', 2, 2),
        ('{"answer": "Alder and Zorb"}', 1, 2),
        ("Alder, Alder and ALDER", 1, 1),
        ("It is Zorb.", 0, 1),
        ("I looked at all pages. They name Alder and Birch. Nothing else was found.", 2, 2),
    ],
)
def test_precision_and_recall_of_what_an_answer_lists(said: str, right: int, listed: int) -> None:
    precision, recall = right / listed, right / 4
    f1 = 2 * precision * recall / (precision + recall) if right else 0
    assert shares(said) == pytest.approx([precision, recall, f1])


def test_none_is_the_empty_list() -> None:
    assert shares("None of them.") == [None, 0, 0]
    assert shares("I do not know.", abstains=True) == [None, 0, 0]
    assert shares("None of them.", "none") == [1, 1, 1]
    assert shares("[]", "none") == [1, 1, 1]
    assert shares("Alder and Birch", "none") == [0, None, 0]
    assert shares(None) == [0, 0, 0]


def test_an_item_may_be_a_number_or_a_date_and_the_best_variant_counts() -> None:
    years = GoldList(list=(GoldNumber(number=1951), GoldNumber(number=1960)))
    assert shares("1951 and 1970", years)[:2] == [0.5, 0.5]
    assert shares("Alder", GoldList(list=("Elm", "Alder")), GoldList(list=("Alder",))) == [1, 1, 1]
    assert shares("red, green and pink", GoldList(list=("red", "green", "blue")))[:2] == pytest.approx(
        [2 / 3, 2 / 3]
    )


def test_other_gold_answers_have_no_list_and_no_number() -> None:
    assert scored("list-recall", "Alder", "Alder").why == {"lacks": "a list as gold answer"}
    assert scored("number-exact", "Alder", "Alder").why == {"lacks": "a number as gold answer"}


@pytest.mark.parametrize(
    ("said", "gold", "right"),
    [
        ("12", GoldNumber(number=12), 1),
        ("There are twelve.", GoldNumber(number=12), 1),
        ("12 of the 60 stations", GoldNumber(number=12), 1),
        ("There are 12 or 13.", GoldNumber(number=12), 0),
        ("The flow is at least 300 m3/h for 12 stations.", GoldNumber(number=12), 1),
        ("Alder has 200 m3/h, and Birch 180 m3/h. Together they have 380 m3/h.", GoldNumber(number=380), 0),
        (
            "Alder has 200 m3/h, and Birch 180 m3/h. Together they have 380 m3/h.",
            GoldNumber(number=380, unit="m3/h"),
            1,
        ),
        ("380 m3/h: Alder 200, Birch 180.", GoldNumber(number=380, unit="m3/h"), 1),
        ("About 379 m3/h", GoldNumber(number=380, unit="m3/h", tolerance="0.5%"), 1),
        ("About 370 m3/h", GoldNumber(number=380, unit="m3/h", tolerance="0.5%"), 0),
        ("380", GoldNumber(number=380, unit="m3/h"), 1),
        ("The one right number is 12.", GoldNumber(number=12), 1),
        ("One.", GoldNumber(number=1), 1),
        ("The answer is 1.", GoldNumber(number=1), 1),
        ("It is at least 300 for 2 stations.", GoldNumber(number=2), 1),
        ("It is 300.", GoldNumber(number=300), 1),
        ("None of them.", GoldNumber(number=0), 1),
        ("No station.", GoldNumber(number=0), 1),
        ("None of them.", GoldNumber(number=3), 0),
        ("Many.", GoldNumber(number=3), 0),
        (None, GoldNumber(number=3), 0),
    ],
)
def test_the_number_that_an_answer_states(said: str | None, gold: GoldNumber, right: int) -> None:
    text = "For how many stations is the rated flow at least 300? The latest that says it of one counts."
    assert scored("number-exact", said, gold, text=text).value == right


def test_answers_that_state_no_single_number_are_counted() -> None:
    (metric,) = named(["number-exact"])
    counts = [
        metric.counted(scored("number-exact", said, GoldNumber(number=3))) for said in ("3", "3 or 4", "Many")
    ]
    assert counts == [{"answers that do not state one number": number} for number in (0, 1, 1)]


@pytest.mark.slow
def test_a_hostile_answer_is_read_in_linear_time() -> None:
    def seconds(times: int) -> float:
        start = time.process_time()
        shares("Alder, x and " * times + "\n- y:" * times)
        return time.process_time() - start

    seconds(100)
    assert seconds(8000) < 40 * max(seconds(1000), 0.01)
