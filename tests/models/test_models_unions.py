"""The unions that configs name by `kind`, and what each member can be asked."""

from __future__ import annotations

import subprocess
import sys

import pytest
from pydantic import TypeAdapter

from fathoms.models import ChatModel, Embedder, Generator, LexicalEmbedder, ScriptedModel, TextEmbedder

GENERATORS = TypeAdapter(Generator)
EMBEDDERS = TypeAdapter(Embedder)
CHAT = [name for name in vars(ChatModel) if not name.startswith("_")]
TEXT = [name for name in vars(TextEmbedder) if not name.startswith("_")]


@pytest.mark.parametrize(
    "config",
    [
        {"kind": "embedded"},
        {"kind": "scripted"},
        {"kind": "llamaindex", "target": "a:B"},
        {"kind": "ollama", "model": "a"},
        {"kind": "openai-compatible", "model": "a", "base_url": "http://127.0.0.1:8000/v1"},
        {"kind": "anthropic", "model": "a"},
        {"kind": "openai", "model": "a"},
        {"kind": "google", "model": "a"},
    ],
)
def test_generators(config: dict[str, str]) -> None:
    model = GENERATORS.validate_python(config)
    assert model.kind == config["kind"]
    assert GENERATORS.validate_python(model.model_dump(mode="json")) == model
    calls = {"reply", "check", "check_images", "count_tokens"}
    assert calls | {"context_window", "max_tokens", "max_concurrency"} <= set(CHAT)
    assert all(hasattr(model, name) for name in CHAT)


@pytest.mark.parametrize(
    "config", [{"kind": "onnx"}, {"kind": "lexical"}, {"kind": "llamaindex", "target": "a:B"}]
)
def test_embedders(config: dict[str, str]) -> None:
    model = EMBEDDERS.validate_python(config)
    assert EMBEDDERS.validate_python(model.model_dump(mode="json")) == model
    assert {"embed", "embed_queries", "check"} <= set(TEXT)
    assert all(hasattr(model, name) for name in TEXT)


def test_models_without_requirements_pass_their_checks() -> None:
    ScriptedModel().check()
    ScriptedModel().check_images()
    LexicalEmbedder().check()


@pytest.mark.slow
def test_importing_the_room_imports_nothing_heavy() -> None:
    program = (
        "import sys, fathoms.models, fathoms.models.weights.weights;"
        "heavy = {'numpy', 'onnxruntime', 'tokenizers', 'xllamacpp', 'llama_index', 'httpx'};"
        "print(heavy & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
