"""What retrievers leave to the retriever that they wrap."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fathoms.models import ScriptedModel
from fathoms.retrieve import BM25, Degrade, Describe, Expand, Index, Rerank, Retriever
from fathoms.retrieve.llm_reranker import LLMReranker

MODEL = ScriptedModel()
INNER = BM25(top_k=2)
WRAPPING: list[Retriever] = [
    Rerank(first=INNER, by=LLMReranker(generate=MODEL)),
    Expand(retriever=INNER, generate=MODEL),
    Describe(first=INNER, generate=MODEL),
    Degrade(retriever=INNER, recall=0.5),
]


@pytest.mark.parametrize("retriever", WRAPPING, ids=lambda retriever: retriever.kind)
def test_the_index_is_that_of_the_wrapped_retriever(
    retriever: Retriever, make: Callable[..., Index], ask: Callable
) -> None:
    index = make(["seed valve", "valve", "cable"])
    assert retriever.needs == "chunks"
    assert retriever.index_bytes(index) is None, "the index of BM25 is made for the first search"
    INNER.search(index, ask("seed?"))
    assert retriever.index_bytes(index) == INNER.index_bytes(index) != 3 * 26 * 4, "not that of the vectors"
    assert retriever.pages is None
    assert retriever.identity()[retriever.wraps] == INNER.identity()  # type: ignore[attr-defined]
