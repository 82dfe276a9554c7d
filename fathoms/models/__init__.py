"""Models that answer prompts (`reply(prompt) -> Reply`), embed texts (`embed(texts) -> vectors`), or embed
pictures of pages and texts (`embed_pages(pictures) -> vectors of each`).

The `generate:` section of a config is a `Generator`, the `embed:` section an `Embedder`, and the `embed:`
section of a retriever by page images a `PageEmbedder`; `kind` selects the class. To add a provider, write a
module with a subclass of `ChatComponent`, `TextEmbedder` or `EmbedsPages`, and add its line to
`fathoms/registry.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fathoms.models.chat.chat_component import ChatComponent
from fathoms.models.embed.pages import EmbedsPages
from fathoms.models.protocols import ChatModel, FileLimits, ImageLimits, TextEmbedder
from fathoms.registry import OneOf, components_of

if TYPE_CHECKING:
    from fathoms.models.chat.anthropic import AnthropicLLM
    from fathoms.models.chat.embedded import Embedded
    from fathoms.models.chat.google import GoogleLLM
    from fathoms.models.chat.llamaindex import LlamaIndexEmbedder, LlamaIndexLLM
    from fathoms.models.chat.ollama import OllamaEmbedder, OllamaLLM
    from fathoms.models.chat.openai import OpenAILLM
    from fathoms.models.chat.openai_compatible import OpenAICompatibleEmbedder, OpenAICompatibleLLM
    from fathoms.models.chat.scripted import ScriptedModel
    from fathoms.models.embed.cross_encoder import CrossEncoder
    from fathoms.models.embed.image_text import ImageTextEmbedder
    from fathoms.models.embed.lexical import LexicalEmbedder
    from fathoms.models.embed.multi_vector import MultiVectorEmbedder
    from fathoms.models.embed.onnx import OnnxEmbedder
    from fathoms.models.embed.sentence_transformers import SentenceTransformersEmbedder
    from fathoms.models.embed.served.cohere import CoherePages
    from fathoms.models.embed.served.jina import JinaPages
    from fathoms.models.embed.served.openai_compatible import OpenAICompatiblePages
    from fathoms.models.embed.served.voyage import VoyagePages

__getattr__ = components_of("models", "embedders", "page_embedders", "rerankers")

Generator = Annotated[ChatComponent, OneOf("models")]
Embedder = Annotated[TextEmbedder, OneOf("embedders")]
PageEmbedder = Annotated[EmbedsPages, OneOf("page_embedders")]

__all__ = [
    "AnthropicLLM",
    "ChatModel",
    "CoherePages",
    "CrossEncoder",
    "Embedded",
    "Embedder",
    "FileLimits",
    "Generator",
    "GoogleLLM",
    "ImageLimits",
    "ImageTextEmbedder",
    "JinaPages",
    "LexicalEmbedder",
    "LlamaIndexEmbedder",
    "LlamaIndexLLM",
    "MultiVectorEmbedder",
    "OllamaEmbedder",
    "OllamaLLM",
    "OnnxEmbedder",
    "OpenAICompatibleEmbedder",
    "OpenAICompatibleLLM",
    "OpenAICompatiblePages",
    "OpenAILLM",
    "PageEmbedder",
    "ScriptedModel",
    "SentenceTransformersEmbedder",
    "TextEmbedder",
    "VoyagePages",
]
