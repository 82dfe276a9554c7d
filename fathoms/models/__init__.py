"""Models: `reply(prompt) -> Reply` and `embed(texts) -> vectors`, one file a provider.

A config's `generate:` is a `Generator` and its `embed:` an `Embedder`, chosen by `kind`. To add one,
write a file with a `Component` that does what `protocols` asks for, and add its name to the union.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from fathoms.models.anthropic import AnthropicLLM
from fathoms.models.cross_encoder import CrossEncoder
from fathoms.models.embedded import Embedded
from fathoms.models.google import GoogleLLM
from fathoms.models.lexical import LexicalEmbedder
from fathoms.models.llamaindex import LlamaIndexEmbedder, LlamaIndexLLM
from fathoms.models.ollama import OllamaEmbedder, OllamaLLM
from fathoms.models.onnx import OnnxEmbedder
from fathoms.models.openai import OpenAILLM
from fathoms.models.openai_compatible import OpenAICompatibleEmbedder, OpenAICompatibleLLM
from fathoms.models.protocols import ChatModel, FileLimits, TextEmbedder
from fathoms.models.scripted import ScriptedModel
from fathoms.models.sentence_transformers import SentenceTransformersEmbedder

Generator = Annotated[
    Embedded
    | OllamaLLM
    | OpenAICompatibleLLM
    | AnthropicLLM
    | OpenAILLM
    | GoogleLLM
    | LlamaIndexLLM
    | ScriptedModel,
    Field(discriminator="kind"),
]
Embedder = Annotated[
    OnnxEmbedder
    | LexicalEmbedder
    | LlamaIndexEmbedder
    | OllamaEmbedder
    | OpenAICompatibleEmbedder
    | SentenceTransformersEmbedder,
    Field(discriminator="kind"),
]

__all__ = [
    "AnthropicLLM",
    "ChatModel",
    "CrossEncoder",
    "Embedded",
    "Embedder",
    "FileLimits",
    "Generator",
    "GoogleLLM",
    "LexicalEmbedder",
    "LlamaIndexEmbedder",
    "LlamaIndexLLM",
    "OllamaEmbedder",
    "OllamaLLM",
    "OnnxEmbedder",
    "OpenAICompatibleEmbedder",
    "OpenAICompatibleLLM",
    "OpenAILLM",
    "ScriptedModel",
    "SentenceTransformersEmbedder",
    "TextEmbedder",
]
