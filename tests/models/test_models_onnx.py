"""The ONNX embedder, for real."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fathoms.errors import ConfigError, MissingWeightsError
from fathoms.models import OnnxEmbedder
from fathoms.models.weights.weights import files

TEXTS = ["A cat sat on the mat.", "", "The flux capacitor needs 1.21 GW. " * 60, "ok", "東京 🙂 \x00"]


def test_the_published_similarities(minilm: OnnxEmbedder) -> None:
    """The quickstart of Sentence Transformers prints these for all-MiniLM-L6-v2 in float32; the weights here
    are rounded to 8 bits."""
    texts = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
    vectors = minilm.embed(texts)
    published = [[1.0, 0.6660, 0.1046], [0.6660, 1.0, 0.1411], [0.1046, 0.1411, 1.0]]
    np.testing.assert_allclose(vectors @ vectors.T, published, atol=0.005)


def test_unit_vectors_in_the_order_given(minilm: OnnxEmbedder) -> None:
    vectors = minilm.embed(TEXTS)
    assert vectors.shape == (5, 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(minilm.embed(TEXTS[::-1]), vectors[::-1])


@pytest.mark.slow
def test_a_vector_depends_on_its_text_alone(minilm: OnnxEmbedder) -> None:
    together = minilm.embed(TEXTS)
    for threads in (1, 3):
        model = minilm.model_copy(update={"threads": threads})
        alone = np.vstack([model.embed([text]) for text in TEXTS])
        np.testing.assert_array_equal(alone, together)


def test_no_text_gives_no_vector(minilm: OnnxEmbedder) -> None:
    assert minilm.embed([]).shape == (0, 384)
    assert minilm.dimension == 384


def test_prefixes(minilm: OnnxEmbedder) -> None:
    model = minilm.model_copy(update={"query_prefix": "query: ", "document_prefix": "passage: "})
    np.testing.assert_array_equal(model.embed_queries(["depth"]), minilm.embed(["query: depth"]))
    np.testing.assert_array_equal(model.embed(["depth"]), minilm.embed_queries(["passage: depth"]))


@pytest.mark.slow
def test_a_text_is_cut_at_max_tokens(minilm: OnnxEmbedder) -> None:
    """Six tokens are two marks and four words."""
    short = minilm.model_copy(update={"max_tokens": 6})
    np.testing.assert_array_equal(
        short.embed(["one two three four five"]), minilm.embed(["one two three four"])
    )


def test_identity_is_of_the_weights_not_of_their_name(minilm: OnnxEmbedder) -> None:
    by_path = minilm.model_copy(update={"model": str(files("minilm-l6-v2")["model.onnx"])})
    assert by_path.identity() == minilm.identity()
    assert minilm.model_copy(update={"threads": 1}).identity() == minilm.identity()
    assert minilm.model_copy(update={"max_tokens": 128}).identity() != minilm.identity()


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tmp_path / "model.onnx"
    model.write_bytes(b"not a model")
    with pytest.raises(ConfigError, match=r"tokenizer is missing: .*tokenizer\.json"):
        OnnxEmbedder(model=str(model)).check()
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ConfigError, match=r"model\.onnx could not be loaded"):
        OnnxEmbedder(model=str(model)).embed(["text"])
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(tmp_path))
    with pytest.raises(MissingWeightsError):
        OnnxEmbedder().check()
