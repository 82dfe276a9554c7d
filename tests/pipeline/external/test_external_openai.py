"""The preset for OpenAI's chat against a real server of it: llama.cpp's."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fathoms.pipeline.external import Http
from fathoms.runs.cache import Cache
from fathoms.types import Question, Record
from tests.support.llama_server import KEY, MODEL, llama_server

pytestmark = pytest.mark.slow

QUESTION = Question(id="t-1", text="Say: one two three.", category="Text")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with llama_server(embedding=False) as address:
        yield f"{address}/chat/completions"


def ask(url: str, folder: Path, text: str = QUESTION.text, **options: Any) -> Record:
    pipeline = Http(
        url=url,
        preset="openai-chat",
        model=MODEL,
        headers={"Authorization": "Bearer ${LLAMA_KEY}"},
        request={"temperature": 0, "max_tokens": 16, "cache_prompt": False},
        **options,
    )
    pipeline.check()
    connected = pipeline.prepare({}, Cache(folder))
    return asyncio.run(connected.answer(QUESTION.model_copy(update={"text": text}), (), timeout=120))


def test_whole_and_streamed_are_the_same(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLAMA_KEY", KEY)
    whole, streamed = (ask(server, tmp_path, stream=stream) for stream in (False, True))
    assert whole.error is None
    assert whole.answer is not None
    assert streamed.answer is not None
    assert whole.answer.text
    assert streamed.answer.text == whole.answer.text
    assert streamed.answer.stop_reason == whole.answer.stop_reason == "stop"
    assert streamed.answer.model == whole.answer.model == MODEL
    assert streamed.answer.usage == whole.answer.usage
    assert (whole.answer.usage.prompt_tokens or 0) > (whole.answer.usage.completion_tokens or 0) > 0
    assert whole.answer.first_token is None
    assert 0 < (streamed.answer.first_token or 0) < (streamed.answer.latency or 0)


@pytest.mark.parametrize("stream", [False, True])
def test_what_the_server_refuses(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    monkeypatch.setenv("LLAMA_KEY", "another-key")
    refused = ask(server, tmp_path, stream=stream)
    assert refused.error is not None
    assert (refused.error.status, refused.error.kind) == (401, "ModelError")
    monkeypatch.setenv("LLAMA_KEY", KEY)
    long = ask(server, tmp_path, "word " * 2000, stream=stream)
    assert long.error is not None
    assert long.error.status == 400
    assert "status 400" in long.error.message
