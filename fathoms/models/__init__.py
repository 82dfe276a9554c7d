"""Models: `reply(prompt) -> Reply` and `embed(texts) -> vectors`, one file a provider.

A config's `generate:` is a `Generator` and its `embed:` an `Embedder`, chosen by `kind`. To add one,
write a file with a `Component` that does what `protocols` asks for, and add its name to the union.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from fathoms.models.chat.anthropic import AnthropicLLM
from fathoms.models.chat.embedded import Embedded
from fathoms.models.chat.google import GoogleLLM
from fathoms.models.chat.llamaindex import LlamaIndexEmbedder, LlamaIndexLLM
from fathoms.models.chat.ollama import OllamaEmbedder, OllamaLLM
from fathoms.models.chat.openai import OpenAILLM
from fathoms.models.chat.openai_compatible import OpenAICompatibleEmbedder, OpenAICompatibleLLM
from fathoms.models.chat.scripted import ScriptedModel
from fathoms.models.embed.cross_encoder import CrossEncoder
from fathoms.models.embed.lexical import LexicalEmbedder
from fathoms.models.embed.onnx import OnnxEmbedder
from fathoms.models.embed.sentence_transformers import SentenceTransformersEmbedder
from fathoms.models.protocols import ChatModel, FileLimits, TextEmbedder

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
