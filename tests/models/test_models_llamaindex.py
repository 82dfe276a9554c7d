"""LlamaIndex's own clients against a real server of OpenAI's API on a real socket."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from fathoms.errors import ConfigError, ModelError
from fathoms.models import LlamaIndexEmbedder, LlamaIndexLLM
from fathoms.models.chat.llamaindex_replies import to_reply
from fathoms.types import Message, Prompt, Usage
from tests.support.http_stub import serving
from tests.support.llama_server import KEY
from tests.support.mixed_message import Mixed, received

pytestmark = pytest.mark.slow  # processes, models and sockets of their own

LLM = "llama_index.llms.openai_like:OpenAILike"
EMBEDDING = "llama_index.embeddings.openai_like:OpenAILikeEmbedding"
PROMPT = Prompt(
    messages=(
        Message(role="system", text="You tell stories."),
        Message(role="user", text="A story of the sea, please."),
    )
)


@pytest.fixture
def llm(chat_address: str, monkeypatch: pytest.MonkeyPatch) -> LlamaIndexLLM:
    pytest.importorskip("llama_index.llms.openai_like")
    monkeypatch.setenv("FATHOMS_TEST_KEY", KEY)
    options = {
        "api_base": chat_address,
        "api_key": "${FATHOMS_TEST_KEY}",
        "is_chat_model": True,
        "max_tokens": 8,
        "temperature": 0,
        "max_retries": 0,
    }
    return LlamaIndexLLM(target=LLM, model="smollm2", options=options)


@pytest.fixture
def embedder(embedding_address: str, monkeypatch: pytest.MonkeyPatch) -> LlamaIndexEmbedder:
    pytest.importorskip("llama_index.embeddings.openai_like")
    monkeypatch.setenv("FATHOMS_TEST_KEY", KEY)
    options = {"model_name": "smollm2", "api_base": embedding_address, "api_key": "${FATHOMS_TEST_KEY}"}
    return LlamaIndexEmbedder(target=EMBEDDING, options=options)


def test_a_reply_with_its_usage(llm: LlamaIndexLLM) -> None:
    llm.check()
    reply = asyncio.run(llm.reply(PROMPT))
    assert reply.text
    assert reply.stop_reason == "length"
    assert reply.usage.completion_tokens == 8
    assert reply.usage.prompt_tokens is not None
    assert 15 <= reply.usage.prompt_tokens <= 40
    assert (llm.max_tokens, llm.context_window, llm.count_tokens(PROMPT.messages)) == (8, None, None)


def test_parts_arrive_in_their_order(mixed: Mixed, llm: LlamaIndexLLM) -> None:
    choice = {"index": 0, "message": {"role": "assistant", "content": "red"}, "finish_reason": "stop"}
    answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    with serving({"/v1/chat/completions": answer}) as stub:
        model = llm.model_copy(update={"options": {**llm.options, "api_base": f"{stub.address}/v1"}})
        assert asyncio.run(model.reply(mixed.prompt)).text == "red"
    (message,) = stub.bodies("/v1/chat/completions")[0]["messages"]
    assert received(message["content"]) == mixed.parts


def test_a_second_event_loop_has_connections_of_its_own(llm: LlamaIndexLLM) -> None:
    async def thrice() -> list[int | None]:
        replies = await asyncio.gather(*(llm.reply(PROMPT) for _ in range(3)))
        return [reply.usage.completion_tokens for reply in replies]

    assert asyncio.run(thrice()) + asyncio.run(thrice()) == [8] * 6


def test_a_refused_key_and_a_dead_server(llm: LlamaIndexLLM, monkeypatch: pytest.MonkeyPatch) -> None:
    def with_options(**changed: Any) -> LlamaIndexLLM:
        return llm.model_copy(update={"options": {**llm.options, **changed}})

    monkeypatch.setenv("FATHOMS_TEST_KEY_2", "wrong")
    with pytest.raises(ModelError, match="AuthenticationError"):
        asyncio.run(with_options(api_key="${FATHOMS_TEST_KEY_2}").reply(PROMPT))
    with pytest.raises(ModelError, match="APIConnectionError"):
        asyncio.run(with_options(api_base="http://127.0.0.1:9/v1").reply(PROMPT))


def test_vectors_of_a_server(embedder: LlamaIndexEmbedder) -> None:
    texts = ["the depth of the sea", "the depth of an ocean", "def main(argv): return 0"]
    vectors = embedder.embed(texts)
    assert vectors.dtype == np.float32
    assert vectors.shape[0] == 3
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]
    np.testing.assert_allclose(embedder.embed_queries(texts[:1])[0], vectors[0], atol=1e-3)
    assert embedder.embed([]).shape == (0, 0)


def test_blank_texts_get_zeros() -> None:
    embedder = LlamaIndexEmbedder(
        target="llama_index.core.embeddings:MockEmbedding", options={"embed_dim": 4}
    )
    assert embedder.embed(["", "a", " "]).tolist() == [[0] * 4, [0.5] * 4, [0] * 4]
    assert embedder.embed_queries(["a", "\n"]).tolist() == [[0.5] * 4, [0] * 4]


def test_a_key_stays_out_of_configs_and_fingerprints(llm: LlamaIndexLLM) -> None:
    assert KEY not in llm.model_dump_json()
    assert KEY not in str(llm.identity())


@pytest.mark.parametrize(
    "options",
    [
        {"api_key": "sk-123"},
        {"default_headers": {"Authorization": "Bearer 123"}},
        {"password": "123"},
        {"servers": [{"auth_token": "123"}]},
    ],
)
def test_a_literal_key_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="looks like a secret") as caught:
        LlamaIndexLLM(target=LLM, options=options)
    assert "set the environment variable NAME" in str(caught.value)


def test_options_that_only_sound_like_keys_are_allowed() -> None:
    LlamaIndexLLM(target=LLM, options={"max_tokens": 3, "tokenizer": "x", "keyword": "y", "key_points": "z"})
    LlamaIndexLLM(target=LLM, options={"default_headers": {"Authorization": "Bearer ${NAME}"}})


def test_what_is_missing_is_named() -> None:
    unset = LlamaIndexLLM(target="llama_index.core.llms:MockLLM", options={"api_key": "${FATHOMS_NOT_SET}"})
    with pytest.raises(ConfigError, match="FATHOMS_NOT_SET is not set"):
        unset.check()
    with pytest.raises(ConfigError, match="pip install llama-index-llms-no-such-thing"):
        LlamaIndexLLM(target="llama_index.llms.no_such_thing:Model").check()
    with pytest.raises(ConfigError, match="pip install no-such-package"):
        LlamaIndexEmbedder(target="no_such_package.models:Model").check()
    with pytest.raises(ConfigError, match="cannot import"):
        LlamaIndexLLM(target="llama_index.core.llms:NoSuchClass").check()


def response(raw: Any, *blocks: Any) -> Any:
    from llama_index.core.base.llms.types import ChatMessage, ChatResponse, TextBlock

    return ChatResponse(
        message=ChatMessage(role="assistant", blocks=list(blocks) or [TextBlock(text="42")]), raw=raw
    )


# as the API references of the four makers show their answers
OPENAI = {
    "choices": [{"finish_reason": "stop", "message": {"reasoning_content": "six times seven"}}],
    "usage": {"prompt_tokens": 5, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 2}},
}
ANTHROPIC = {
    "stop_reason": "end_turn",
    "usage": SimpleNamespace(input_tokens=5, output_tokens=3, cache_read_input_tokens=2),
}
OLLAMA = {"done_reason": "stop", "prompt_eval_count": 5, "eval_count": 3, "message": {"thinking": "hm"}}
GOOGLE = {
    "finish_reason": "STOP",
    "usage_metadata": {"prompt_token_count": 5, "candidates_token_count": 3, "cached_content_token_count": 2},
}


@pytest.mark.parametrize(
    ("raw", "stop", "reasoning", "cached"),
    [
        (OPENAI, "stop", "six times seven", 2),
        (ANTHROPIC, "end_turn", "", 2),
        (OLLAMA, "stop", "hm", None),
        (GOOGLE, "STOP", "", 2),
    ],
)
def test_usage_of_other_makers(raw: Any, stop: str, reasoning: str, cached: int | None) -> None:
    reply = to_reply(response(raw), 1.5)
    assert (reply.text, reply.stop_reason, reply.reasoning, reply.latency) == ("42", stop, reasoning, 1.5)
    assert reply.usage == Usage(prompt_tokens=5, completion_tokens=3, cached_tokens=cached)


def test_thoughts_in_blocks_and_in_tags() -> None:
    from llama_index.core.base.llms.types import TextBlock, ThinkingBlock

    blocks = to_reply(response(None, ThinkingBlock(content="so"), TextBlock(text="42")), 0)
    assert (blocks.reasoning, blocks.text, blocks.usage, blocks.stop_reason) == ("so", "42", Usage(), None)
    tags = to_reply(response(None, TextBlock(text="<think>so</think>42")), 0)
    assert (tags.reasoning, tags.text) == ("so", "42")
