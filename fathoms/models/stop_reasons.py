"""What the stop reasons of replies mean, in the words of every vendor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fathoms.types import Reply

_CUT = frozenset(
    {
        "length",  # OpenAI Chat Completions, llama.cpp, vLLM, Ollama, Mistral
        "model_length",  # Mistral, at the end of the context window
        "max_output_tokens",  # OpenAI Responses
        "max_tokens",  # Anthropic, Google and Cohere, the latter two in capitals
        "model_context_window_exceeded",  # Anthropic, at the end of the context window
    }
)


def was_cut(reply: Reply) -> bool:
    """Return whether a reply was cut at a token limit, that of the request or that of the model. Names of an
    enumeration, as LlamaIndex hands them on (`FinishReason.MAX_TOKENS`), count by their last part."""
    word = (reply.stop_reason or "").rpartition(".")[2]
    return word.lower() in _CUT


_SAY_ENDS = frozenset({"openai-compatible", "openai", "anthropic", "google", "ollama", "embedded"})


def says_ends(config: Mapping[str, Any]) -> bool:
    """Return whether the API that answers in a configuration gives a finish reason with every reply."""
    generate, pipeline = (config.get(name) or {} for name in ("generate", "pipeline"))
    return generate.get("kind") in _SAY_ENDS or bool(pipeline.get("preset"))
