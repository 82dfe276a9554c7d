"""The unions that configs name by `kind`, and what each member can be asked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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


@pytest.mark.slow
def test_a_run_imports_the_components_that_its_configuration_names_and_completes_few_classes_for_it(
    tmp_path: Path,
) -> None:
    config = tmp_path / "c.yaml"
    config.write_text(
        "name: c\ndata: {questions: q.json, documents: docs}\nembed: {kind: lexical}\n"
        "retrieve: {kind: dense}\ngenerate: {kind: scripted}\n"
    )
    program = f"""
import sys, pathlib, fathoms.runner.runner, fathoms.experiment
from pydantic import BaseModel
def classes(of):
    return [one for sub in of.__subclasses__() for one in (sub, *classes(sub))]
completed = [one for one in classes(BaseModel) if one.__pydantic_complete__ and "fathoms" in one.__module__]
fathoms.experiment.load_experiment(pathlib.Path({str(config)!r}))
others = ["models.chat.anthropic", "models.chat.google", "models.chat.ollama", "retrieve.rerank",
    "retrieve.hybrid", "retrieve.bm25", "pipeline.external.http", "judges.llm", "judges.people",
    "ingest.docling.parser", "ingest.parsers.python"]
print([one for one in others if "fathoms." + one in sys.modules], len(completed) < 35)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[] True\n"
