"""Questions written in one format read back as they were in every other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathoms.corpora import find_places, read_questions, write_questions
from fathoms.corpora.csv_table import dump_csv
from fathoms.corpora.questions import read_text
from fathoms.corpora.writing import DUMPERS
from fathoms.errors import DataError, UsageError
from fathoms.types import Evidence, Nugget, Question, Quote

pytestmark = pytest.mark.slow  # many examples of every format

TEXT = st.text(
    st.one_of(st.sampled_from(" |&[]\",'\n\r\t;#=\\éµ∅😀"), st.characters(exclude_categories=["Cs"])),
    min_size=1,
    max_size=12,
).filter(str.strip)
ID = st.text(
    st.one_of(st.sampled_from(" |&[]\",';#=\\éµ∅😀"), st.characters(exclude_categories=["Cs", "Cc"])),
    min_size=1,
    max_size=12,
).filter(str.strip)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
NAME = st.sampled_from(["a.pdf", "b | c.pdf", "d & e.pdf", "[f].pdf", 'g "h".pdf', "i, j.pdf"])


@st.composite
def questions(draw: st.DrawFn) -> tuple[Question, ...]:
    result = []
    for number in range(draw(st.integers(1, 4))):
        answerable = draw(st.booleans())
        reference = draw(st.none() | TEXT)
        files = draw(st.lists(NAME, unique=True, max_size=3))
        places = st.builds(
            Evidence,
            document=st.sampled_from(files) if files else NAME,
            page=st.integers(1, 10**6),
            quote=st.none() | TEXT,
            bbox=st.none() | st.tuples(*[st.floats(allow_nan=False, allow_infinity=False)] * 4),
            step=st.none() | st.integers(1, 1),
        )
        quote = st.builds(
            Quote,
            modality=st.sampled_from(["text", "image"]),
            text=TEXT,
            description=st.just("") | TEXT,
            image=st.none() | st.sampled_from([Path("images/1.png"), Path("a | b.png")]),
            document=st.none() | NAME,
            page=st.none() | st.integers(1, 10**6),
            gold=st.booleans(),
            id=st.just(""),
        )
        quotes = [
            one.model_copy(update={"id": f"{n}"}) for n, one in enumerate(draw(st.lists(quote, max_size=2)))
        ]
        nugget = st.builds(Nugget, question=st.just("Who?"), answers=st.lists(TEXT, max_size=2).map(tuple))
        scalar = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT | FINITE
        variants = st.lists(TEXT, min_size=1, max_size=3).map(tuple)
        result.append(
            Question(
                id=f"{draw(ID)}{number}",
                text=draw(TEXT),
                category=draw(st.sampled_from(["A", " b,c ", "[d]"])),
                files=tuple(files),
                answers=tuple(
                    draw(st.lists(variants, min_size=int(answerable and not reference), max_size=3))
                ),
                reference=reference,
                evidence=tuple(draw(st.lists(places, max_size=2))),
                hops=draw(st.none() | st.integers(1, 9)),
                answerable=answerable,
                short_answer=draw(st.none() | TEXT),
                long_answer=draw(st.none() | TEXT),
                reference_claims=tuple(draw(st.lists(TEXT, max_size=3))),
                nuggets=tuple(draw(st.lists(nugget, max_size=1))),
                quotes=tuple(quotes),
                metadata=draw(st.dictionaries(ID, scalar, max_size=3)),
            )
        )
    return tuple(result)


@pytest.mark.parametrize("suffix", sorted({dump: ending for ending, dump in DUMPERS.items()}.values()))
@given(some_questions=questions())
def test_nothing_is_lost(suffix: str, some_questions: tuple[Question, ...]) -> None:
    grouped = tuple(
        sorted(some_questions, key=lambda q: [other.category for other in some_questions].index(q.category))
    )
    read = read_text(DUMPERS[suffix](some_questions), Path(f"q{suffix}"))
    assert read == (grouped if suffix == ".json" else some_questions)


def test_csv_is_written_for_people() -> None:
    some_questions = [
        Question(
            id="q-1",
            text="Who, and where?",
            category="Tables",
            files=("a.pdf", "b.pdf"),
            answers=(("Ada", "Lune"), ("both",)),
        ),
        Question(id="q-2", text="Which sign?", category="Tables", answers=(("a & b",),), hops=2),
    ]
    assert dump_csv(some_questions) == (
        "id,category,question,answers,files,hops\r\n"
        'q-1,Tables,"Who, and where?",Ada & Lune | both,a.pdf | b.pdf,\r\n'
        'q-2,Tables,Which sign?,"[[""a & b""]]",,2\r\n'
    )


def test_the_sample_goes_through_every_format(root: Path, tmp_path: Path) -> None:
    path = root / "data" / "sample" / "questions.json"
    some_questions = read_questions(path).questions
    for name in ("one.csv", "two.jsonl", "three.json"):
        write_questions(tmp_path / name, read_questions(path).questions)
        path = tmp_path / name
    assert read_questions(path).questions == some_questions


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_text("mine")
    with pytest.raises(UsageError, match="already exists"):
        write_questions(path, [Question(id="1", text="Why?", category="A", answers=(("rain",),))])
    assert path.read_text() == "mine"


def test_what_a_format_cannot_hold_is_not_written(tmp_path: Path) -> None:
    blank = Question(id="odd", text="Why?", category="A", answers=(("rain",),), reference=" ")
    with pytest.raises(DataError, match=r"'odd' cannot be written as \.csv without a loss"):
        write_questions(tmp_path / "q.csv", [blank])
    assert list(tmp_path.iterdir()) == []
    write_questions(tmp_path / "q.jsonl", [blank])
    assert read_questions(tmp_path / "q.jsonl").questions == (blank,)


def test_keys_that_say_nothing_are_named(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text('{"question": "Why?", "answers": "rain", "notes": "mine", "_row": 7, "comment": null}\n')
    assert read_questions(path).ignored == ("_row", "notes")


GROUPED = """\
{
  "Tables": [
    {"question": "Why?", "files": ["a.pdf"],
     "answers": [["rain", "snow"],
                 ["{both}"]]}
  ],
  "None": [],
  "": [{"question": "\\"[,:]\\"", "answers": "x"}]
}
"""


def test_places_in_json(tmp_path: Path) -> None:
    path = tmp_path / "q.json"
    path.write_text(GROUPED)
    # the empty category is an error of the reader: take it out for the rest
    with pytest.raises(DataError, match=r"q\.json:8"):
        read_questions(path)
    path.write_text(GROUPED.replace('"": [', '"B": ['))
    places = find_places(path, read_questions(path))
    assert places.at(0) == (3, 5)
    assert places.at(0, ("files", 0)) == (3, 36)
    assert places.at(0, ("answers", 0, 1)) == (4, 27)
    assert places.at(0, ("answers", 1, 0)) == (5, 19)
    assert places.at(0, ("evidence", 3, "page")) == (3, 5)
    assert places.at(1, ("question",)) == (8, 22)
    assert places.at(1, ("answers", 0, 0)) == (8, 45)
    assert places.categories == {"Tables": (2, 13), "None": (7, 11), "B": (8, 8)}


def test_places_in_a_list_and_in_lines(tmp_path: Path) -> None:
    row = '{"question": "Why?", "answers": ["rain"]}'
    (tmp_path / "q.json").write_text(f"[\n {row},\n {row}]")
    (tmp_path / "q.jsonl").write_bytes(f"\ufeff{row}\r\n\r\n{row}".encode())
    listed, lines = (
        find_places(path, read_questions(path)) for path in (tmp_path / "q.json", tmp_path / "q.jsonl")
    )
    assert [listed.at(number, ("answers", 0)) for number in (0, 1)] == [(2, 35), (3, 35)]
    assert [lines.at(number, ("answers", 0)) for number in (0, 1)] == [(1, 34), (3, 34)]


def test_places_in_a_table_are_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_text('question,answers\n"Why\nnow?",rain\nWhen?,noon\n')
    places = find_places(path, read_questions(path))
    assert [places.at(number, ("answers",)) for number in (0, 1)] == [(2, None), (4, None)]


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=20,
    )
)
def test_every_value_is_found_where_it_stands(value: object) -> None:
    from fathoms.corpora.places import _offsets

    text = json.dumps(value, ensure_ascii=False)
    for key, offset in _offsets(text):
        part = value
        for name in key:
            part = part[name]  # type: ignore[index]
        assert json.JSONDecoder().raw_decode(text, offset)[0] == part
