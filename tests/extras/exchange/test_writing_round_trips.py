"""What is written for other tools comes back, and says what the format cannot hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fathoms.corpora import read_questions
from fathoms.errors import UsageError
from fathoms.extras.exchange.reading.hits import read_hits
from fathoms.extras.exchange.reading.trec import read_trec
from fathoms.extras.exchange.writing.beir import write_beir
from fathoms.extras.exchange.writing.hits import write_hits
from fathoms.extras.exchange.writing.rankings import rankings_of
from fathoms.extras.exchange.writing.trec import write_trec
from fathoms.importers import Imported, keep
from fathoms.runs.run import Run
from fathoms.types import Chunk, Document, Evidence, Failure, Hit, Page, PageBox, Question, Record, Round

QUESTIONS = (
    Question(
        id="q 1",
        text="How tall is the mast?",
        category="A",
        reference="41.5 m",
        evidence=(
            Evidence(document="papers/a log.pdf", page=2, step=1, relevance=2),
            Evidence(document="b#1.pdf", page=1, quote="41.5", bbox=(0, 0, 5, 5), relevance=1),
        ),
    ),
    Question(
        id="q2",
        text="Who?",
        category="A",
        reference="Ayers",
        evidence=(Evidence(document="b#1.pdf", page=1),),
    ),
    Question(id="q3", text="When?", category="B", reference="In 1907"),
)


def hit(rank: int, document: str, pages: tuple[int, ...], score: float, **more: Any) -> Hit:
    chunk = {"id": f"c{rank}", "whole": False, **more}
    return Hit(chunk=Chunk(document=document, pages=pages, **chunk), score=score, rank=rank)


HITS = (
    hit(1, "b#1.pdf", (1,), 0.1 + 0.2),  # 0.30000000000000004
    hit(2, "papers/a log.pdf", (1,), 0.25),
    hit(3, "papers/a log.pdf", (2,), 0.25),  # equal to the one before
    hit(4, "c%20.pdf", (7,), 1e-17),
)


@pytest.fixture
def stored_run(tmp_path: Path) -> Any:
    """A run of the records, on disk."""

    def store(*records: Record) -> Run:
        questions = tuple({record.question.id: record.question for record in records}.values())
        return keep(Imported("mine", None, records, questions), "data", tmp_path / "runs")

    return store


def test_a_run_comes_back_from_trec(stored_run: Any, tmp_path: Path) -> None:
    """Places, digits, the order of equal scores, gold evidence and texts of questions."""
    records = [
        Record(question=QUESTIONS[0], hits=HITS),
        Record(question=QUESTIONS[1], hits=HITS[::-1][:1]),
        Record(question=QUESTIONS[2], hits=()),
    ]
    records[1] = records[1].model_copy(update={"hits": (hit(1, "c%20.pdf", (7,), 5.0),)})
    run = stored_run(*records)
    found = rankings_of(run)
    paths, warnings = write_trec(found, tmp_path / "out")
    assert [path.name for path in paths] == ["run.trec", "qrels.trec", "questions.jsonl"]
    assert (warnings, len(found.warnings)) == ([], 1)  # equal scores
    lines = paths[0].read_text().splitlines()
    assert lines[0] == "q%201 Q0 b%231.pdf#page=1 1 0.30000000000000004 mine"
    assert lines[1] == "q%201 Q0 papers/a%20log.pdf#page=1 2 0.25 mine"

    back = read_trec(paths[0], paths[1], read_questions(paths[2]).questions)
    assert back.questions == QUESTIONS
    for before, after in zip(records, back.records, strict=True):
        assert [(h.chunk.document, h.chunk.pages, h.score, h.rank) for h in before.hits or ()] == [
            (h.chunk.document, h.chunk.pages, h.score, h.rank) for h in after.hits or ()
        ]
    again, _ = write_trec(rankings_of(stored_run(*back.records)), tmp_path / "again")
    assert [path.read_text() for path in paths] == [path.read_text() for path in again]
    with pytest.raises(UsageError, match="already exists"):
        write_trec(found, tmp_path / "out")


def test_pages_are_pooled_as_the_metrics_pool_them(stored_run: Any) -> None:
    hits = (
        hit(1, "a", (2, 3), 0.9),
        hit(2, "a", (2,), 0.8),
        hit(3, "b", (), 0.7),
        hit(4, "b", (), 0.6),
        hit(5, "a", (1,), 0.5),
    )
    run = stored_run(
        Record(question=QUESTIONS[1], hits=hits),
        Record(question=QUESTIONS[1], hits=hits[:1], repeat=1),
        Record(question=QUESTIONS[2], hits=None),
    )
    found = rankings_of(run)
    assert found.rankings[0].retrieved == (
        ("a#page=2", 0.9),
        ("a#page=3", 0.9),
        ("b", 0.7),
        ("b#hit=2", 0.6),
        ("a#page=1", 0.5),
    )
    assert [text.split(" ")[:4] for text in found.warnings] == [
        ["only", "repeat", "0", "is"],
        ["of", "1", "question", "it"],
        ["1", "question", "has", "scores"],
    ]
    by_document = rankings_of(run, "document", by_rank=True).rankings[0]
    assert (by_document.retrieved, by_document.relevant) == ((("a", 1.0), ("b", 0.5)), (("b%231.pdf", 1),))
    assert len(rankings_of(run, repeat=1).rankings[0].retrieved) == 2
    with pytest.raises(UsageError, match="no repeat 2"):
        rankings_of(run, repeat=2)


def test_hits_come_back_whole(stored_run: Any, tmp_path: Path) -> None:
    """hits -> run -> hits, and the records that a file of hits can hold."""
    rich = hit(
        5,
        "d.pdf",
        (1, 2),
        0.0,
        text="A “text”,\nwith lines, and half of a pair \ud83d.",
        whole=True,
        modality="image",
        boxes=(PageBox(page=2, bbox=(0, 0.5, 1, 1)),),
    )
    records = (
        Record(question=QUESTIONS[0], hits=(*HITS, rich), rounds=(Round(query="x", hits=HITS[:1], calls=3),)),
        Record(question=QUESTIONS[1], hits=()),
        Record(question=QUESTIONS[2], error=Failure(kind="Imported", message="timed out")),
    )
    write_hits(rankings_of(stored_run(*records), "document").records, tmp_path / "a.jsonl")
    imported = read_hits(tmp_path / "a.jsonl", QUESTIONS)
    assert (tuple(imported.records), imported.warnings) == (records, ())
    write_hits(rankings_of(stored_run(*imported.records), "document").records, tmp_path / "b.jsonl")
    assert (tmp_path / "a.jsonl").read_text() == (tmp_path / "b.jsonl").read_text()


def test_the_layout_of_beir(stored_run: Any, tmp_path: Path) -> None:
    """Read here as `GenericDataLoader` of BEIR 2.2 reads it, and as MTEB 2.26 loads predictions."""
    run = stored_run(Record(question=QUESTIONS[0], hits=HITS), Record(question=QUESTIONS[2], hits=()))
    pages = (Page(number=1, text="One."), Page(number=2, text="Two."))
    parsed = {"papers/a log.pdf": Document(id="papers/a log.pdf", path=Path("a"), sha256="", pages=pages)}
    paths = write_beir(rankings_of(run), parsed, tmp_path / "out")
    corpus = {row["_id"]: row for row in map(json.loads, paths[0].read_text().splitlines())}
    assert corpus["papers/a%20log.pdf#page=2"] == {
        "_id": "papers/a%20log.pdf#page=2",
        "title": "papers/a log.pdf",
        "text": "Two.",
    }
    assert corpus["b%231.pdf#page=1"]["text"] == ""
    assert len(corpus) == 4
    queries = {row["_id"]: row["text"] for row in map(json.loads, paths[1].read_text().splitlines())}
    assert queries == {"q%201": "How tall is the mast?", "q3": "When?"}
    assert paths[2].relative_to(tmp_path).as_posix() == "out/qrels/test.tsv"
    assert paths[2].read_text().splitlines() == [
        "query-id\tcorpus-id\tscore",
        "q%201\tb%231.pdf#page=1\t1",
        "q%201\tpapers/a%20log.pdf#page=2\t2",
    ]
    results = json.loads(paths[3].read_text())
    assert list(results["q%201"].values()) == [hit.score for hit in HITS]
    assert results["q3"] == {}
    assert json.loads(paths[4].read_text())["default"]["test"] == results
