"""Models: `reply(prompt) -> Reply` and `embed(texts) -> vectors`, one file a provider.

A config's `generate:` is a `Generator` and its `embed:` an `Embedder`, chosen by `kind`. To add one,
write a file with a `Component` that does what `protocols` asks for, and add its name to the union.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from fathoms.models.embedded import Embedded
from fathoms.models.lexical import LexicalEmbedder
from fathoms.models.llamaindex import LlamaIndexEmbedder, LlamaIndexLLM
from fathoms.models.onnx import OnnxEmbedder
from fathoms.models.protocols import ChatModel, TextEmbedder
from fathoms.models.scripted import ScriptedModel

Generator = Annotated[Embedded | LlamaIndexLLM | ScriptedModel, Field(discriminator="kind")]
Embedder = Annotated[OnnxEmbedder | LexicalEmbedder | LlamaIndexEmbedder, Field(discriminator="kind")]

__all__ = [
    "ChatModel",
    "Embedded",
    "Embedder",
    "Generator",
    "LexicalEmbedder",
    "LlamaIndexEmbedder",
    "LlamaIndexLLM",
    "OnnxEmbedder",
    "ScriptedModel",
    "TextEmbedder",
]
