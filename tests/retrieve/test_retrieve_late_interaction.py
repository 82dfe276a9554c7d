"""MaxSim and token pooling equal those of sentence-transformers, and binary vectors its packed ones.

Importing that library takes seconds, so all comparisons with it stand in this file and are marked slow.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fathoms.models.weights.hub import library
from fathoms.retrieve.max_sim import max_sim, max_sim_of_candidates
from fathoms.retrieve.multi_vectors import MultiVectors
from fathoms.retrieve.token_pooling import pool_tokens
from fathoms.retrieve.vector_formats import FORMATS, Format

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True, scope="module")
def mended() -> None:
    """Mend torchvision, which the library imports and which may not fit the installed torch."""
    library()


def rows(*lengths: int, seed: int = 0) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    result = [generator.standard_normal((length, 128), dtype=np.float32) for length in lengths]
    return [page / np.linalg.norm(page, axis=1, keepdims=True) for page in result]


@pytest.mark.parametrize("dtype", FORMATS)
def test_scores_are_those_of_the_library(tmp_path: Path, dtype: Format) -> None:
    from sentence_transformers.util import maxsim

    queries, pages = rows(7, 1, 12), rows(*range(1, 40), 700, seed=1)
    store = MultiVectors.write(tmp_path / "store", pages, dtype)
    expected = np.asarray(maxsim(queries, [store.page(number) for number in range(len(store))]))
    found = max_sim(queries, store)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    some = [39, 0, 17]
    np.testing.assert_allclose(max_sim_of_candidates(queries[2], store, some), expected[2, some], rtol=1e-5)


def test_signs_are_packed_as_by_the_library(tmp_path: Path) -> None:
    from sentence_transformers.util import quantize_embeddings

    (page,) = rows(50)
    page[0, :9] = 0
    store = MultiVectors.write(tmp_path / "store", [page], "binary")
    packed = quantize_embeddings(page, "ubinary")
    assert (store.folder / "vectors.bin").read_bytes() == packed.tobytes()
    assert np.array_equal(store.page(0), 2.0 * np.unpackbits(packed, axis=1) - 1)


@pytest.mark.parametrize("factor", [1, 1.5, 2, 3, 10, 400])
@pytest.mark.parametrize("count", [1, 2, 7, 300])
def test_pooling_is_that_of_the_library(count: int, factor: float) -> None:
    import torch
    from sentence_transformers.multi_vector_encoder.modules import HierarchicalTokenPooling

    (vectors,) = rows(count)
    (expected,) = HierarchicalTokenPooling(factor, num_protected_tokens=0).pool([torch.from_numpy(vectors)])
    found = pool_tokens(vectors, factor)
    assert found.shape == (max(int(count // factor), 1), 128)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected.numpy(), atol=1e-5)
