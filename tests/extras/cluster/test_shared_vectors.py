"""Vectors of documents in the shared cache: one value for each document, in whatever corpus it is."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from fathoms.models import LexicalEmbedder
from fathoms.models.caching import embed_cached
from fathoms.runs.cache import Cache
from fathoms.runs.sharing import VARIABLE

A, B, C = (
    ["The pump lifts water.", "It has a valve.", "See the table."],
    ["Ore is dear.", "See the table."],
    ["New."],
)


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that all machines of a test share."""
    monkeypatch.setenv(VARIABLE, f"file://{tmp_path / 'shared'}")
    return tmp_path / "shared"


def embedded(machine: Path, documents: Sequence[Sequence[str]]) -> tuple[np.ndarray, int]:
    """The vectors of the texts of documents on a machine, and how many texts were embedded for it."""
    texts, new = list(chain(*documents)), [0]
    with closing(Cache(machine)) as cache:
        vectors = embed_cached(
            LexicalEmbedder(), texts, cache, lambda done, _: new.append(done), parts=list(map(len, documents))
        )
    return vectors, max(new)


def test_documents_are_embedded_once_whatever_corpus_they_are_in(shared: Path, tmp_path: Path) -> None:
    first, result = embedded(tmp_path / "1", [A, B])
    assert result == 4, "one text is in both documents"
    assert len(list(shared.glob("vectors/*/*"))) == 2
    second, result = embedded(tmp_path / "2", [A, B])
    assert result == 0
    assert np.array_equal(first, second)
    third, result = embedded(tmp_path / "3", [C, B, [], A])
    assert result == 1
    assert np.array_equal(third[1:], np.concatenate([first[3:], first[:3]]))
    assert embedded(tmp_path / "2", [B, A])[1] == 0, "those of a machine are found by their texts"


def test_a_damaged_value_is_made_again(shared: Path, tmp_path: Path) -> None:
    first, _ = embedded(tmp_path / "1", [A, B])
    before = {path: path.read_bytes() for path in shared.glob("vectors/*/*")}
    for path, data in before.items():
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    second, result = embedded(tmp_path / "2", [A, B])
    assert result == 4
    assert np.array_equal(first, second)
    assert {path: path.read_bytes() for path in shared.glob("vectors/*/*")} == before


def test_texts_that_belong_to_no_document_are_not_shared(shared: Path, tmp_path: Path) -> None:
    with closing(Cache(tmp_path / "1")) as cache:
        embed_cached(LexicalEmbedder(), A, cache)
        embed_cached(LexicalEmbedder(), ["How high?"], cache, query=True)
    assert not list(shared.glob("vectors/*/*"))
