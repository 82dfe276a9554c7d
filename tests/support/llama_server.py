"""A real server of OpenAI's API for tests: llama.cpp's, with the small model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from fathoms.models.weights.weights import is_installed, locate

KEY = "the-key-of-this-test"
MODEL = "smollm2"


@contextmanager
def llama_server(*, embedding: bool) -> Iterator[str]:
    """The address of a llama.cpp server that asks for a key, with a context of 512 tokens."""
    xllamacpp = pytest.importorskip("xllamacpp")
    if not is_installed("smollm2-135m"):
        pytest.skip("no weights: run 'fathoms models pull smollm2-135m'")
    settings = xllamacpp.CommonParams()
    settings.model.path = str(locate("smollm2-135m"))
    settings.model_alias = {MODEL}
    settings.n_ctx = 512
    settings.n_parallel = 1
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    settings.port = settings.verbosity = 0
    settings.fit_params = False
    settings.api_keys = [KEY]
    settings.embedding = embedding
    if embedding:
        settings.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    running = xllamacpp.Server(settings)
    yield f"{running.listening_address}/v1"
    del running
