"""Gold quotes keep their places among what is most like the question; nothing on a gold page distracts."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from fathoms.corpora import read_questions
from fathoms.errors import UsageError
from fathoms.extras.questions.candidates import (
    Sizes,
    candidates,
    deepened,
    from_search,
    with_candidates,
    with_copied_pictures,
)
from fathoms.metrics.quotes.groups import places_of
from fathoms.metrics.quotes.selection import selected
from fathoms.retrieve import BM25, Dense, Hybrid, Index, Oracle, QuoteSearch, Rerank, WholeDocument
from fathoms.types import Chunk, Document, Evidence, Hit, Page, PageBox, Question, Quote, Record, Reply
from tests.pipeline.test_cut_outs_searched import drawn

GOLD = Quote(id="a", text="The tower is 41 m tall.", document="a.pdf", page=1, gold=True)
OTHERS = [Quote(id=str(n), text=f"Other {n}.", document="b.pdf", page=n) for n in range(1, 40)]
PICTURES = [Quote(id=f"p{n}", modality="image", description=f"Picture {n}.") for n in range(1, 20)]
QUESTION = Question(id="q", text="How tall?", category="c", quotes=(GOLD,))


def hit(rank: int, name: str, page: int, text: str, *, box: bool = False, picture: bool = False) -> Hit:
    boxes = (PageBox(page=page, bbox=(10, 10, 20, 20)),) if box else ()
    modality = "image" if picture else "text"
    chunk = Chunk(id=f"{name}{rank}", document=name, pages=(page,), text=text, boxes=boxes, modality=modality)
    return Hit(chunk=chunk, score=1 / rank, rank=rank)


def test_gold_and_the_most_alike_at_places_drawn_by_the_seed() -> None:
    similar = [GOLD.model_copy(update={"gold": False}), *PICTURES, *OTHERS]
    quotes = with_candidates(QUESTION, similar, Sizes(12, 8), seed=3).quotes
    assert [quote.id for quote in quotes] == [f"text{n}" for n in range(1, 13)] + [
        f"image{n}" for n in range(1, 9)
    ]
    assert sorted(quote.text for quote in quotes[:12]) == sorted(
        [GOLD.text, *(one.text for one in OTHERS[:11])]
    )
    assert {quote.description for quote in quotes[12:]} == {one.description for one in PICTURES[:8]}
    assert [quote.text for quote in quotes if quote.gold] == [GOLD.text]
    assert with_candidates(QUESTION, similar, Sizes(12, 8), seed=3).quotes == quotes
    places = [
        next(
            quote.id for quote in with_candidates(QUESTION, similar, Sizes(12, 8), seed).quotes if quote.gold
        )
        for seed in range(600)
    ]
    assert all(25 <= places.count(f"text{n}") <= 80 for n in range(1, 13))  # 600 / 12 is 50


def test_more_gold_than_places_is_kept_whole() -> None:
    golds = tuple(GOLD.model_copy(update={"id": str(n), "text": f"Gold {n}."}) for n in range(4))
    some_candidates = with_candidates(QUESTION.model_copy(update={"quotes": golds}), OTHERS, Sizes(3, 0))
    assert len(some_candidates.quotes) == 4
    assert all(quote.gold for quote in some_candidates.quotes)


def test_gold_is_found_by_words_by_box_or_else_by_likeness() -> None:
    found = [
        hit(1, "a.pdf", 1, "Words of a gold page that are not gold."),
        hit(2, "b.pdf", 1, "A distractor."),
        hit(3, "a.pdf", 1, "The tower is\n41 m tall."),
        hit(4, "a.pdf", 2, "| m | 41 |", box=True, picture=True),
        hit(5, "a.pdf", 3, "A guess."),
        hit(6, "a.pdf", 3, "| a | table |", picture=True),
    ]
    evidence = (
        Evidence(document="a.pdf", page=1, quote="the tower is 41 m"),
        Evidence(document="a.pdf", page=2, bbox=(15, 15, 30, 30)),
        Evidence(document="a.pdf", page=3, modality="table"),
        Evidence(document="a.pdf", page=9),
    )
    sought = QUESTION.model_copy(update={"quotes": (), "evidence": evidence})
    result = from_search(sought, found, {})
    assert [quote.id for quote in result.gold] == ["a.pdf3", "a.pdf4", "a.pdf6"]
    assert [quote.id for quote in result.others] == ["b.pdf2"]
    assert (result.guessed, result.without) == (1, evidence[3:])


def test_a_quote_without_a_page_is_found_in_its_document() -> None:
    page = Page(number=1, text="Before. The tower is 41 m tall.")
    document = Document(id="a.pdf", path=Path("a.pdf"), sha256="0" * 64, pages=(page,))
    sought = QUESTION.model_copy(
        update={"quotes": (), "evidence": (Evidence(document="a.pdf", quote="tower is 41 m"),)}
    )
    found = [hit(1, "b.pdf", 1, "A distractor."), hit(2, "a.pdf", 1, "The tower is 41 m tall.")]
    result = from_search(sought, found, {"a.pdf": document})
    assert [quote.id for quote in result.gold] == ["a.pdf2"]
    assert [quote.id for quote in result.others] == ["b.pdf1"]
    assert result.without == ()


def test_the_best_of_equal_quotes_keeps_its_place() -> None:
    best, second = (Quote(id=name, text=name, document="c.pdf", page=at) for at, name in enumerate("bs", 1))
    some_candidates = with_candidates(
        QUESTION, [best, second, best.model_copy(update={"id": "again"})], Sizes(2, 0)
    )
    assert {
        quote.text for quote in some_candidates.quotes if not quote.gold and quote.modality == "text"
    } == {"b"}


def test_the_sizes_of_mmdocrag() -> None:
    assert (Sizes.of(15), Sizes.of(20)) == (Sizes(10, 5), Sizes(12, 8))
    assert (Sizes.of(10), Sizes.of(10, 0)) == (Sizes(6, 4), Sizes(10, 0))


@pytest.mark.slow
def test_the_command_writes_questions_that_a_run_can_ask(tmp_path: Path) -> None:
    project = drawn(tmp_path)
    project.write(
        "own.yaml",
        "name: own\n"
        "data: {questions: questions.json, documents: pdfs}\n"
        "ingest: {kind: python, target: layout}\n"
        "pictures: {}\n"
        "retrieve: {kind: bm25, query: '{question} words crowns tower'}\n",
    )
    done = project.fathoms("questions", "candidates", "own.yaml", "quotes.json", "-n", "4", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "questions": 1,
        "seed": 0,
        "quotes": 2,  # one text of the other document, and the table
        "gold": 1,
        "pictures": 1,
        "guessed": 0,
        "short": 1,
        "wordless": 0,
        "pages_without_gold": 0,
        "without_gold": [],
    }
    (question,) = read_questions(tmp_path / "quotes.json").questions
    assert question.metadata == {"candidates": 4, "candidates_seed": 0}
    (table,) = (quote for quote in question.quotes if quote.gold)
    assert (table.text, table.document, table.page) == ("| ore | 17 crowns |", "varn.pdf", 1)
    assert table.image is not None
    assert (tmp_path / table.image).is_file()
    project.write(
        "ask.yaml",
        "name: ask\n"
        "data: {questions: quotes.json, documents: pdfs}\n"
        "retrieve: {kind: quotes, mode: multimodal}\n"
        "prompt: {template: quotes}\n"
        "generate: {kind: scripted, default: '17 crowns ![ore](image1)'}\n"
        "metrics: [mmdocrag.overall-f1]\n",
    )
    process = project.fathoms("run", "ask.yaml")
    assert process.returncode == 0, process.stderr
    (run,) = project.runs()
    figures = json.loads((run / "summary.json").read_text())["metrics"]
    assert figures["mmdocrag.overall-f1"]["overall"]["value"] == 1.0
    again = project.fathoms("questions", "candidates", "own.yaml", "quotes.json")
    assert "already exists" in again.stderr


def test_a_question_with_gold_quotes_gets_nothing_else_of_their_pages(tmp_path: Path) -> None:
    index = Index(
        (),
        [hit(n, name, page, text).chunk for n, (name, page, text) in enumerate(PASSAGES, 1)],
        None,
        lambda texts: None,
        tmp_path / "index",
    )
    question = QUESTION.model_copy(update={"text": "How tall is the tower?"})
    ready = SimpleNamespace(retriever=BM25(), index=index)
    (result,) = candidates(ready.index, ready.retriever, [question], Sizes(4, 0))  # type: ignore[arg-type]
    assert {quote.text for quote in result.question.quotes} == {GOLD.text, "A tall tower elsewhere."}


def test_candidates_among_the_quotes_of_a_set_whose_pictures_are_not_there(tmp_path: Path) -> None:
    """Of another question, what stands on a gold page may hold the answer; own distractors there do not."""

    def quote(id: str, words: str, page: int, *, gold: bool = False) -> Quote:
        return Quote(id=id, text=words, document="a.pdf", page=page, gold=gold)

    own = (quote("text1", "The tower is tall.", 1, gold=True), quote("text2", "A tower of cards.", 1))
    drawing = Quote(id="image1", modality="image", description="A tower.", image=Path("no.png"), page=3)
    others = (
        quote("text1", "The tower fell.", 1, gold=True),
        quote("text2", "A second tower stands.", 2),
        drawing.model_copy(update={"document": "a.pdf"}),
    )
    questions = [
        Question(id=id, text="How tall is the tower?", category="c", files=("a.pdf",), quotes=quotes)
        for id, quotes in (("q", own), ("r", others))
    ]
    index = Index((), (), None, lambda texts: None, tmp_path / "index")
    result, _ = candidates(index, QuoteSearch(), questions, Sizes(30, 20))
    assert sorted((one.text or one.description, one.gold) for one in result.question.quotes) == [
        ("A second tower stands.", False),
        ("A tower of cards.", False),
        ("A tower.", False),
        ("The tower is tall.", True),
    ]
    (written,) = with_copied_pictures([result.question], tmp_path / "new.json")
    assert [one.image for one in written.quotes] == [None] * 4


@pytest.mark.parametrize(("number", "last"), [(50, (17, 34, 50)), (100, (34, 67, 100))])
def test_what_is_lost_in_the_middle_of_many_candidates_is_seen(
    tmp_path: Path, number: int, last: tuple[int, int, int]
) -> None:
    """Each of 40 questions has one gold text and, of the 160 that the set has, the most alike others. An
    answer that cites the first and the last third alone has a recall of 1 there and of 0 between."""
    questions = [
        Question(
            id=f"q{at}",
            text=f"How tall is tower {at}?",
            category="c",
            files=("a.pdf",),
            quotes=tuple(
                Quote(id=f"text{n}", text=f"Tower {at} has sign {n}.", document="a.pdf", page=at, gold=n == 1)
                for n in range(1, 5)
            ),
        )
        for at in range(1, 41)
    ]
    index = Index((), (), None, lambda texts: None, tmp_path / "index")
    result = candidates(index, QuoteSearch(), questions, Sizes(number, 0), seed=7)
    again = candidates(index, QuoteSearch(), questions, Sizes(number, 0), seed=7)
    assert result == again
    front, middle, end = last
    answer = Reply(text=" ".join(f"[{n}]" for n in range(1, end + 1) if not front < n <= middle))
    found: dict[str, list[float | None]] = {}
    for one in result:
        assert len(one.question.quotes) == number
        record = Record(question=one.question, answer=answer, hits=None)
        for part, value in places_of(selected(record)).items():
            if part.startswith("third "):
                found.setdefault(part, []).append(value)
    assert {part: set(values) for part, values in found.items()} == {
        "third front": {1},
        "third middle": {0},
        "third end": {1},
    }
    assert all(5 <= len(values) <= 22 for values in found.values())  # 40 / 3 is 13


PASSAGES = [
    ("a.pdf", 1, "The tower is tall, and 41 m at that."),
    ("b.pdf", 1, "A tall tower elsewhere."),
    ("c.pdf", 1, "Nothing of it."),
]


def test_retrievers_are_asked_for_more_and_others_are_refused() -> None:
    fused = Hybrid(of=(BM25(), Dense()))
    deep = deepened(Rerank(first=fused, by={"kind": "cross-encoder", "model": "m"}), 900)  # type: ignore[arg-type]
    assert isinstance(deep, Rerank)
    assert isinstance(deep.first, Hybrid)
    assert {deep.top_k, deep.first.top_k, *(part.top_k for part in deep.first.of)} == {900}
    for kind in (Oracle(), WholeDocument()):
        with pytest.raises(UsageError, match="ranks all chunks by itself"):
            deepened(kind, 10)
