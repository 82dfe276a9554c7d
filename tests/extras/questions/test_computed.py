"""Questions computed from a table of facts: their answers are worked out by hand here."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from fathoms.corpora import read_questions, write_questions
from fathoms.errors import DataError, QuestionsError, UsageError
from fathoms.extras.questions.computed.choosing import choose
from fathoms.extras.questions.computed.rules import RULES, Computed
from fathoms.extras.questions.computed.table import Fact, Facts, Table, read_facts, written_facts
from fathoms.extras.questions.computed.values import read_field

FACTS = """\
document,page,field,value,unit
a.pdf,1,station,Alder,
a.pdf,1,district,North,
a.pdf,2,rated flow,180,m3/h
a.pdf,1,survey date,12 March 2019,
b.pdf,1,station,Birch,
b.pdf,1,district,north,
b.pdf,3,rated flow,50,l/s
b.pdf,1,survey date,2019-05-02,
c.pdf,1,station,Cedar,
c.pdf,1,district,South,
c.pdf,1,rated flow,"300 m3/h",
c.pdf,1,survey date,3 June 2021,
d.pdf,1,station,Alder,
d.pdf,1,district,North,
d.pdf,1,rated flow,two hundred,m3/h
d.pdf,1,survey date,2023-01-15,
e.pdf,1,station,CEDAR,
e.pdf,1,survey date,2021-06-03,
e.pdf,1,rated flow,310,m3/h
f.pdf,1,station,Dorn,
f.pdf,1,district,South,
f.pdf,1,rated flow,90,m3/h
f.pdf,1,survey date,2020-02-02,
"""


def facts(tmp_path: Path, text: str = FACTS) -> Facts:
    path = tmp_path / "facts.csv"
    path.write_text(text)
    return read_facts(path)


def table(tmp_path: Path, text: str = FACTS) -> Table:
    return Table(facts(tmp_path, text), about="Station", dated="survey date")


def by_statement(found: Table, rule: str) -> dict[str, Computed]:
    """The questions of a rule by the statement of it."""
    return {one.statement: one for one in RULES[rule](found) if isinstance(one, Computed)}


def where(one: Computed) -> set[tuple[str, int]]:
    return {cell.page for cell in one.cells}


def test_values_become_amounts_in_one_unit_dates_and_names(tmp_path: Path) -> None:
    found = table(tmp_path)
    kinds = {field.name: (field.kind, field.unit) for field in found.fields.values()}
    assert kinds == {
        "station": ("name", ""),
        "district": ("name", ""),
        "rated flow": ("amount", "m3/h"),
        "survey date": ("date", ""),
    }
    keys = {
        thing.name: [cell.key for cell in given.cells]
        for thing in found.things
        if (given := found.given(thing, found.fields["rated flow"]))
    }
    # 50 l/s are 180 m3/h; the latest document of Alder counts, and those of Cedar have one date
    assert keys == {"Alder": [200], "Birch": [180], "Cedar": [300, 310], "Dorn": [90]}


def test_a_count_and_a_list_rest_on_the_documents_of_what_they_count(tmp_path: Path) -> None:
    found = table(tmp_path)
    one = by_statement(found, "count")["the number of stations for which the district is North"]
    assert one.text.startswith("For how many stations is the district North? Where several documents")
    assert str(one.answers[0][0]) == "{number: 2}"
    assert where(one) == {("d.pdf", 1), ("b.pdf", 1)}
    listed = by_statement(found, "list")["the stations for which the district is North"]
    assert str(listed.answers[0][0]) == "{list: [Alder, Birch]}"
    # Cedar has 300 or 310, both of which are at least 180
    amounts = by_statement(found, "count")[
        "the number of stations for which the rated flow is at least 180 m3/h"
    ]
    assert amounts.reference == "3: Alder, Birch, Cedar."
    assert where(amounts) == {("d.pdf", 1), ("b.pdf", 1), ("b.pdf", 3), ("c.pdf", 1), ("e.pdf", 1)}
    years = by_statement(Table(facts(tmp_path), about="station"), "count")
    assert "the number of stations for which the survey date is in 2021" in years


def test_a_sum_adds_up_in_one_unit_and_is_not_made_of_what_is_contradicted(tmp_path: Path) -> None:
    sums = by_statement(table(tmp_path), "sum")
    assert list(sums) == ["the sum of rated flow over the stations for which the district is North"]
    (one,) = sums.values()
    assert str(one.answers[0][0]) == "{number: 380, unit: m3/h, tolerance: 0.5%}"  # 200 + 180
    assert one.reference == "380 m3/h, the sum of Alder two hundred m3/h, Birch 50 l/s."
    assert where(one) == {("d.pdf", 1), ("b.pdf", 1), ("b.pdf", 3)}


def test_the_largest_and_a_difference_of_sums(tmp_path: Path) -> None:
    settled = FACTS.replace("310", "300")
    found = table(tmp_path, settled)
    best = by_statement(found, "argmax")
    north = best["the station with the largest rated flow among those for which the district is North"]
    assert (north.answers, north.reference) == ((("Alder",),), "Alder: 200 m3/h.")
    (difference,) = by_statement(found, "compare").values()
    # South has 300 + 90, North 380
    assert str(difference.answers[0][0]) == "{number: 10, unit: m3/h, tolerance: 0.5%}"
    assert difference.reference == "10 m3/h: 390 m3/h less 380 m3/h."
    assert {page[0] for page in where(difference)} == {"b.pdf", "c.pdf", "d.pdf", "e.pdf", "f.pdf"}


def test_what_has_changed_and_what_contradicts(tmp_path: Path) -> None:
    found = table(tmp_path)
    changes = by_statement(found, "changed")
    assert list(changes) == [
        f"the stations with another rated flow now than at the end of {year}" for year in (2019, 2020)
    ] + ["the stations with another rated flow now than at the end of 2021"]
    assert {str(one.answers[0][0]) for one in changes.values()} == {"{list: [Alder]}"}
    assert where(next(iter(changes.values()))) == {("a.pdf", 1), ("a.pdf", 2), ("d.pdf", 1)}
    (one,) = by_statement(found, "contradiction").values()
    assert str(one.answers[0][0]) == "{list: [Cedar]}"
    assert where(one) == {("c.pdf", 1), ("e.pdf", 1)}
    assert "with the same survey date" in one.text


def test_nothing_rests_on_a_value_in_doubt(tmp_path: Path) -> None:
    doubtful = FACTS.replace("unit\n", "unit,check\n", 1).replace(",\n", ",,\n").replace("/h\n", "/h,\n")
    doubtful = doubtful.replace("/s\n", "/s,\n").replace("50,l/s,", "50,l/s,differs: 60 l/s")
    found = table(tmp_path, doubtful)
    for rule in ("sum", "contradiction", "changed"):
        statements = by_statement(found, rule)
        assert not any("North" in one for one in statements), rule
    assert not any("rated flow" in one for one in by_statement(found, "count"))
    assert any("district" in one for one in by_statement(found, "count"))


def test_without_a_name_each_document_is_a_thing_of_its_own(tmp_path: Path) -> None:
    found = Table(facts(tmp_path))
    one = by_statement(found, "list")["the documents for which the district is South"]
    assert str(one.answers[0][0]) == "{list: [c, f]}"
    assert one.text == "For which documents is the district South? Name all of them."
    assert not by_statement(found, "changed")


def test_a_choice_takes_each_rule_in_turn_and_is_the_same_again(tmp_path: Path) -> None:
    found = choose(table(tmp_path), n=6, least=1)
    assert [one.category for one in found.questions] == [
        *("Count", "List", "Sum", "Argmax", "Changed", "Contradiction"),
    ]
    assert found.questions == choose(table(tmp_path), n=6, least=1).questions
    assert found.questions != choose(table(tmp_path), n=6, seed=1, least=1).questions
    last = found.questions[-1]
    assert last.metadata["rows"] == "10, 12, 13, 18, 19, 20"
    assert str(last.metadata["facts"]).startswith("facts.csv (sha256 ")
    assert found.left == {
        "its answer would rest on a value in doubt, or on documents that contradict one another": 3
    }
    for ending in (".json", ".csv", ".jsonl"):
        write_questions(tmp_path / f"set{ending}", found.questions)
        assert read_questions(tmp_path / f"set{ending}").questions == found.questions
    assert all(int(one.metadata["documents"] or 0) >= 3 for one in choose(table(tmp_path), least=3).questions)


def test_a_table_reads_back_as_it_was_written(tmp_path: Path) -> None:
    rows = facts(tmp_path).rows
    again = facts(tmp_path, written_facts(rows)).rows
    assert [(one.document, one.page, one.field, one.value, one.unit) for one in again] == [
        (one.document, one.page, one.field, one.value, one.unit) for one in rows
    ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("a.pdf,2,", "a.pdf,0,", "facts.csv:4:7: '0' is not a page"),
        ("a.pdf,2,", "a.pdf,II,", "facts.csv:4:7: 'II' is not a page"),
        ("a.pdf,2,", ",2,", "facts.csv:4:1: 'document' is empty"),
        ("180,m3/h", ",m3/h", "facts.csv:4:20: 'value' is empty"),
        ("180,m3/h", "many,m3/h", "facts.csv:4:20: 'many m3/h' is not one number in a unit"),
        ("180,m3/h", "180,kg", "facts.csv:4:20: '180 kg' is not one number in a unit that can be converted"),
        ("180,m3/h", "180,", "facts.csv:4:20: '180' is not one number in a unit that can be converted"),
        ("2023-01-15", "03/04/2023", "facts.csv:17:21: '03/04/2023' is not one date"),
        ("value,unit", "value,units", "facts.csv:1: unknown column 'units' (did you mean 'unit'?)"),
        ("page,field", "unit,field", "facts.csv:1: the column 'unit' appears twice"),
        ("document,page", "document,comment", "facts.csv:1: there is no column 'page'"),
        ("180,m3/h", "180,m3/h,x", "facts.csv:4: 6 cells under a header of 5 columns"),
        ("90,m3/h", "90 ms,", "facts.csv:23:20: '90 ms' is not one number in a unit that can be converted"),
        ("2020-02-02", "2020-02", "facts.csv:24:21: 'survey date' of f.pdf is 2020-02, and"),
        ("a.pdf,1,station,Alder,\n", "", "a.pdf has no 'station', which every document needs"),
        (
            "a.pdf,1,district,North",
            "a.pdf,1,station,Elm",
            "facts.csv:2:17: a.pdf has more than one 'station'",
        ),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in FACTS
    with pytest.raises(DataError) as error:
        table(tmp_path, FACTS.replace(old, new, 1))
    assert said in str(error.value)


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(QuestionsError) as error:
        facts(tmp_path, FACTS.replace(",1,", ",x,"))
    assert len(error.value.complaints) == 21
    with pytest.raises(UsageError, match="--about statoin: the table has no such field"):
        Table(facts(tmp_path), about="statoin")
    with pytest.raises(UsageError, match="--dated district: its values are not dates"):
        Table(facts(tmp_path), dated="district")


@pytest.mark.parametrize(
    ("noun", "nouns"), [("station", "stations"), ("company", "companies"), ("bus", "buses"), ("bay", "bays")]
)
def test_what_questions_are_about_has_a_plural(tmp_path: Path, noun: str, nouns: str) -> None:
    found = Table(facts(tmp_path, FACTS.replace(",station,", f",{noun},")), about=noun)
    assert next(iter(by_statement(found, "count").values())).text.startswith(f"For how many {nouns} is ")


@pytest.mark.slow
def test_a_large_table_takes_little_longer_for_each_row() -> None:
    def seconds(documents: int) -> float:
        rows = [
            Fact(f"{at}.pdf", 1, field, value)
            for at in range(documents)
            for field, value in (("maker", f"m{at // 2}"), ("city", f"c{at // 2}"), ("flow", f"{at} m3/h"))
        ]
        start = time.process_time()
        choose(Table(Facts("facts.csv", "", tuple(rows))))
        return time.process_time() - start

    seconds(20)
    assert seconds(4000) < 40 * max(seconds(500), 0.01)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("5 m", "500 cm", True),
        ("5 m", "5 ms", False),
        ("5", "5 s", False),
        ("20 °C", "68 °F", True),
        ("0.5 h", "30 min", True),
        ("5 m", "5 kg", False),
    ],
)
def test_amounts_are_compared_in_one_unit(one: str, other: str, same: bool) -> None:
    field, keys, wrong = read_field("x", [(one, ""), (other, "")])
    assert (field.kind == "amount" and not wrong and keys[0] == keys[1]) == same
    assert not read_field("x", [("1", "berth"), ("5", "berths")]).wrong
