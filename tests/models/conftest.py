"""Servers that several modules of this room talk to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.llama_server import llama_server


@pytest.fixture(scope="module")
def chat_address() -> Iterator[str]:
    with llama_server(embedding=False) as address:
        yield address


@pytest.fixture(scope="module")
def embedding_address() -> Iterator[str]:
    with llama_server(embedding=True) as address:
        yield address
