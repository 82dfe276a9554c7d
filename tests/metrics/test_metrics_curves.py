"""Curves of recall over ranks and over tokens, worked by hand."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest

from fathoms.metrics.question_facts import NumberedQuestions
from fathoms.metrics.retrieval.curves import Curves
from fathoms.types import Chunk, Evidence, Hit, Message, Prompt, Question, Record
from fathoms.types.run.summary import CurvePoint


def record(name: str, category: str, gold: list[int], hits: list[tuple[int, int]], tokens: int = 0) -> Record:
    """A question with gold pages of one document; each hit is a page and its number of characters."""
    found = tuple(
        Hit(
            chunk=Chunk(id=f"{rank}", document="a.pdf", pages=(page,), text="x" * length),
            score=1 / rank,
            rank=rank,
        )
        for rank, (page, length) in enumerate(hits, start=1)
    )
    evidence = tuple(Evidence(document="a.pdf", page=page) for page in gold)
    question = Question(id=name, text=name, category=category, evidence=evidence)
    prompt = Prompt(messages=(Message(role="user", text="y" * 200),), tokens=tokens) if tokens else None
    return Record(question=question, hits=found, prompt=prompt)


RECORDS = [
    # pages in order: 3, 7, 5; page 3 is gold and the first, page 5 the third different one
    record("q1", "A", [3, 5], [(3, 200), (3, 200), (7, 400), (5, 400)]),
    record("q2", "A", [1], [(2, 400), (1, 400), (4, 100), (6, 100)]),
    record("q3", "B", [9], [(8, 100), (2, 100), (4, 100)]),
]


def values(points: Iterable[CurvePoint], key: str) -> dict[float, float]:
    return {getattr(point, key): point.value for point in points}


def test_recall_by_rank_and_by_tokens() -> None:
    curves = Curves(NumberedQuestions())
    for each in RECORDS:
        curves.add(each)
    found = curves.figures()
    assert found is not None
    assert (found.level, found.estimated, found.characters_per_token) == ("page", True, 4.0)
    # A: q1 finds 1/2, 1/2, 2/2 and q2 0, 1, 1 at k = 1, 2, 3; B finds nothing; only q2 has a fourth page
    assert values(found.by_rank, "k") == {1: 0.125, 2: 0.375, 3: 0.5, 4: 0.5}
    # 4 characters a token: q1 has page 3 after 50 tokens and page 5 after 300, q2 page 1 after 200
    assert values(found.by_tokens, "tokens") == {64: 0.125, 128: 0.125, 256: 0.375, 512: 0.5}
    first = found.by_rank[0]
    assert first.n == 3
    assert first.low < first.value < first.high


def test_the_tokens_of_the_prompts_decide_where_there_are_any() -> None:
    curves = Curves(NumberedQuestions())
    curves.add(record("q1", "A", [3], [(2, 200), (3, 200)], tokens=100))  # 200 characters in 100 tokens
    found = curves.figures()
    assert found is not None
    assert (found.estimated, found.characters_per_token) == (False, 2.0)
    assert values(found.by_tokens, "tokens") == {64: 0.0, 128: 0.0, 256: 1.0}


def test_what_another_process_collected_is_added() -> None:
    here, there, alone = (
        Curves(wanted := NumberedQuestions()),
        Curves(NumberedQuestions()),
        Curves(NumberedQuestions()),
    )
    here.add(RECORDS[0])
    for each in RECORDS[1:]:
        there.add(each)
    numbers = [wanted.number(each.question) for each in RECORDS[1:]]
    here.extend(json.loads(json.dumps(there.state())), numbers)
    for each in RECORDS:
        alone.add(each)
    assert here.figures() == alone.figures()


def test_unknown_hits_and_texts_are_left_out() -> None:
    curves = Curves(NumberedQuestions())
    curves.add(RECORDS[0].model_copy(update={"hits": None}))
    assert curves.figures() is None
    image = Hit(chunk=Chunk(id="1", document="a.pdf", pages=(1,), modality="image"), score=1, rank=1)
    curves.add(RECORDS[1].model_copy(update={"hits": (image,)}))
    found = curves.figures()
    assert found is not None
    assert found.by_tokens is None
    assert values(found.by_rank, "k") == {1: pytest.approx(1.0)}
