"""Widths against closed forms and published figures, statistics by hand, the nearest piece, the scaffold."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from fathoms.corpora import read_questions
from fathoms.errors import DataError
from fathoms.extras.questions.checking import check
from fathoms.extras.questions.parsing import ParsedPdfs
from fathoms.extras.questions.scaffold import scaffold
from fathoms.extras.questions.set_statistics import describe
from fathoms.extras.questions.similar_text import nearest
from fathoms.gate.precision import interval_width, macro_width, needed
from fathoms.stats.power import smallest_margin
from fathoms.types import Document, Evidence, Page, Question


def document(name: str, *pages: str, page_count: int | None = None) -> Document:
    items = tuple(Page(number=number, text=text) for number, text in enumerate(pages, start=1))
    return Document(id=name, path=Path(name), sha256="", pages=items, page_count=page_count)


def acceptability(hits: int, n: int, p: float) -> float:
    """Blaker (2000): the smaller tail of the count, plus the largest other tail that is no larger."""
    binom = scipy.stats.binom
    below, above = binom.cdf(hits, n, p), binom.sf(hits - 1, n, p)
    if below < above:
        return float(
            below + max((t for k in range(n + 2) if (t := binom.sf(k - 1, n, p)) <= below), default=0)
        )
    return float(above + max((t for k in range(-1, n + 1) if (t := binom.cdf(k, n, p)) <= above), default=0))


@pytest.mark.slow
def test_widths_of_few_and_many() -> None:
    # the interval holds the rates whose acceptability is above 0.05
    stored = [p for p in np.arange(0.0005, 1, 0.001) if acceptability(5, 10, p) > 0.05]
    assert interval_width(10) == pytest.approx(stored[-1] - stored[0], abs=0.002)
    assert needed(0.5) == 15
    assert interval_width(15) <= 0.5 < interval_width(14)
    # one category is its own mean; four alike halve the width, and are a little wider than that
    assert macro_width([10]) == pytest.approx(interval_width(10))
    assert interval_width(10) / 2 < macro_width([10] * 4) < 1.15 * interval_width(10) / 2


QUESTIONS = (
    Question(
        id="1",
        text="a?",
        category="A",
        files=("a.pdf",),
        answers=(("one two", "three"), ("four five six",)),
        evidence=(Evidence(document="a.pdf", page=1), Evidence(document="a.pdf", page=2)),
        hops=2,
    ),
    Question(id="2", text="b?", category="A", files=("a.pdf", "gone.pdf"), answerable=False, hops=1),
    Question(id="3", text="c?", category="B", answers=(("one",),)),
)


def test_statistics_by_hand() -> None:
    documents = {name: document(name, "x", "y", "z") for name in ("a.pdf", "b.pdf")}
    found = describe(QUESTIONS, ["a.pdf", "b.pdf", "bad.pdf"], documents)
    assert found["overall"] == {
        "questions": 3,
        "answerable": 2,
        "hops": {"1": 1, "2": 1},
        "variants": 3,
        "phrases": 4,
        "phrase_words": {"least": 1, "median": 1.5, "most": 3},
        "width": pytest.approx(macro_width([1, 1])),
        "margin": smallest_margin((1, 1), 0.025),
    }
    assert {name: row["answerable"] for name, row in found["categories"].items()} == {"A": 1, "B": 1}
    assert found["documents"] == {
        "used": {"a.pdf": 2},
        "unused": ["b.pdf", "bad.pdf"],
        "unknown": ["gone.pdf"],
        "naming_none": 1,
        "pages": {
            "a.pdf": {"evidence": 2, "all": 3},
            "b.pdf": {"evidence": 0, "all": 3},
            "bad.pdf": {"evidence": 0, "all": None},
        },
    }


def test_unanswerable_questions_have_no_width() -> None:
    found = describe([QUESTIONS[1]], [], {})
    assert found["overall"]["width"] is None
    assert found["overall"]["margin"] is None
    assert found["categories"]["A"]["width"] is None
    assert found["overall"]["phrase_words"] is None


PAGES = {
    1: "the seed was supplied by the hollin seed cooperative of marl in 2021",
    2: "strainers with a mesh of 130 micrometres were fitted",
    3: "",
}


@pytest.mark.parametrize(
    ("phrase", "page", "piece"),
    [
        ("holin seed cooperative", 1, "hollin seed cooperative"),
        ("hollin seed co operative", 1, "hollin seed cooperative"),
        ("130 micrometers", 2, "130 micrometres"),
        ("starters with a mesh", 2, "strainers with a mesh"),
        ("2012", 1, "2021"),
    ],
)
def test_the_nearest_piece(phrase: str, page: int, piece: str) -> None:
    near = nearest(phrase, {"a.pdf": PAGES})
    assert near is not None
    assert (near.document, near.page, near.text) == ("a.pdf", page, piece)


@pytest.mark.parametrize("phrase", ["", "x", "ω", "quantum chromodynamics", "999"])
def test_nothing_is_near(phrase: str) -> None:
    assert nearest(phrase, {"a.pdf": PAGES}) is None


@settings(derandomize=True)
@given(
    st.lists(st.text("abcdefghij", min_size=2, max_size=9), min_size=1, max_size=60, unique=True), st.data()
)
def test_nearest_finds_a_phrase_that_is_in_the_text(words: list[str], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(words) - 1))
    phrase = " ".join(words[first : first + 4])
    near = nearest(phrase, {"other.pdf": {1: ""}, "a.pdf": {7: " ".join(words)}})
    assert near == (1.0, "a.pdf", 7, phrase)


DOCUMENTS = (
    document("a.pdf", "\n  The Varn tower \nis tall", "more"),
    document("scan.pdf", "", page_count=3),
)


@pytest.mark.parametrize("ending", [".json", ".jsonl", ".csv"])
def test_a_scaffold_is_read_and_refused(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"q{ending}"
    path.write_text(scaffold(DOCUMENTS, ending), newline="")
    read = read_questions(path).questions
    assert [question.files for question in read] == [("a.pdf",), ("a.pdf",), ("scan.pdf",), ("scan.pdf",)]
    assert [question.answerable for question in read] == [True, False, True, False]
    assert read_questions(path).ignored == ("comment",)
    paths = {document.id: document.path for document in DOCUMENTS}
    found = check(path, paths, ParsedPdfs({document.id: document for document in DOCUMENTS}, {}))
    refused = {finding.question for finding in found.findings if finding.code == "placeholder"}
    assert refused == {question.id for question in read}


def test_a_scaffold_describes_each_document() -> None:
    rows = list(csv.DictReader(io.StringIO(scaffold(DOCUMENTS, ".csv"))))
    assert rows[0]["comment"] == (
        "a.pdf: 2 pages; begins: 'The Varn tower'; evidence: the page of the answer, 1 to 2"
    )
    assert rows[2]["comment"].startswith("scan.pdf: 3 pages; begins: with no text as parsed (a scan?)")
    assert json.loads(rows[0]["evidence"]) == [{"document": "a.pdf", "page": 1}]


def test_a_scaffold_of_nothing() -> None:
    with pytest.raises(DataError, match="there is nothing to ask about"):
        scaffold([], ".csv")
