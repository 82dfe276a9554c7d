"""No secret stands in a configuration, whatever it is called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from fathoms.config import read_yaml, validate
from fathoms.errors import ConfigError
from fathoms.models import LlamaIndexEmbedder, OllamaEmbedder, OllamaLLM, OpenAICompatibleLLM
from fathoms.models.chat.ollama import server_address
from fathoms.models.options import resolved
from fathoms.retrieve.llamaindex import LlamaIndexStore

TARGET = "llama_index.embeddings.openai_like:OpenAILikeEmbedding"


@pytest.mark.parametrize(
    "options",
    [
        {"api_key": "sk-1"},
        {"apiKeys": ["sk-1"]},
        {"accessToken": "t"},
        {"headers": {"Cookie": "c", "Authorization": "Bearer t"}},
        {"api_base": "https://user:word@host/v1"},
        {"api_base": "https://host/v1?n=3&api_key=sk-1"},
    ],
)
@pytest.mark.parametrize("component", [LlamaIndexStore, LlamaIndexEmbedder])
def test_a_secret_is_refused(component: Any, options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="looks like a secret"):
        component(target=TARGET, options=options)


def test_a_reference_is_filled_in_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FATHOMS_TEST_KEY", "sk-1")
    store = LlamaIndexStore(options={"api_key": "${FATHOMS_TEST_KEY}", "n": 3, "tags": ["a"]})
    assert "sk-1" not in store.model_dump_json()
    assert resolved(store.options) == {"api_key": "sk-1", "n": 3, "tags": ["a"]}


def test_another_server_is_another_embedder_another_key_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"api_base": "${FATHOMS_TEST_BASE}", "api_key": "${FATHOMS_TEST_KEY}"}
    embedder = LlamaIndexEmbedder(target=TARGET, options=options)

    def identity(base: str, key: str) -> dict[str, Any]:
        monkeypatch.setenv("FATHOMS_TEST_BASE", base)
        monkeypatch.setenv("FATHOMS_TEST_KEY", key)
        return embedder.identity()

    assert identity("http://a", "1") == identity("http://a", "2")
    assert identity("http://a", "1") != identity("http://b", "1")


@pytest.mark.parametrize(
    "component",
    [
        lambda options: OllamaLLM(model="m", options=options),
        lambda options: OllamaEmbedder(options=options),
        lambda options: OpenAICompatibleLLM(model="m", base_url="http://a/v1", extra_body=options),
    ],
)
def test_what_a_reference_stands_for_is_in_the_identity(
    component: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = component({"lora": "${FATHOMS_TEST_LORA}", "api_key": "${FATHOMS_TEST_KEY}"})

    def identity(lora: str, key: str) -> str:
        monkeypatch.setenv("FATHOMS_TEST_LORA", lora)
        monkeypatch.setenv("FATHOMS_TEST_KEY", key)
        return str(model.identity())

    assert identity("one", "sk-1") == identity("one", "sk-2")
    assert identity("one", "sk-1") != identity("two", "sk-1")
    assert "sk-1" not in identity("one", "sk-1")


@pytest.mark.parametrize(
    "address",
    ["localhost:80", "ftp://x", "http://", "http://:80", "http://a:80a/v1", "http://a:99999", "http://[::1"],
)
def test_an_address_that_is_none_is_complained_of_at_its_place(address: str, tmp_path: Path) -> None:
    config = tmp_path / "model.yaml"
    config.write_text(f"model: m\nbase_url: {address!r}\n")
    with pytest.raises(ConfigError, match=r"model\.yaml:2:1: base_url: expected an address such as"):
        validate(OpenAICompatibleLLM, read_yaml(config))


@pytest.mark.parametrize("address", ["http://user:pw@host:1", "http://user@host", "http://u:p#w@host:80a"])
def test_an_address_with_a_user_is_refused(address: str) -> None:
    with pytest.raises(ValidationError, match="a user or password has no place in an address"):
        OpenAICompatibleLLM(model="m", base_url=address)


@pytest.mark.parametrize(
    ("reported", "address"),
    [
        ("", "http://127.0.0.1:11434"),
        ("somewhere", "http://somewhere:11434"),
        ("somewhere:80", "http://somewhere:80"),
        (":11434", "http://127.0.0.1:11434"),
        ("[::1]", "http://[::1]:11434"),
        ("[::1]:80", "http://[::1]:80"),
        ("somewhere/ollama/", "http://somewhere:11434/ollama"),
        ("http://:8080", "http://127.0.0.1:8080"),
        ("https://somewhere/", "https://somewhere"),
        (' "somewhere:80" ', "http://somewhere:80"),
    ],
)
def test_ollamas_own_variable(reported: str, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Ollama reads it (envconfig/config.go, `Host`)."""
    monkeypatch.setenv("OLLAMA_HOST", reported)
    assert server_address() == address


@pytest.mark.parametrize(
    "reported", ["http://user:pw@host", "user:pw@host", "host:99999", "host:80a", "ftp://a"]
)
def test_ollamas_own_variable_is_checked_too(reported: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", reported)
    with pytest.raises(ConfigError, match=r"^the environment variable OLLAMA_HOST: ") as caught:
        server_address()
    assert "pw" not in str(caught.value)
