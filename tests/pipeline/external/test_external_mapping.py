"""The default mapping reads the shape of an answer as it is, and pages are counted as one is told."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathoms.errors import ModelError
from fathoms.pipeline.external.answer import Answer
from fathoms.pipeline.external.mapping import Response
from fathoms.pipeline.external.request import filled, parts_of
from fathoms.types import Question

texts = st.text(max_size=8)
pages = st.integers(1, 99)


def some(**parts: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=parts)


contexts = st.lists(
    texts
    | st.builds(
        lambda text, more: {"text": text, **more},
        texts,
        some(document=texts, page=pages, pages=st.lists(pages), score=st.floats(allow_nan=False, width=16)),
    ),
    max_size=4,
).filter(
    lambda rows: all(abs(row["score"]) < 1e4 for row in rows if isinstance(row, dict) and "score" in row)
)
citations = st.lists(
    texts | st.builds(lambda name, more: {"document": name, **more}, texts, some(page=pages, quote=texts)),
    max_size=4,
)
answers = st.builds(
    lambda text, more: {"answer": text, **more},
    texts,
    some(
        contexts=contexts,
        citations=citations,
        usage=some(prompt_tokens=st.integers(0, 99), completion_tokens=st.integers(0, 99)),
        model=texts,
        reasoning=texts,
        cost=st.floats(0, 9),
    ),
)


def read(data: Any, **options: Any) -> Answer:
    mapping = Response()
    return mapping.to_answer(mapping.parts(data, **options), data)


@given(answers)
def test_the_default_mapping_reads_an_answer_as_it_is(data: dict[str, Any]) -> None:
    expected = Answer.model_validate(data)
    if data.get("usage") == {}:
        expected = expected.model_copy(update={"usage": None})  # nothing was counted
    assert read(data) == expected


@given(contexts)
def test_hits_keep_the_order(rows: list[Any]) -> None:
    hits = Answer.model_validate({"answer": "", "contexts": rows}).hits("q")
    assert hits is not None
    assert [hit.rank for hit in hits] == list(range(1, len(rows) + 1))
    assert len({hit.chunk.id for hit in hits}) == len(rows)


@given(texts, st.lists(texts, max_size=3))
def test_placeholders_inside_inserted_values_are_not_filled(text: str, files: list[str]) -> None:
    files = [unicodedata.normalize("NFC", name) for name in files]  # as a question holds them
    question = Question(id="{question}", text=text + "{files}${HOME}", category="c", files=tuple(files))
    sent = filled({"q": "{question}", "i": "{id}", "f": "{files}"}, parts_of(question, None))
    assert sent == {"q": question.text, "i": "{question}", "f": files}


@pytest.mark.parametrize(("page", "known"), [(0, 1), (7, 8), ("7", 8), (3.0, 4), ("3.0", 4)])
def test_pages_that_count_from_0(page: Any, known: int) -> None:
    data = {
        "answer": "",
        "contexts": [{"text": "", "page": page, "pages": [page]}],
        "citations": [{"document": "a", "page": page}],
    }
    answer = read(data, first_page=0)
    assert answer.contexts is not None
    assert answer.citations is not None
    assert (answer.contexts[0].page, answer.contexts[0].pages) == (known, (known,))
    assert answer.citations[0].page == known


@pytest.mark.parametrize("page", ["iv", 1.5, [1]])
def test_what_is_no_page_is_refused(page: Any) -> None:
    with pytest.raises(ModelError, match=r"contexts\.0\.page: "):
        read({"answer": "", "contexts": [{"text": "", "page": page}]}, first_page=0)


def test_empty_texts_tell_nothing() -> None:
    data = {"answer": "x", "refusal": "", "stop_reason": " ", "model": "", "reasoning": ""}
    for answer in (read(data), Answer.model_validate(data)):
        assert (answer.refusal, answer.stop_reason, answer.model, answer.reasoning) == (None,) * 4
    with pytest.raises(ModelError, match="no answer at"):
        read({"refusal": ""})
