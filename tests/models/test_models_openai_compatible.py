"""OpenAI-compatible models against a real llama.cpp server, and what vLLM and others answer."""

from __future__ import annotations

import asyncio
import base64
import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from fathoms.errors import ConfigError, ModelError, PromptTooLongError, RateLimitError, ServerError
from fathoms.models import OpenAICompatibleEmbedder, OpenAICompatibleLLM
from fathoms.models.caching import embed_cached
from fathoms.runs.cache import Cache
from fathoms.types import Message, Prompt, Reply, TextPart
from tests.support.http_stub import Stub, serving
from tests.support.llama_server import KEY, MODEL
from tests.support.mixed_message import Mixed, received

pytestmark = pytest.mark.slow  # processes, models and sockets of their own

VARIABLE = "FATHOMS_TEST_KEY"
NOBODY = "http://127.0.0.1:9/v1"


@pytest.fixture
def llm(chat_address: str, monkeypatch: pytest.MonkeyPatch) -> OpenAICompatibleLLM:
    monkeypatch.setenv(VARIABLE, KEY)
    return OpenAICompatibleLLM(
        model=MODEL, base_url=chat_address, api_key_env=VARIABLE, n_ctx=512, max_tokens=8
    )


@pytest.fixture
def embedder(embedding_address: str, monkeypatch: pytest.MonkeyPatch) -> OpenAICompatibleEmbedder:
    pytest.importorskip("llama_index.embeddings.openai_like")
    monkeypatch.setenv(VARIABLE, KEY)
    return OpenAICompatibleEmbedder(model=MODEL, base_url=embedding_address, api_key_env=VARIABLE)


def prompt(text: str, *images: Path) -> Prompt:
    return Prompt(messages=(Message(role="user", text=text, images=images),))


def ask(model: OpenAICompatibleLLM, text: str, *images: Path) -> Reply:
    return asyncio.run(model.reply(prompt(text, *images)))


def test_a_reply_with_its_usage(llm: OpenAICompatibleLLM) -> None:
    llm.check()
    reply = ask(llm, "Tell me a story of the sea.")
    assert reply.text
    assert (reply.stop_reason, reply.usage.completion_tokens) == ("length", 8)
    assert reply.usage.prompt_tokens == llm.count_tokens(prompt("Tell me a story of the sea.").messages)
    assert (llm.context_window, llm.max_tokens) == (512, 8)


def test_a_stream_tells_when_the_first_token_came(llm: OpenAICompatibleLLM) -> None:
    fields = {"temperature": 0.0, "max_tokens": 8}
    streamed, whole = (
        ask(llm.model_copy(update={**fields, "stream": stream}), "Tell me a story of the sea.")
        for stream in (True, False)
    )
    assert streamed.first_token is not None
    assert streamed.latency is not None
    assert 0 < streamed.first_token < streamed.latency
    assert whole.first_token is None
    assert (streamed.text, streamed.stop_reason) == (whole.text, whole.stop_reason)
    assert streamed.usage.prompt_tokens == whole.usage.prompt_tokens
    assert streamed.usage.completion_tokens == whole.usage.completion_tokens


def test_a_whole_prompt_is_known_to_be_whole(llm: OpenAICompatibleLLM) -> None:
    """The server counted it beforehand; also when it is in its cache."""
    one_prompt = prompt("Tell me a story of the sea.")
    counted = one_prompt.model_copy(update={"tokens": llm.count_tokens(one_prompt.messages)})
    for _ in range(2):
        assert asyncio.run(llm.reply(counted)).prompt_cut is False
    assert asyncio.run(llm.reply(one_prompt)).prompt_cut is None


def test_a_prompt_that_is_too_long_is_refused(llm: OpenAICompatibleLLM) -> None:
    with pytest.raises(PromptTooLongError, match=r"the prompt takes 6\d\d tokens and the context holds 512"):
        ask(llm, "word " * 600)


def test_a_second_event_loop(llm: OpenAICompatibleLLM) -> None:
    async def thrice() -> list[int | None]:
        replies = await asyncio.gather(*(llm.reply(prompt(f"{n}?")) for n in range(3)))
        return [reply.usage.completion_tokens for reply in replies]

    assert None not in asyncio.run(thrice()) + asyncio.run(thrice())


def test_a_server_without_sight_refuses_images(llm: OpenAICompatibleLLM, picture: Path) -> None:
    with pytest.raises(ModelError, match="image input is not supported"):
        ask(llm, "What is this?", picture)
    assert llm.count_tokens(prompt("What is this?", picture).messages) is None


def test_what_is_missing_is_named_beforehand(
    llm: OpenAICompatibleLLM, embedder: OpenAICompatibleEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for model in (llm, embedder):
        with pytest.raises(ServerError, match=rf"no server at {NOBODY}: start it, or set base_url"):
            model.model_copy(update={"base_url": NOBODY}).check()
        with pytest.raises(ServerError, match=r"has no model 'smolm2' \(did you mean 'smollm2'\?\)"):
            model.model_copy(update={"model": "smolm2"}).check()
        with pytest.raises(ServerError, match=r"status 404: check that base_url is the path of its API"):
            model.model_copy(update={"base_url": f"{model.base_url}/nothing"}).check()
        with pytest.raises(ConfigError, match="FATHOMS_NOT_SET is not set"):
            model.model_copy(update={"api_key_env": "FATHOMS_NOT_SET"}).check()
    # llama.cpp lets everybody list its models: the key is refused only when it is used
    monkeypatch.setenv(VARIABLE, "wrong")
    with pytest.raises(ModelError, match=f"refuses the key: set the environment variable {VARIABLE}"):
        ask(llm, "hi")


@pytest.mark.parametrize(
    ("variable", "advice"),
    [
        (None, "name the environment variable that holds it"),
        (VARIABLE, f"set the environment variable {VARIABLE}"),
    ],
)
def test_a_refused_key(variable: str | None, advice: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "wrong")
    with serving({"/v1/models": {}}, {"/v1/models": 401}) as stub:
        model = OpenAICompatibleLLM(model="m", base_url=f"{stub.address}/v1", api_key_env=variable)
        with pytest.raises(ServerError, match=f"refuses the key: {advice}"):
            model.check()


def test_servers_that_list_no_model_or_a_shorter_context() -> None:
    with serving({"/v1/models": {"data": []}}) as stub:
        OpenAICompatibleLLM(model="m", base_url=f"{stub.address}/v1/").check()
    with serving({"/v1/models": {"data": [{"id": "m", "max_model_len": 4096}]}}) as stub:
        model = OpenAICompatibleLLM(model="m", base_url=f"{stub.address}/v1", n_ctx=4096)
        model.check()
        with pytest.raises(ConfigError, match="n_ctx is 8192, the server was started with 4096"):
            model.model_copy(update={"n_ctx": 8192}).check()
    with (
        serving({"/v1/models": "hello"}) as stub,
        pytest.raises(ServerError, match="does not answer with a list"),
    ):
        OpenAICompatibleLLM(model="m", base_url=f"{stub.address}/v1").check()


def test_no_key_of_the_user_goes_to_this_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-the-users-own")
    _, stub = reply_of(answer("42"))
    assert stub.requests
    assert not any("sk-the-users-own" in str(headers) for _, _, headers, _ in stub.requests)


def test_a_key_stays_out_of_configs_and_fingerprints(llm: OpenAICompatibleLLM) -> None:
    assert KEY not in llm.model_dump_json()
    assert KEY not in str(llm.identity())
    for extra in ({"extra_body": {"api_key": "sk-1"}}, {"base_url": "http://me:pw@host/v1"}):
        with pytest.raises(ValidationError, match=r"has no place in"):
            OpenAICompatibleLLM(**{"model": "m", "base_url": NOBODY, **extra})


def test_more_models_than_clients_leave_no_connection_open() -> None:
    """A socket that nobody closes is a warning, and so an error."""
    pytest.importorskip("llama_index.embeddings.openai_like")
    with serving({"/v1/embeddings": rows([1.0])}, keep_alive=True) as stub:
        for number in range(10):
            OpenAICompatibleEmbedder(model=f"m{number}", base_url=f"{stub.address}/v1").embed(["a"])
        gc.collect()


def test_vectors(embedder: OpenAICompatibleEmbedder) -> None:
    embedder.check()
    texts = ["the depth of the sea", "the depth of an ocean", "def main(argv): return 0"]
    vectors = embedder.embed(texts)
    assert (vectors.dtype, vectors.shape) == (np.float32, (3, 576))
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]
    prefixed = embedder.model_copy(update={"query_prefix": "query: ", "batch_size": 1})
    np.testing.assert_allclose(prefixed.embed_queries(["sea"]), embedder.embed(["query: sea"]), atol=1e-3)
    assert embedder.embed([]).shape == (0, 0)
    with pytest.raises(ModelError, match=r"127\.0\.0\.1:9"):
        embedder.model_copy(update={"base_url": NOBODY}).embed(["sea"])


def answer(text: str | None, prompt_tokens: int = 20, **message: Any) -> dict[str, Any]:
    """A chat completion as OpenAI's API reference shows it."""
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": text, **message},
            }
        ],
        "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": 3, "total_tokens": 23},
    }


def reply_of(
    completion: dict[str, Any], text: str = "6 x 7?", *images: Path, **options: Any
) -> tuple[Reply, Stub]:
    """The reply of a server that answers so, and what it was sent."""
    with serving({"/v1/chat/completions": completion}) as stub:
        model = OpenAICompatibleLLM(model="m", base_url=f"{stub.address}/v1", **options)
        return ask(model, text, *images), stub


CONTENTS: list[list[dict[str, Any]]] = [
    [{"type": "thinking", "thinking": "six times seven"}, {"type": "text", "text": "42"}],
    [
        {"type": "thinking", "thinking": [{"type": "text", "text": "six times seven"}]},
        {"type": "text", "text": "42"},
    ],
    [{"type": "reasoning", "text": "six times seven"}, {"type": "output_text", "text": "42"}],
    [{"text": "six times seven", "thought": True}, {"text": "4"}, {"text": "2"}],
]
"""Content parts as Anthropic, Mistral, OpenAI and Google show them in their references."""


@pytest.mark.parametrize(
    ("completion", "text", "reasoning"),
    [
        (answer("42", reasoning_content="six times seven"), "42", "six times seven"),
        (answer("42", reasoning="six times seven"), "42", "six times seven"),
        (answer(None, reasoning_content="cut off"), "", "cut off"),
        (answer("<think>six times seven</think>\n\n42"), "42", "six times seven"),
        (answer("six times seven</think>\n\n42"), "42", "six times seven"),
        (answer("<think>cut off"), "", "cut off"),
        *((answer(None, content=content), "42", "six times seven") for content in CONTENTS),
        (answer(None, content=CONTENTS[0][:1]), "", "six times seven"),
        (answer(None, content=[]), "", ""),
    ],
)
def test_reasoning_is_kept_apart(completion: dict[str, Any], text: str, reasoning: str) -> None:
    reply, _ = reply_of(completion)
    assert (reply.text, reply.reasoning) == (text, reasoning)


@pytest.mark.parametrize(
    ("grammar", "text", "reasoning"),
    [
        ('root ::= "<think>six times seven</think>42"', "42", "six times seven"),
        ('root ::= "<think>" [a-z ]{900}', "", None),
    ],
)
def test_reasoning_of_a_real_server(
    llm: OpenAICompatibleLLM, grammar: str, text: str, reasoning: str | None
) -> None:
    """A grammar makes the small model think: to the end, and cut off by its `max_tokens`."""
    reply = ask(llm.model_copy(update={"extra_body": {"grammar": grammar}, "max_tokens": 80}), "6 x 7?")
    assert reply.text == text
    assert reply.reasoning == reasoning if reasoning else reply.reasoning


def test_images_arrive_as_data_urls_before_the_text(picture: Path) -> None:
    _, stub = reply_of(answer("red"), "What is this?", picture)
    (message,) = stub.bodies("/v1/chat/completions")[0]["messages"]
    image, text = message["content"]
    assert text == {"type": "text", "text": "What is this?"}
    head, _, data = image["image_url"]["url"].partition(",")
    assert (image["type"], head) == ("image_url", "data:image/png;base64")
    assert base64.b64decode(data) == picture.read_bytes()


def test_parts_arrive_in_their_order(mixed: Mixed) -> None:
    with serving({"/v1/chat/completions": answer("red")}) as stub:
        model = OpenAICompatibleLLM(model="m", base_url=f"{stub.address}/v1")
        asyncio.run(model.reply(mixed.prompt))
    (message,) = stub.bodies("/v1/chat/completions")[0]["messages"]
    assert received(message["content"]) == mixed.parts


def test_several_texts_are_sent_as_one() -> None:
    """Some servers accept no list of parts."""
    parts = (TextPart(text="6 x 7"), TextPart(text="is what?"))
    with serving({"/v1/chat/completions": answer("42")}) as stub:
        model = OpenAICompatibleLLM(model="m", base_url=f"{stub.address}/v1")
        asyncio.run(model.reply(Prompt(messages=(Message(role="user", parts=parts),))))
    assert stub.bodies("/v1/chat/completions")[0]["messages"] == [
        {"role": "user", "content": "6 x 7\nis what?"}
    ]


def test_options_go_to_the_server() -> None:
    extra = {"chat_template_kwargs": {"enable_thinking": False}}
    _, stub = reply_of(answer("42"), max_tokens=9, temperature=0.5, top_p=0.7, seed=3, extra_body=extra)
    (body,) = stub.bodies("/v1/chat/completions")
    assert body.pop("messages") == [{"role": "user", "content": "6 x 7?"}]
    assert (body.pop("stream"), body.pop("stream_options")) == (True, {"include_usage": True})
    assert body == {"model": "m", "max_tokens": 9, "temperature": 0.5, "top_p": 0.7, "seed": 3, **extra}


@pytest.mark.parametrize(
    ("words", "n_ctx", "read", "cut"),
    [
        (10, None, 20, None),
        (30, None, 20, True),
        (10, 100, 99, True),
        (10, 100, 20, None),
        (10, 100, 0, None),
    ],
)
def test_a_cut_prompt_is_flagged_where_the_count_proves_it(
    words: int, n_ctx: int | None, read: int, cut: bool | None
) -> None:
    reply, _ = reply_of(answer("42", prompt_tokens=read), "word " * words, n_ctx=n_ctx, max_tokens=9)
    assert reply.prompt_cut is cut


def test_tokens_are_counted_as_vllm_counts_them() -> None:
    with serving({"/tokenize": {"count": 17, "max_model_len": 4096, "tokens": []}}) as stub:
        model = OpenAICompatibleLLM(model="m", base_url=f"{stub.address}/v1")
        assert model.count_tokens(prompt("hi").messages) == 17
    assert stub.bodies("/tokenize") == [{"model": "m", "messages": [{"role": "user", "content": "hi"}]}]


def test_tokens_are_counted_with_the_extra_body() -> None:
    extra = {"chat_template_kwargs": {"enable_thinking": False}}
    with serving({"/tokenize": {"count": 17}}) as stub:
        model = OpenAICompatibleLLM(model="m", base_url=f"{stub.address}/v1", extra_body=extra)
        assert model.count_tokens(prompt("hi").messages) == 17
    assert stub.bodies("/tokenize") == [
        {"model": "m", "messages": [{"role": "user", "content": "hi"}], **extra}
    ]


@pytest.mark.parametrize(
    ("answer", "status"),
    [(b"<html>", 200), ({"error": "?"}, 200), ([1], 200), ({}, 405), ({}, 501), ({}, 422)],
)
def test_malformed_token_counts_are_ignored(answer: Any, status: int) -> None:
    with serving({"/tokenize": answer}, {"/tokenize": status}) as stub:
        model = OpenAICompatibleLLM(model="m", base_url=f"{stub.address}/v1")
        assert [model.count_tokens(prompt("hi").messages) for _ in range(2)] == [None] * 2
    assert len(stub.requests) == 2


@pytest.mark.parametrize(
    ("status", "body", "kind", "said"),
    [
        (503, {"error": {"code": 503, "message": "Loading model"}}, ModelError, "503: Loading model"),
        (
            402,
            {"error": {"code": 402, "message": "Insufficient credits"}},
            ModelError,
            "402: Insufficient",
        ),
        (429, {"detail": "Slow down"}, RateLimitError, "429: Slow down"),
    ],
)
def test_what_the_server_says_when_it_cannot_count(
    status: int, body: Any, kind: type[ModelError], said: str
) -> None:
    """The errors of llama-server while it loads, of OpenRouter and of FastAPI."""
    path = "/v1/chat/completions/input_tokens"
    with serving({path: body}, {path: status}) as stub:
        model = OpenAICompatibleLLM(model="m", base_url=f"{stub.address}/v1")
        with pytest.raises(kind, match=said):
            model.count_tokens(prompt("hi").messages)


def test_the_limit_of_a_reply_can_have_its_other_name() -> None:
    _, stub = reply_of(answer("42"), max_tokens=7, limit_name="max_completion_tokens")
    (body,) = stub.bodies("/v1/chat/completions")
    assert body["max_completion_tokens"] == 7
    assert "max_tokens" not in body


def test_a_server_that_is_busy_once_is_asked_again() -> None:
    statuses = {"/tokenize": 503}
    with serving({"/tokenize": {"count": 17}}, statuses) as stub:
        model = OpenAICompatibleLLM(model="m", base_url=f"{stub.address}/v1")
        with pytest.raises(ModelError, match=r"/tokenize answers 503: "):
            model.count_tokens(prompt("hi").messages)
        statuses.clear()
        assert model.count_tokens(prompt("hi").messages) == 17


def test_references_in_the_extra_body_are_filled_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FATHOMS_TEST_LORA", "one")
    extra = {"lora": "${FATHOMS_TEST_LORA}"}
    _, stub = reply_of(answer("42"), extra_body=extra)
    assert stub.bodies("/v1/chat/completions")[0]["lora"] == "one"
    with serving({"/tokenize": {"count": 17}, "/v1/embeddings": rows([1.0])}) as stub:
        options = {"model": "m", "base_url": f"{stub.address}/v1", "extra_body": extra}
        OpenAICompatibleLLM(**options).count_tokens(prompt("hi").messages)
        OpenAICompatibleEmbedder(**options).embed(["a"])
    assert [stub.bodies(path)[0]["lora"] for path in ("/tokenize", "/v1/embeddings")] == ["one"] * 2
    monkeypatch.delenv("FATHOMS_TEST_LORA")
    with serving({"/v1/models": {"data": []}}) as stub:
        for model in (OpenAICompatibleLLM, OpenAICompatibleEmbedder):
            with pytest.raises(ConfigError, match="FATHOMS_TEST_LORA is not set"):
                model(model="m", base_url=f"{stub.address}/v1", extra_body=extra).check()


def rows(*vectors: list[float]) -> dict[str, Any]:
    """An answer to texts as OpenAI's API reference shows it."""
    data = [{"object": "embedding", "index": n, "embedding": row} for n, row in enumerate(vectors)]
    return {"object": "list", "model": "m", "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}


def test_blank_texts_are_not_sent_and_get_zeros() -> None:
    pytest.importorskip("llama_index.embeddings.openai_like")
    with serving({"/v1/embeddings": rows([3.0, 4.0], [0.0, 2.0])}) as stub:
        embedder = OpenAICompatibleEmbedder(model="m", base_url=f"{stub.address}/v1", document_prefix="t: ")
        found = embedder.embed(["", "a", " ", "b"])
        with pytest.raises(ModelError, match="3 texts were sent, the answer contains"):
            embedder.embed(["a", "b", "c"])
    np.testing.assert_allclose(found, [[0, 0], [0.6, 0.8], [0, 0], [0, 1]])
    assert stub.bodies("/v1/embeddings")[0]["input"] == ["t: a", "t: b"]


def test_a_server_that_does_not_count_is_asked_once() -> None:
    with serving({}) as stub:
        model = OpenAICompatibleLLM(model="m", base_url=f"{stub.address}/v1")
        assert [model.count_tokens(prompt("hi").messages) for _ in range(3)] == [None] * 3
    assert len(stub.requests) == 2
    with pytest.raises(ModelError, match="ConnectError"):
        model.model_copy(update={"base_url": NOBODY}).count_tokens(prompt("hi").messages)


def test_the_progress_of_embedding_is_that_of_the_requests(tmp_path: Path) -> None:
    """A server on a slow machine takes minutes for 64 texts, so the first of them are told before."""
    reported: list[tuple[int, int]] = []

    def vectors(body: Any) -> tuple[int, Any]:
        return 200, rows(*([1.0, float(len(text))] for text in body["input"]))

    pytest.importorskip("llama_index.embeddings.openai_like")
    with serving({"/v1/embeddings": vectors}) as stub:
        embedder = OpenAICompatibleEmbedder(model="m", base_url=f"{stub.address}/v1", batch_size=2)
        embed_cached(
            embedder, list("abcde"), Cache(tmp_path), lambda done, total: reported.append((done, total))
        )
    assert reported == [(0, 5), (2, 5), (4, 5), (5, 5)]
