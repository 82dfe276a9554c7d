"""No secret stands in a configuration, whatever it is called."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from fathoms.models import LlamaIndexEmbedder
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
