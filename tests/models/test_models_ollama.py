"""Ollama models against a real Ollama server."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from fathoms.errors import ConfigError, ModelError, ServerError
from fathoms.models import OllamaEmbedder, OllamaLLM
from fathoms.models.chat.ollama import server_address, server_version
from fathoms.types import Message, Prompt, Reply
from tests.support.http_stub import Stub, serving
from tests.support.mixed_message import Mixed
from tests.support.ollama_server import OllamaServer

pytestmark = pytest.mark.slow  # processes, models and sockets of their own

NOBODY = "http://127.0.0.1:9"
SHOWN = {"details": {"families": ["llama"]}, "model_info": {"llama.context_length": 8192}}


def prompt(text: str, *images: Path) -> Prompt:
    return Prompt(messages=(Message(role="user", text=text, images=images),))


def ask(model: OllamaLLM, text: str, *images: Path) -> Reply:
    return asyncio.run(model.reply(prompt(text, *images)))


@pytest.fixture
def llm(ollama: OllamaServer) -> OllamaLLM:
    return OllamaLLM(model="gemma3:4b", base_url=ollama.address, n_ctx=256, max_tokens=6)


@pytest.fixture
def embedder(ollama: OllamaServer) -> OllamaEmbedder:
    pytest.importorskip("llama_index.embeddings.ollama")
    return OllamaEmbedder(base_url=ollama.address, batch_size=2)


def test_a_reply_with_its_usage(llm: OllamaLLM) -> None:
    llm.check()
    reply = ask(llm, "Tell me a story of the sea.")
    assert reply.text
    assert (reply.stop_reason, reply.usage.completion_tokens, reply.prompt_cut) == ("length", 6, False)
    assert reply.usage.prompt_tokens is not None
    assert 10 <= reply.usage.prompt_tokens <= 25
    assert reply.first_token is not None
    assert reply.latency is not None
    assert 0 < reply.first_token < reply.latency
    assert (llm.context_window, llm.count_tokens(prompt("a").messages)) == (256, None)


def test_a_system_message_and_the_sampling_arrive(llm: OllamaLLM) -> None:
    with_system = Prompt(messages=(Message(role="system", text="one two three"), *prompt("hi").messages))
    plain, more = ask(llm, "hi"), asyncio.run(llm.model_copy(update={"max_tokens": 2}).reply(with_system))
    assert (more.usage.prompt_tokens or 0) > (plain.usage.prompt_tokens or 0)
    assert more.usage.completion_tokens == 2
    warm = llm.model_copy(update={"temperature": 5.0, "seed": 7, "max_tokens": 12, "top_p": 1.0})
    ask(
        warm, "A word?"
    )  # the first time the prompt is not in the server's cache, and it adds in another order
    again = ask(warm, "A word?").text
    assert ask(warm, "A word?").text == again
    assert ask(warm.model_copy(update={"seed": 8}), "A word?").text != again


def test_requests_at_once_and_a_second_event_loop(llm: OllamaLLM) -> None:
    async def thrice() -> list[int | None]:
        replies = await asyncio.gather(*(llm.reply(prompt(f"{n}?")) for n in range(3)))
        return [reply.usage.completion_tokens for reply in replies]

    assert None not in asyncio.run(thrice()) + asyncio.run(thrice())


# 10 tokens of the template, and each of these words is one
@pytest.mark.parametrize(
    ("words", "read", "cut"), [(20, 30, False), (180, 190, False), (230, 240, False), (3000, 256, True)]
)
def test_a_cut_prompt_is_flagged(llm: OllamaLLM, words: int, read: int, cut: bool) -> None:
    """Also the second time, when the server has the prompt in its cache."""
    text = " ".join(["harbour", "station", "sea", "depth", "north"][n % 5] for n in range(words))
    for _ in range(2):
        reply = ask(llm, text)
        assert (reply.usage.prompt_tokens, reply.prompt_cut) == (read, cut)


def test_a_prompt_that_is_forgotten_during_the_reply_is_flagged(llm: OllamaLLM) -> None:
    reply = ask(
        llm.model_copy(update={"max_tokens": 100, "n_ctx": 64}), "Tell me a very long story of the sea."
    )
    assert reply.usage.completion_tokens == 100
    assert reply.prompt_cut


def test_what_is_missing_is_named_beforehand(llm: OllamaLLM, embedder: OllamaEmbedder) -> None:
    for model in (llm, embedder):
        with pytest.raises(ServerError, match=r"has no model 'no-such:1b': run 'ollama pull no-such:1b'"):
            model.model_copy(update={"model": "no-such:1b"}).check()
        with pytest.raises(ServerError, match=rf"no Ollama server at {NOBODY}: start it with 'ollama serve'"):
            model.model_copy(update={"base_url": NOBODY}).check()
        with pytest.raises(ConfigError, match=r"n_ctx is 9000, the longest context of .* is 8192"):
            model.model_copy(update={"n_ctx": 9000}).check()


def test_failures_during_a_run_are_model_errors(llm: OllamaLLM, embedder: OllamaEmbedder) -> None:
    with pytest.raises(ModelError, match=r"no-such.* not found"):
        ask(llm.model_copy(update={"model": "no-such:1b"}), "hi")
    with pytest.raises(ModelError, match=f"Ollama at {NOBODY}"):
        ask(llm.model_copy(update={"base_url": NOBODY}), "hi")
    with pytest.raises(ModelError, match=f"Ollama at {NOBODY}"):
        embedder.model_copy(update={"base_url": NOBODY}).embed(["hi"])


def test_vectors(embedder: OllamaEmbedder) -> None:
    embedder.check()
    texts = ["the depth of the sea", "the depth of an ocean", "def main(argv): return 0"]
    vectors = embedder.embed(texts)
    assert (vectors.dtype, vectors.shape) == (np.float32, (3, 576))
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]
    np.testing.assert_allclose(embedder.embed_queries(texts[:1])[0], vectors[0], atol=1e-5)
    assert embedder.embed([]).shape == (0, 0)


def test_instructions_stand_before_the_texts(embedder: OllamaEmbedder) -> None:
    fields = {"query_instruction": "search_query:", "text_instruction": "search_document:"}
    with_them = embedder.model_copy(update=fields)
    np.testing.assert_allclose(with_them.embed(["sea"]), embedder.embed(["search_document: sea"]), atol=1e-5)
    queries = with_them.embed_queries(["sea"]), embedder.embed_queries(["search_query: sea"])
    np.testing.assert_allclose(*queries, atol=1e-5)


def test_identity_needs_no_server(llm: OllamaLLM, embedder: OllamaEmbedder) -> None:
    elsewhere = {"base_url": NOBODY, "keep_alive": "1h", "request_timeout": 5}
    for model in (llm, embedder):
        assert model.model_copy(update=elsewhere).identity() == model.identity()
        assert model.model_copy(update={"n_ctx": 512}).identity() != model.identity()
        assert model.model_copy(update=elsewhere).served() == {}
        assert len(model.served()["digest"]) == 64


def test_the_address_comes_from_the_environment(
    ollama: OllamaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{ollama.port}")
    OllamaLLM(model="gemma3:4b").check()
    assert str(server_version(server_address())).startswith("0.5.4")
    monkeypatch.delenv("OLLAMA_HOST")
    assert server_address() == "http://127.0.0.1:11434"
    assert server_version(NOBODY) is None


def test_a_model_without_sight_is_not_shown_images(llm: OllamaLLM, picture: Path) -> None:
    """This server would answer as if there were no image."""
    with pytest.raises(ModelError, match="gemma3:4b accepts no images"):
        ask(llm, "What is this?", picture)
    with pytest.raises(ConfigError, match="gemma3:4b accepts no images"):
        llm.check_images()
    with pytest.raises(ServerError, match="no Ollama server"):
        llm.model_copy(update={"base_url": NOBODY}).check_images()


def test_images_arrive_as_they_are(picture: Path) -> None:
    with serving({"/api/show": {**SHOWN, "capabilities": ["vision"]}, "/api/chat": answer("red")}) as stub:
        model = OllamaLLM(model="seer", base_url=stub.address)
        model.check()
        model.check_images()
        assert ask(model, "What is this?", picture, picture).text == "red"
    (message,) = stub.bodies("/api/chat")[0]["messages"]
    assert message["content"] == "What is this?"
    assert [base64.b64decode(image) for image in message["images"]] == [picture.read_bytes()] * 2


def test_images_out_of_order_arrive_before_the_text(mixed: Mixed) -> None:
    with serving({"/api/show": {**SHOWN, "capabilities": ["vision"]}, "/api/chat": answer("red")}) as stub:
        model = OllamaLLM(model="seer", base_url=stub.address)
        asyncio.run(model.reply(mixed.without_file))
        with pytest.raises(ModelError, match="seer accepts no PDFs"):
            asyncio.run(model.reply(mixed.prompt))
    (body,) = stub.bodies("/api/chat")
    (message,) = body["messages"]
    assert message["content"] == "This is red:\nThis is blue:"
    assert [base64.b64decode(image) for image in message["images"]] == list(mixed.parts[1:4:2])


def answer(text: str, **others: Any) -> dict[str, Any]:
    """A chat answer as Ollama's API reference shows it."""
    message = {"role": "assistant", "content": text, **others.pop("message", {})}
    counts = {"prompt_eval_count": 26, "eval_count": 29}
    return {"model": "m", "message": message, "done": True, "done_reason": "stop", **counts, **others}


def thinking(reported: dict[str, Any], **options: Any) -> tuple[Reply, Stub]:
    with serving({"/api/chat": reported}) as stub:
        return ask(OllamaLLM(model="thinker", base_url=stub.address, **options), "6 x 7?"), stub


@pytest.mark.parametrize(
    ("reported", "text", "reasoning"),
    [
        (answer("42", message={"thinking": "six times seven"}), "42", "six times seven"),
        (answer("", message={"thinking": "cut off"}, done_reason="length"), "", "cut off"),
        (answer("<think>six times seven</think>\n\n42"), "42", "six times seven"),
        (answer("<think>cut off"), "", "cut off"),
    ],
)
def test_reasoning_is_kept_apart(reported: dict[str, Any], text: str, reasoning: str) -> None:
    reply, stub = thinking(reported, think=True)
    assert (reply.text, reply.reasoning) == (text, reasoning)
    assert stub.bodies("/api/chat")[0]["think"] is True


def test_think_is_sent_as_it_is_set() -> None:
    for setting in (False, "high", None):
        _, stub = thinking(answer("42"), think=setting)
        assert stub.bodies("/api/chat")[0].get("think") == setting


def test_think_is_refused_for_a_model_that_cannot() -> None:
    with serving({"/api/show": {**SHOWN, "capabilities": ["completion"]}}) as stub:
        with pytest.raises(ConfigError, match="is not a reasoning model"):
            OllamaLLM(model="m", base_url=stub.address, think=True).check()
        OllamaLLM(model="m", base_url=stub.address, think=False).check()


def test_options_go_to_the_server() -> None:
    _, stub = thinking(answer("42"), n_ctx=128, max_tokens=9, top_p=0.5, seed=3, options={"num_gpu": 0})
    sent = stub.bodies("/api/chat")[0]["options"]
    wanted = {"num_ctx": 128, "num_predict": 9, "temperature": 0.0, "top_p": 0.5, "seed": 3, "num_gpu": 0}
    assert sent == wanted


@pytest.mark.parametrize(
    ("option", "key"),
    [
        ("num_ctx", "n_ctx"),
        ("num_predict", "max_tokens"),
        ("temperature", "temperature"),
        ("top_p", "top_p"),
        ("seed", "seed"),
    ],
)
def test_an_option_that_has_a_key_here_is_refused(option: str, key: str) -> None:
    """One of the two would win without a word."""
    with pytest.raises(ValidationError, match=f"'{option}' is not allowed here: set '{key}' instead"):
        OllamaLLM(model="m", options={"num_gpu": 0, option: 1})
    if option == "num_ctx":
        with pytest.raises(ValidationError, match="set 'n_ctx' instead"):
            OllamaEmbedder(options={option: 1})


def test_references_in_options_are_filled_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FATHOMS_TEST_STOP", "\n")
    options = {"stop": "${FATHOMS_TEST_STOP}"}
    _, stub = thinking(answer("42"), options=options)
    assert stub.bodies("/api/chat")[0]["options"]["stop"] == "\n"
    with serving({"/api/embed": vectors([1.0])}) as stub:
        OllamaEmbedder(base_url=stub.address, options=options).embed(["a"])
    assert stub.bodies("/api/embed")[0]["options"] == {"stop": "\n"}
    monkeypatch.delenv("FATHOMS_TEST_STOP")
    with serving({"/api/show": SHOWN}) as stub:
        for model in (OllamaLLM, OllamaEmbedder):
            with pytest.raises(ConfigError, match="FATHOMS_TEST_STOP is not set"):
                model(model="m", base_url=stub.address, options=options).check()


def vectors(*rows: list[float]) -> dict[str, Any]:
    """An answer to texts as Ollama's API reference shows it."""
    return {"model": "m", "embeddings": rows}


@pytest.mark.parametrize("rows", [[[1.0, 0.0]], [[1.0, 0.0], [1.0]], [[], []], [[1.0]] * 3])
def test_vectors_that_fit_no_texts_are_refused(rows: list[list[float]]) -> None:
    pytest.importorskip("llama_index.embeddings.ollama")
    with serving({"/api/embed": vectors(*rows)}) as stub:
        embedder = OllamaEmbedder(base_url=stub.address)
        with pytest.raises(ModelError, match=rf"{stub.address}: 2 texts were sent, the answer contains"):
            embedder.embed(["a", "b"])


def test_blank_texts_are_not_sent_and_get_zeros() -> None:
    pytest.importorskip("llama_index.embeddings.ollama")
    with serving({"/api/embed": vectors([3.0, 4.0], [0.0, 2.0])}) as stub:
        found = OllamaEmbedder(base_url=stub.address, text_instruction="t:").embed(["", "a", " \n", "b"])
    np.testing.assert_allclose(found, [[0, 0], [0.6, 0.8], [0, 0], [0, 1]])
    assert stub.bodies("/api/embed")[0]["input"] == ["t: a", "t: b"]


def test_the_zeros_of_blank_texts_alone_have_the_width_of_the_model() -> None:
    pytest.importorskip("llama_index.embeddings.ollama")
    with serving({"/api/embed": vectors([3.0, 4.0])}) as stub:
        embedder = OllamaEmbedder(base_url=stub.address)
        assert embedder.embed(["", " "]).tolist() == [[0, 0], [0, 0]]
        assert embedder.embed_queries([""]).tolist() == [[0, 0]]


@pytest.mark.parametrize(
    ("read", "cut"), [(None, None), (0, None), (9, True), (90, False), (64, None), (66, None), (128, True)]
)
def test_counts_of_other_versions(read: int | None, cut: bool | None) -> None:
    """Ten words to a context of 128: later versions keep half of the context and a little more."""
    reply = answer("42", prompt_eval_count=read, eval_count=1)
    with serving({"/api/chat": reply}) as stub:
        assert (
            ask(OllamaLLM(model="m", base_url=stub.address, n_ctx=128, max_tokens=9), "a " * 10).prompt_cut
            is cut
        )


def test_half_a_context_is_a_cut_where_more_words_were_sent() -> None:
    """As others measured with 0.33: 16,386 tokens read in a context of 32,768."""
    reply = answer("42", prompt_eval_count=16386)
    with serving({"/api/chat": reply}) as stub:
        model = OllamaLLM(model="m", base_url=stub.address, n_ctx=32768)
        assert ask(model, "word " * 33_000).prompt_cut is True
        assert ask(model, "word " * 12_000).prompt_cut is None
