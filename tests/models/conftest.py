"""Servers that several modules of this room talk to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.llama_server import llama_server
from tests.support.mixed_message import Mixed, mixed_message


@pytest.fixture(scope="module")
def chat_address() -> Iterator[str]:
    with llama_server(embedding=False) as address:
        yield address


@pytest.fixture(scope="module")
def embedding_address() -> Iterator[str]:
    with llama_server(embedding=True) as address:
        yield address


@pytest.fixture(scope="session")
def mixed(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Mixed:
    """Text, image, text, image, file."""
    return mixed_message(tmp_path_factory.mktemp("mixed"), root / "data" / "sample" / "pelnorite-ceramic.pdf")
