"""Contexts with and without gold: which chunks are distractors, and where the gold stands among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import TypeAdapter, ValidationError

from fathoms.errors import ConfigError
from fathoms.models import ScriptedModel
from fathoms.pipeline.pipeline import Pipeline
from fathoms.pipeline.prompt import PromptBuilder
from fathoms.retrieve import BM25, AnyRetriever, Distractors, Hybrid, Index, Rerank, Visual
from fathoms.retrieve.distractors import Mode
from fathoms.retrieve.llm_reranker import LLMReranker
from fathoms.retrieve.without_gold import without_gold
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Chunk, Document, Evidence, GoldNumber, Page, Question
from tests.retrieve.test_retrieve_visual import MANY
from tests.retrieve.test_retrieve_visual import index as pictured

# The word of the question stands on a page as often as its number says, so that BM25 ranks the pages 6 to 1.
# Pages 6 and 4 are gold, and page 3 says the answer although it is not labelled.
PAGES = {number: " ".join(["valve"] * number) for number in range(1, 7)}
PAGES[3] += " It was May, 1998."
ASKED = Question(
    id="valve",
    text="When was the valve made?",
    category="c",
    answers=(("May 1998",), ("the fifth month",)),
    evidence=(Evidence(document="a.pdf", page=6), Evidence(document="a.pdf", page=4)),
)
BY = BM25(b=0, top_k=1)


def index(folder: Path, pages: dict[int, str] = PAGES) -> Index:
    document = Document(
        id="a.pdf",
        path=Path(),
        sha256="",
        pages=tuple(Page(number=number, text=text) for number, text in pages.items()),
    )
    chunks = [Chunk(id=f"p{n}", document="a.pdf", pages=(n,), text=text) for n, text in pages.items()]
    return Index([document], chunks, None, lambda texts: None, folder / fingerprint(pages))  # type: ignore[arg-type, return-value]


def found(corpus: Index, questions: Sequence[Question] = (ASKED,), **options: Any) -> list[list[int]]:
    rows = Distractors(**{"retriever": BY, **options}).search(corpus, questions)
    for row in rows:
        assert [hit.rank for hit in row] == list(range(1, len(row) + 1))
    return [[hit.chunk.pages[0] for hit in row] for row in rows]


@pytest.mark.parametrize(
    ("options", "pages"),
    [
        ({"mode": "gold-only"}, [6, 4]),
        ({"mode": "distractors-only", "distractors": 2, "position": "last"}, [5, 2]),
        ({"distractors": 2, "position": "first"}, [6, 4, 5, 2]),
        ({"distractors": 2, "position": "middle"}, [5, 6, 4, 2]),
        ({"distractors": 2, "position": "last"}, [5, 2, 6, 4]),
        ({"distractors": 3, "position": "middle", "gold": 1}, [5, 6, 2, 1]),
        ({"distractors": 3, "position": "last", "answering": True}, [5, 3, 2, 6, 4]),
        ({"distractors": 0}, None),
    ],
)
def test_what_a_question_gets(options: dict[str, Any], pages: list[int] | None, tmp_path: Path) -> None:
    [row] = found(index(tmp_path), **options)
    assert sorted(row) == [4, 6] if pages is None else row == pages


def test_the_shuffled_order_depends_on_the_seed_and_the_question_alone(tmp_path: Path) -> None:
    corpus = index(tmp_path)
    others = [ASKED.model_copy(update={"id": f"q{number}"}) for number in range(20)]
    rows = found(corpus, others, distractors=3)
    assert found(corpus, others[::-1], distractors=3) == rows[::-1]
    assert found(corpus, others, distractors=3, seed=1) != rows
    assert {tuple(sorted(row)) for row in rows} == {(1, 2, 4, 5, 6)}
    first = [row.index(6) for row in rows]
    assert set(first) == set(range(5)), "the gold stands in every place"


def test_what_was_done_is_noted(tmp_path: Path) -> None:
    corpus = index(tmp_path)
    found(corpus, distractors=4, seed=3)
    assert corpus.notes["distractors"] == {
        "mode": "gold-plus-distractors",
        "number": 4,
        "by": "bm25",
        "position": "shuffled",
        "seed": 3,
        "questions": 1,
        "fewer": 1,  # pages 5, 2 and 1 are all that there are
        "answering": 1,
    }


def test_gold_without_a_page_and_questions_without_an_answer(tmp_path: Path) -> None:
    corpus = index(tmp_path)
    quoted = ASKED.model_copy(update={"evidence": (Evidence(document="a.pdf", quote=PAGES[6]),)})
    assert found(corpus, [quoted], mode="distractors-only") == [[5, 4, 2, 1]]
    none = Question(id="no", text="valve?", category="c", answerable=False)
    assert found(corpus, [none], distractors=2, position="last") == [[6, 5]]
    assert found(corpus, [none], mode="gold-only") == [[]]
    bare = Question(id="bare", text="valve?", category="c")
    with pytest.raises(ConfigError, match=r"1 answerable question has none \(bare\)"):
        found(corpus, [bare])
    # the function is used where gold is made, and takes a document without a gold page for gold as a whole
    unplaced = bare.model_copy(update={"evidence": (Evidence(document="a.pdf"),)})
    assert without_gold(corpus, BY, [unplaced], 3)[0].hits == ()


def test_the_search_goes_deep_enough(tmp_path: Path) -> None:
    """59 of 60 chunks are gold; the one that is not comes last. Fused rankings are deep in all parts."""
    pages = {n: " ".join(["valve"] * n) for n in range(1, 61)}
    gold = tuple(Evidence(document="a.pdf", page=n) for n in range(2, 61))
    corpus, question = index(tmp_path, pages), ASKED.model_copy(update={"evidence": gold})
    for by in (BY, Hybrid(of=(BY, BM25(top_k=1)), top_k=1)):
        [one] = without_gold(corpus, by, [question], 1)
        assert [hit.chunk.id for hit in one.hits] == ["p1"]


def test_short_answers_tell_nothing_and_other_scripts_have_no_words(tmp_path: Path) -> None:
    pages = {1: "valve 12", 2: "valve 弁は五月に作られた", 3: "valve maybe"}
    corpus = index(tmp_path, pages)
    gold = Evidence(document="a.pdf", page=9)

    def left(*answers: str) -> set[str]:
        question = ASKED.model_copy(update={"answers": tuple((one,) for one in answers), "evidence": (gold,)})
        return {hit.chunk.id for hit in without_gold(corpus, BY, [question], 3)[0].hits}

    assert left("12") == left("may") == {"p1", "p2", "p3"}
    assert left("作られた") == {"p1", "p3"}


def test_numbers_are_answers_with_and_without_marks_of_thousands(tmp_path: Path) -> None:
    pages = {1: "valve of 1,234.5 m", 2: "valve of 1234.5 m", 3: "valve of 1234 m"}
    gold = (Evidence(document="a.pdf", page=9),)
    question = ASKED.model_copy(update={"answers": ((GoldNumber(number=1234.5),),), "evidence": gold})
    [found_now] = without_gold(index(tmp_path, pages), BY, [question], 3)
    assert {hit.chunk.id for hit in found_now.hits} == {"p3"}
    assert found_now.answering == 2


def test_configs(tmp_path: Path) -> None:
    config = {"kind": "distractors", "retriever": {"kind": "bm25"}, "distractors": 7}
    retriever = TypeAdapter(AnyRetriever).validate_python(config)
    assert isinstance(retriever, Distractors)
    assert (retriever.needs, retriever.pages) == ("chunks", None)
    assert retriever.identity() != retriever.model_copy(update={"seed": 1}).identity()
    assert retriever.identity() != retriever.model_copy(update={"retriever": BM25(b=0)}).identity()
    graded = Rerank(first=BM25(), by=LLMReranker(generate=ScriptedModel()))
    with pytest.raises(ValidationError, match="a language model cannot choose distractors"):
        Distractors(retriever=graded)


def test_distractors_by_pictures_of_pages(tmp_path: Path) -> None:
    """The pictures rank the pages 3, 2, 1 for the question; page 2 is gold, and shown as a page."""
    visual = Visual(embed=MANY, top_k=1)
    document = Document(
        id="a.pdf",
        path=Path(),
        sha256="",
        pages=tuple(Page(number=number, text=f"page {number}") for number in (1, 2, 3)),
    )
    corpus = replace(pictured(tmp_path, visual), documents=[document])
    question = Question(
        id="q", text="first", category="c", evidence=(Evidence(document="a.pdf", page=2),), answers=(("x",),)
    )
    options = {"retriever": visual, "distractors": 2}
    assert found(corpus, [question], mode="gold-only", **options) == [[2]]
    assert found(corpus, [question], mode="distractors-only", **options) == [[3, 1]]
    assert found(corpus, [question], position="last", **options) == [[3, 1, 2]]
    hybrid = Hybrid(of=(visual, BM25()), top_k=1)
    assert Distractors(retriever=hybrid).pages == visual.pages
    assert found(corpus, [question], mode="gold-only", retriever=hybrid) == [[2]]


def test_a_prompt_that_sorts_by_page_is_refused() -> None:
    def pipeline(**retrieve: Any) -> Pipeline:
        return Pipeline(
            retrieve=Distractors(retriever=BM25(), **retrieve),
            prompt=PromptBuilder(order="page"),
            generate=ScriptedModel(),
        )

    with pytest.raises(ConfigError, match=r"set prompt\.order: rank"):
        pipeline(gold=1).check()
    assert [Distractors(mode=mode, gold=2).top_k for mode in get_args(Mode)] == [2, 6, 4]
    assert Distractors().top_k is None
