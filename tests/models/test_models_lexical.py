"""The embedder without a model, by hand-worked vectors."""

from __future__ import annotations

import math
import subprocess
import sys
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathoms.models import LexicalEmbedder

WIDE = LexicalEmbedder(dimension=1 << 16)


def test_the_features_of_one_word() -> None:
    """'no' is the word, and with marks '<no', 'no>' and '<no>': four features that count the same."""
    vector = WIDE.embed(["No!"])[0]
    expected = sorted(zlib.crc32(feature.encode()) % (1 << 16) for feature in ("no", "<no", "no>", "<no>"))
    assert np.flatnonzero(vector).tolist() == expected
    np.testing.assert_allclose(vector[expected], 0.5)


def test_a_word_without_an_end_takes_no_memory() -> None:
    tracemalloc.start()
    try:
        LexicalEmbedder().embed(["x" * 5_000_000])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100_000_000


def test_counts_go_in_by_their_logarithm() -> None:
    """'no no': the four features twice, weight 1 + ln 2, and the pair once."""
    first, second = WIDE.embed(["no", "no no"])
    twice = 1 + math.log(2)
    assert float(first @ second) == pytest.approx(4 * twice / (2 * math.sqrt(4 * twice**2 + 1)), abs=1e-6)


def test_shared_words_are_near_and_others_far() -> None:
    one, near, far = WIDE.embed(["The depth is 40 metres.", "depth: about 40 metres", "Who wrote Hamlet?"])
    assert one @ near > 0.5
    assert one @ far < 0.05


@given(st.lists(st.text(), max_size=5))
def test_every_row_is_a_unit_vector_or_nothing(texts: list[str]) -> None:
    vectors = LexicalEmbedder(dimension=64).embed(texts)
    assert vectors.shape == (len(texts), 64)
    assert vectors.dtype == np.float32
    for norm in np.linalg.norm(vectors, axis=1):
        assert norm == 0 or norm == pytest.approx(1, abs=1e-5)
    np.testing.assert_array_equal(LexicalEmbedder(dimension=64).embed_queries(texts), vectors)


def test_no_word_gives_zeros() -> None:
    assert not LexicalEmbedder().embed(["", " ?! "]).any()


@pytest.mark.slow
def test_every_process_gives_the_same() -> None:
    program = (
        "from fathoms.models import LexicalEmbedder;"
        "print(LexicalEmbedder(dimension=16).embed(['Gröӥe 12 µm']).tolist())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-X", "utf8", "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(filter(None, sys.path))},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert outputs == {f"{LexicalEmbedder(dimension=16).embed(['Gröӥe 12 µm']).tolist()}\n"}
