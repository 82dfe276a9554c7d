"""Retrieval that is made worse on purpose: the recall that is reached, and what it does not depend on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

import pytest
from pydantic import TypeAdapter, ValidationError

from fathoms.errors import ConfigError
from fathoms.models import ScriptedModel
from fathoms.retrieve import BM25, AnyRetriever, Degrade, Index, Oracle, Rerank
from fathoms.retrieve.llm_reranker import LLMReranker
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Chunk, Document, Evidence, Hit, Question

WORDS = ["valve", "kestrel", "seed", "cable", "tower", "door", "paint", "mine", "ore", "crown"]
# On every page of its document the word of a question stands as often as the page's number says, so that BM25
# ranks the pages of a question 5, 4, 3, 2, 1; pages 5 and 4 are gold.
CHUNKS = [
    Chunk(id=f"{word}#{page}", document=f"{word}.pdf", pages=(page,), text=" ".join([word] * page))
    for word in WORDS
    for page in range(1, 6)
]
QUESTIONS = [
    Question(
        id=word,
        text=f"{word}?",
        category="c",
        evidence=tuple(Evidence(document=f"{word}.pdf", page=page) for page in (5, 4)),
    )
    for word in WORDS
]


@pytest.fixture
def index(tmp_path: Path) -> Callable[..., Index]:
    """Makes an index of chunks; its folder is named by them, as that of a pipeline is."""
    documents = [Document(id=f"{word}.pdf", path=Path(), sha256="", pages=()) for word in WORDS]

    def index_of(chunks: Sequence[Chunk] = CHUNKS) -> Index:
        folder = tmp_path / fingerprint([chunk.id for chunk in chunks])
        return Index(documents, chunks, None, lambda texts: None, folder)  # type: ignore[arg-type, return-value]

    return index_of


def recall(rows: Sequence[Sequence[Hit]], questions: Sequence[Question] = QUESTIONS) -> float:
    shares = []
    for question, row in zip(questions, rows, strict=True):
        gold = {(one.document, one.page) for one in question.evidence}
        found = {(hit.chunk.document, page) for hit in row for page in hit.chunk.pages}
        shares.append(len(gold & found) / len(gold))
    return fmean(shares)


def degrade(share: float, seed: int = 0, top_k: int = 3) -> Degrade:
    return Degrade(retriever=BM25(top_k=top_k, b=0), recall=share, seed=seed)


@pytest.mark.parametrize(("wanted", "reached"), [(1, 1), (0.71, 0.7), (0.5, 0.5), (0.04, 0.05), (0, 0)])
def test_the_mean_recall_is_the_stated_one(wanted: float, reached: float, index) -> None:
    """20 gold pages of 10 questions weigh .05 each, so .71 becomes .70: the nearest that there is."""
    corpus = index()
    rows = degrade(wanted).search(corpus, QUESTIONS)
    assert recall(rows) == pytest.approx(reached)
    assert corpus.notes["degraded"] == pytest.approx(
        {"wanted": wanted, "before": 1, "reached": reached, "questions": 10}
    )


def test_the_next_hits_without_gold_take_the_places(index) -> None:
    for row in degrade(0).search(index(), QUESTIONS):
        assert [(hit.rank, hit.chunk.pages) for hit in row] == [(1, (3,)), (2, (2,)), (3, (1,))]
    for row in degrade(0, top_k=5).search(index(), QUESTIONS):  # no others are left
        assert [hit.chunk.pages for hit in row] == [(3,), (2,), (1,)]


def test_neither_the_order_of_the_questions_nor_the_run_matters(index) -> None:
    rows = dict(zip(WORDS, degrade(0.5).search(index(), QUESTIONS), strict=True))
    turned = degrade(0.5).search(index(), QUESTIONS[::-1])
    assert dict(zip(WORDS[::-1], turned, strict=True)) == rows
    other = dict(zip(WORDS, degrade(0.5, seed=1).search(index(), QUESTIONS), strict=True))
    assert other != rows
    assert recall(list(other.values())) == pytest.approx(0.5)


def test_a_lower_recall_lacks_all_that_a_higher_one_lacks(index) -> None:
    def gold(share: float) -> set[str]:
        rows = degrade(share).search(index(), QUESTIONS)
        return {hit.chunk.id for row in rows for hit in row if hit.chunk.pages[0] > 3}

    assert gold(0) < gold(0.2) < gold(0.5) < gold(0.8) < gold(1)


def test_a_chunk_over_two_gold_pages_goes_as_a_whole(index) -> None:
    """One question, whose two gold pages are touched by one chunk: the recall can be 1 or 0."""
    both = [Chunk(id="x", document="valve.pdf", pages=(4, 5), text="valve valve"), *CHUNKS[:3]]
    for wanted, expected in ((0.6, 1.0), (0.4, 0.0)):
        corpus = index(both)
        rows = degrade(wanted).search(corpus, QUESTIONS[:1])
        assert recall(rows, QUESTIONS[:1]) == expected == corpus.notes["degraded"]["reached"]


def test_unanswerable_questions_keep_their_hits(index) -> None:
    without = Question(id="no", text="valve?", category="c", answerable=False)
    *_, row = degrade(0).search(index(), [*QUESTIONS, without])
    assert row == BM25(top_k=3, b=0).search(index(), [without])[0]


def test_what_is_refused(index) -> None:
    bare = [Question(id="bare", text="valve?", category="c"), *QUESTIONS]
    with pytest.raises(ConfigError, match=r"'degrade' needs gold pages, and 1 answerable question has none"):
        degrade(0.5).search(index(), bare)
    with pytest.raises(ConfigError, match=r"recall of 'bm25' over 10 questions is 0.500, and 0.6 cannot"):
        degrade(0.6, top_k=1).search(index(), QUESTIONS)
    graded = Rerank(first=BM25(), by=LLMReranker(generate=ScriptedModel()))
    with pytest.raises(ValidationError, match="a reranker that is a language model cannot be degraded"):
        Degrade(retriever=graded, recall=0.5)


def test_the_oracle_degraded_and_configs(index) -> None:
    rows = Degrade(retriever=Oracle(), recall=0.7).search(index(), QUESTIONS)
    assert recall(rows) == pytest.approx(0.7)
    config = {"kind": "degrade", "recall": 0.71, "retriever": {"kind": "bm25"}}
    retriever = TypeAdapter(AnyRetriever).validate_python(config)
    assert isinstance(retriever, Degrade)
    assert (retriever.needs, retriever.retriever.top_k, retriever.searches_all) == ("chunks", 3, True)
    assert retriever.identity() != retriever.model_copy(update={"seed": 1}).identity()
    assert retriever.identity() != retriever.model_copy(update={"retriever": BM25(top_k=4)}).identity()
