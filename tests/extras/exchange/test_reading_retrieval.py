"""What retrievers found, as JSON lines and in the format of TREC."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathoms.corpora.page_ids import page_id, place_of, text_of, word
from fathoms.errors import DataError
from fathoms.extras.exchange.reading.hits import read_hits
from fathoms.extras.exchange.reading.trec import read_trec
from fathoms.types import Evidence, PageBox, Question
from tests.support.table_files import write_cells

QUESTIONS = [
    Question(
        id="q1", text="How tall?", category="A", evidence=(Evidence(document="a log.pdf", page=2, step=1),)
    ),
    Question(id="q2", text="Who?", category="A", evidence=(Evidence(document="b.pdf", quote="Ayers"),)),
    Question(id="q3", text="When?", category="A"),
]


@given(st.text(), st.lists(st.integers(1, 10**8), max_size=3).map(tuple))
def test_an_id_is_one_word_and_says_where_it_is_from(document: str, pages: tuple[int, ...]) -> None:
    identifier = page_id(document, pages)
    assert len(f"a {identifier} b".split()) == 3 or not document
    assert place_of(identifier) == (document, pages)
    assert text_of(word(document)) == document


@pytest.mark.parametrize("suffix", ["csv", "tsv", "xlsx"])
def test_hits_in_a_table_are_lists_or_places(tmp_path: Path, suffix: str) -> None:
    rows = [
        ["id", "hits", "error"],
        ["q1", "a log.pdf:12; sub/b.pdf;C:x.pdf", None],
        ["q2", json.dumps([{"document": "b.pdf", "page": 2, "score": 0.5}]), None],
        ["q3", None, "timed out"],
    ]
    first, second, third = read_hits(write_cells(tmp_path / f"hits.{suffix}", rows), QUESTIONS).records
    assert [(hit.chunk.document, hit.chunk.pages, hit.score) for hit in first.hits or ()] == [
        ("a log.pdf", (12,), 1.0),
        ("b.pdf", (), 1 / 2),  # as a question names it
        ("C:x.pdf", (), 1 / 3),
    ]
    assert [(hit.chunk.document, hit.chunk.pages, hit.score) for hit in second.hits or ()] == [
        ("b.pdf", (2,), 0.5)
    ]
    assert (third.hits, third.error and third.error.message) == ((), "timed out")


def test_ids_by_hand_and_of_other_tools() -> None:
    assert page_id("papers/a log.pdf", (3, 4)) == "papers/a%20log.pdf#page=3,4"
    assert page_id("100%#page=2") == "100%25%23page=2"
    assert place_of("MSMARCO%41_7#x") == ("MSMARCO%41_7#x", ())


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def _write(name: str, *lines: Any) -> Path:
        path = tmp_path / name
        path.write_text("".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in lines))
        return path

    return _write


def test_hits_keep_all_that_a_row_says(write: Any) -> None:
    path = write(
        "hits.jsonl",
        {
            "id": "q1",
            "hits": [
                {"document": "b.pdf", "page": 3, "score": 0.25, "rank": 2, "bbox": [0, 0, 10, 5.5]},
                {
                    "document": "papers/a log.pdf",
                    "pages": [2, 3],
                    "score": 0.25,
                    "rank": 1,
                    "text": "Tall.",
                    "boxes": [{"page": 2, "bbox": [1, 1, 2, 2]}],
                    "modality": "image",
                    "chunk": "c7",
                },
            ],
            "rounds": [{"query": "tall mast", "hits": [{"document": "b.pdf", "page": 1}], "calls": 2}],
        },
        {"question": "Who?", "hits": []},
        {"id": "q3", "hits": None, "error": "timed out"},
    )
    imported = read_hits(path, QUESTIONS)
    first, second, third = imported.records
    assert first.only_searched
    assert first.hits is not None
    one, two = first.hits
    assert (one.rank, one.score, one.chunk.id, one.chunk.document) == (1, 0.25, "c7", "a log.pdf")
    assert (one.chunk.pages, one.chunk.modality, one.chunk.text, one.chunk.whole) == (
        (2, 3),
        "image",
        "Tall.",
        True,
    )
    assert one.chunk.boxes == (PageBox(page=2, bbox=(1, 1, 2, 2)),)
    assert (two.rank, two.chunk.id, two.chunk.boxes) == (
        2,
        "q1:2",
        (PageBox(page=3, bbox=(0, 0, 10, 5.5)),),
    )
    assert not two.chunk.whole  # so that the funnel does not take an unknown text for an empty one
    assert [(r.query, r.calls, r.hits[0].chunk.id) for r in first.rounds] == [("tall mast", 2, "q1:1:1")]
    assert (second.hits, second.only_searched) == ((), True)
    assert (third.hits, third.error and third.error.message) == ((), "timed out")


@pytest.mark.parametrize(
    ("hit", "complaint"),
    [
        ({"page": 1}, "hits.0.document: Field required"),
        ({"document": "a", "page": 0}, "hits.0.page"),
        ({"document": "a", "score": "0.5"}, "expected a number"),
        ({"document": "a", "bbox": [0, 0, 1, 1]}, "needs the 'page'"),
        ({"document": "a", "boxes": [[0, 0, 1, 1]]}, "hits.0.boxes.0.page"),
        ({"document": "a", "modality": "table"}, "hits.0.modality"),
    ],
)
def test_rows_of_hits_that_are_wrong(write: Any, hit: Any, complaint: str) -> None:
    path = write("hits.jsonl", {"id": "q2", "hits": []}, {"id": "q1", "hits": [hit]})
    with pytest.raises(DataError, match=complaint) as caught:
        read_hits(path, QUESTIONS)
    assert str(caught.value).startswith(f"{path}:2: ")


def test_ranks_are_given_for_all_hits_or_none(write: Any) -> None:
    hits = [{"document": "a", "rank": 1}, {"document": "b"}]
    with pytest.raises(DataError, match="a 'rank' of its own"):
        read_hits(write("hits.jsonl", {"id": "q1", "hits": hits}), QUESTIONS)


def test_a_run_of_trec_with_its_judgments(write: Any) -> None:
    run = write(
        "bm25.run",
        "q1 Q0 b.pdf#page=1 2 0.1234567890123456789 bm25",
        "q1 Q0 a%20log.pdf#page=2,3 1 0.5 bm25",
        "q2 Q0 b.pdf 0 7 bm25",
        "q2 Q0 a%20log.pdf 0 9 bm25",
        "q2 Q0 c.pdf 0 7 bm25",
        "q9 Q0 c.pdf 1 1 bm25",
    )
    qrels = write(
        "qrels.txt",
        "q1 0 a%20log.pdf#page=2 2",
        "q1 0 b.pdf#page=1 0",
        "q2 0 b.pdf#page=4 1",
        "q3 0 b.pdf#page=4 1",
    )
    imported = read_trec(run, qrels, QUESTIONS)
    first, second, third = imported.records
    assert [(hit.rank, hit.score, hit.chunk.document, hit.chunk.pages) for hit in first.hits or ()] == [
        (1, 0.5, "a log.pdf", (2, 3)),
        (2, 0.12345678901234568, "b.pdf", (1,)),
    ]
    # equal ranks: by score, and by line where the scores are equal
    assert [hit.chunk.document for hit in second.hits or ()] == ["a log.pdf", "b.pdf", "c.pdf"]
    (own,) = QUESTIONS[0].evidence
    assert first.question.evidence == (own.model_copy(update={"relevance": 2}),)  # with its step
    assert second.question.evidence == (
        Evidence(document="b.pdf", quote="Ayers"),  # judgments of pages say nothing of it
        Evidence(document="b.pdf", page=4),
    )
    assert (third.hits, imported.left_out, imported.pipeline) == ((), 1, "bm25")
    assert [warning.removeprefix(str(run.parent) + "/") for warning in imported.warnings] == [
        "qrels.txt: 1 judgments have a relevance above 1: only ndcg uses it",
        "bm25.run:6: no question 'q9'",
        "bm25.run: no line for 1 question (q3): they count as questions that found nothing",
    ]


def test_lines_of_trec_that_are_wrong_are_all_named(write: Any) -> None:
    qrels = write("qrels.txt", "q1 0 a 1", "q1 0 a")
    run = write(
        "x.run", "q1 Q0 a 1 0.5", "q1 Q0 a one 1 t", "q1 Q0 a 1 nan t", "q1 Q0 b 1 1 t", "q1 Q0 b 2 1 t"
    )
    with pytest.raises(DataError) as caught:
        read_trec(run, qrels, QUESTIONS)
    assert [line.split(": ")[0] for line in str(caught.value).split("\n")] == [
        f"{run}:{n}" for n in (1, 2, 3, 5)
    ]
    with pytest.raises(DataError, match=r"qrels.txt:2: expected QUERY 0 ID RELEVANCE"):
        read_trec(write("x.run", "q1 Q0 a 1 0.5 t"), qrels)
    with pytest.raises(DataError, match=r"y\.run: the query 'q.ud800' contains the control character"):
        read_trec(write("y.run", "q%ED%A0%80 Q0 a 1 0.5 t"), write("none.qrels", ""))


def test_files_tell_questions_with_the_same_text_apart_and_hits_do_not(tmp_path: Path) -> None:
    """A search that found the document of the other question has missed, and is not taken for the other."""
    questions = [
        Question(id=name, text="How tall is it?", category="A", files=(f"{name}.pdf",), reference="?")
        for name in ("a", "b")
    ]
    rows = [
        {"question": "How tall is it?", "files": file, "hits": [{"document": "b.pdf"}]}
        for file in ("a.pdf", ["docs/b.pdf"], [])
    ]
    (tmp_path / "hits.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = read_hits(tmp_path / "hits.jsonl", questions)
    assert [record.question.id for record in found.records] == ["a", "b"]
    assert found.warnings[0].endswith(
        ":3: several questions have this text: name one by 'id' (a, b), or its documents by 'files'"
    )
