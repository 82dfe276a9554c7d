"""Replies that were cut, in the words of the vendors' APIs."""

from __future__ import annotations

import pytest

from fathoms.models.stop_reasons import was_cut
from fathoms.types import Reply

CUT = (
    "length",  # OpenAI Chat Completions, llama.cpp, vLLM, Ollama
    "max_output_tokens",  # OpenAI Responses: incomplete_details.reason
    "max_tokens",  # Anthropic
    "model_context_window_exceeded",  # Anthropic
    "MAX_TOKENS",  # Gemini: finishReason
    "FinishReason.MAX_TOKENS",  # the same as LlamaIndex hands it on
)


@pytest.mark.parametrize(
    ("word", "cut"),
    [*((word, True) for word in CUT), *((word, False) for word in ("stop", "end_turn", "STOP", "", None))],
)
def test_words_of_the_vendors(word: str | None, cut: bool) -> None:
    assert was_cut(Reply(text="41", stop_reason=word)) == cut
