"""Quotes that are searched for among those of all questions: what is found, and what an answer cites."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from fathoms.errors import ConfigError
from fathoms.metrics.quotes.selection import selected
from fathoms.metrics.registry import named
from fathoms.metrics.retrieval.batch import rank_scores
from fathoms.models import LexicalEmbedder
from fathoms.retrieve import Index, QuoteSearch
from fathoms.types import Question, Quote, Record, Reply
from tests.support.project import Project

SHARED = "The wheel of the mill is old."


def text(id: str, words: str, *, gold: bool = False, document: str = "a.pdf") -> Quote:
    return Quote(id=id, text=words, gold=gold, document=document)


def picture(id: str, words: str, *, gold: bool = False) -> Quote:
    return Quote(id=id, modality="image", description=words, gold=gold, document="a.pdf")


PUMP = Question(
    id="pump",
    text="Where does the pump stand?",
    category="c",
    files=("a.pdf",),
    quotes=(
        text("text1", "The pump does not stand still: it is by the river.", gold=True),
        text("text2", SHARED),
        picture("image1", "A drawing of the pump.", gold=True),
    ),
)
MILL = Question(
    id="mill",
    text="Is the wheel of the mill old?",
    category="c",
    quotes=(
        text("text1", "The miller bought a pump."),
        text("text7", f"{SHARED} ", gold=True),
        picture("image1", "A photograph of the pump and of a wheel."),
    ),
)
OTHER = Question(
    id="other",
    text="Where is the pump?",
    category="c",
    files=("b.pdf",),
    quotes=(
        text("text1", "The pump of the other house does stand in the cellar.", gold=True, document="b.pdf"),
    ),
)
ALL = (PUMP, MILL, OTHER)


def index(folder: Path) -> Index:
    def embed(texts: Sequence[str]) -> Any:
        return LexicalEmbedder().embed(list(texts))

    return Index((), (), None, embed, folder / "index", embed_texts=embed)


def found(folder: Path, question: Question, **options: Any) -> list[str]:
    rows = QuoteSearch(**options).search(index(folder), ALL)
    hits = rows[ALL.index(question)]
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    return [hit.chunk.id.removeprefix(f"{question.id}#") for hit in hits]


def test_the_quotes_of_the_document_are_ranked_whichever_question_has_them(tmp_path: Path) -> None:
    """Of `pump`, BM25 finds what shares `pump` or `stand`: two words, then one, the shorter text first."""
    assert found(tmp_path, PUMP) == ["text1", "image1", "from mill#text1", "from mill#image1"]
    assert found(tmp_path, PUMP, number=2) == ["text1", "image1"]
    assert found(tmp_path, OTHER) == ["text1"]
    everywhere = found(tmp_path, OTHER, within="all")
    assert everywhere[0] == "from pump#image1"
    assert set(everywhere) == {
        "text1",
        *(f"from {id}" for id in ("pump#text1", "pump#image1", "mill#text1", "mill#image1")),
    }


def test_a_quote_of_two_questions_is_one_and_has_the_name_that_the_question_gives_it(tmp_path: Path) -> None:
    assert found(tmp_path, MILL)[0] == "text7"
    assert "from pump#text2" not in found(tmp_path, MILL)


def test_texts_and_pictures_are_ranked_apart_where_their_numbers_are_given(tmp_path: Path) -> None:
    assert found(tmp_path, PUMP, number=3, pictures=1) == ["text1", "from mill#text1", "image1"]
    assert found(tmp_path, PUMP, number=2, pictures=0) == ["text1", "from mill#text1"]
    both = found(tmp_path, PUMP, number=4, pictures=2, for_pictures={"kind": "dense"})
    assert (both[:2], set(both[2:])) == (["text1", "from mill#text1"], {"image1", "from mill#image1"})
    assert len(found(tmp_path, PUMP, retriever={"kind": "hybrid"})) == 5  # all that a.pdf has


def test_recall_of_quotes_by_modality_and_what_an_answer_cites(tmp_path: Path) -> None:
    """`pump` has a gold text and a gold picture; with two texts alone it gets one of both."""
    for number, pictures, recalls in ((2, 0, (0.5, 1, 0)), (1, 1, (0.5, 0, 1)), (3, 1, (1, 1, 1))):
        row = QuoteSearch(number=number, pictures=pictures).search(index(tmp_path), ALL)[0]
        record = Record(question=PUMP, hits=row, answer=Reply(text="By it [1] [2] ![p](image1)"))
        metrics = named(["quote-recall@10", "quote-recall@10-text", "quote-recall@10-image"])
        (scores,) = rank_scores(metrics, [record])  # type: ignore[arg-type]
        assert tuple(one.value for one in scores.values()) == recalls
        chosen = selected(record)
        assert chosen.gold == {("text", "text1"), ("image", "image1")}
        assert chosen.right == 2 * recalls[0]
        if number == 2:
            assert ("text", "from mill#text1") in chosen.cited
            assert ("image", "image 1, which does not exist") in chosen.cited


def test_a_run_searches_the_quotes_of_all_questions_also_where_few_are_asked(tmp_path: Path) -> None:
    project = Project(tmp_path)
    rows = [json.loads(one.model_dump_json(exclude_defaults=True)) for one in ALL]
    for row in rows:
        row |= {"question": row.pop("text"), "reference": "There."}
    project.write("questions.json", json.dumps(rows))
    project.write(
        "search.yaml",
        "name: search\ndata: {questions: questions.json}\nretrieve: {kind: quote-search}\n"
        "metrics: [quote-recall@20]\n",
    )
    done = project.fathoms("run", "search.yaml", "--retrieval-only", "--limit", "1")
    assert done.returncode == 0, done.stderr
    (path,) = (project.path / "runs").glob("*/questions/*.json")
    found = [hit["text"] for hit in json.loads(path.read_text())["repeats"][0]["hits"]]
    assert "The miller bought a pump." in found
    curves = json.loads((path.parents[1] / "summary.json").read_text())["retrieval"]["curves"]
    assert curves["level"] == "quote"  # a gold text and a gold picture, the first and the second
    assert [point["value"] for point in curves["by_rank"][:2]] == [0.5, 1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"retriever": {"kind": "visual"}}, "retriever"),
        ({"for_pictures": {"kind": "bm25"}}, "say how many of the quotes are pictures"),
        ({"number": 5, "pictures": 6}, "6 are more than the 5 quotes"),
        (
            {
                "retriever": {
                    "kind": "rerank",
                    "by": {"kind": "llm", "generate": {"kind": "scripted", "default": "1"}},
                }
            },
            "model cannot rank",
        ),
    ],
)
def test_what_cannot_rank_quotes_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        QuoteSearch(**options)


def test_quotes_without_words_and_questions_without_a_document_are_named(tmp_path: Path) -> None:
    nowhere = Question(id="n", text="What?", category="c", quotes=(Quote(id="text1", text="This."),))
    with pytest.raises(ConfigError, match=r"of 1 questions it is not known .* \(n\): name it by 'files'"):
        QuoteSearch().search(index(tmp_path), [nowhere])
    blank = Question(id="b", text="What?", category="c", files=("a.pdf",), quotes=(text("text1", " "),))
    with pytest.raises(ConfigError, match=r"1 quotes have no words to be found by \(text1 of question b\)"):
        QuoteSearch().search(index(tmp_path), [blank])
