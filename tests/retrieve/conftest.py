"""An index of given texts, for retrievers that need no vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from string import ascii_lowercase

import numpy as np
import pytest

from fathoms.retrieve import Index
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Chunk, Question

Make = Callable[[Sequence[str]], Index]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """One chunk a text, `c0`, `c1`, ...; a text's vector says how often each letter stands in it."""

    def vectors(texts: Sequence[str]) -> np.ndarray:
        counts = [[text.lower().count(letter) for letter in ascii_lowercase] for text in texts]
        rows = np.array(counts, dtype=np.float32).reshape(-1, 26)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)

    def index(texts: Sequence[str]) -> Index:
        chunks = [
            Chunk(id=f"c{n}", document="d.pdf", pages=(n + 1,), text=text) for n, text in enumerate(texts)
        ]
        return Index((), chunks, vectors(texts), vectors, tmp_path / fingerprint(texts))

    return index


@pytest.fixture
def ask() -> Callable[..., list[Question]]:
    """Questions of the given texts."""
    return lambda *texts: [Question(id=text, text=text, category="c") for text in texts]
