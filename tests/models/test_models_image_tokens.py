"""Tokens of images, against the examples that the providers publish and what users measured."""

from __future__ import annotations

import pytest

from fathoms.models import AnthropicLLM, GoogleLLM, OpenAILLM, ScriptedModel
from fathoms.models.chat.image_tokens import (
    anthropic_image_tokens,
    gemini_image_tokens,
    openai_image_tokens,
)


@pytest.mark.parametrize(
    ("model", "size", "tokens"),
    [
        # the examples of OpenAI's guide
        ("gpt-4o", (1024, 1024), 765),
        ("gpt-4o", (2048, 4096), 1105),
        ("gpt-5", (1024, 1024), 70 + 4 * 140),
        ("gpt-4o-mini-2024-07-18", (768, 768), 2833 + 4 * 5667),
        ("gpt-4.1-mini", (1024, 1024), 1659),  # 1,024 patches, times 1.62
        ("gpt-4.1-mini", (1800, 2400), 2353),  # 1,452 patches, times 1.62
        ("o4-mini", (1800, 2400), 2498),
        # OpenAI's forum, thread 1230130: an image of this size and 8 tokens of text were billed as 773 tokens
        ("gpt-4.1", (2400, 1800), 773 - 8),
        ("gpt-4.1-2025-04-14", (1800, 2400), 773 - 8),
        ("gpt-5.4", (1024, 1024), None),
        ("someone-elses", (1024, 1024), None),
    ],
)
def test_openai(model: str, size: tuple[int, int], tokens: int | None) -> None:
    assert openai_image_tokens(model, *size) == tokens


@pytest.mark.parametrize(
    ("model", "size", "tokens"),
    [
        ("claude-sonnet-4-20250514", (1000, 1000), 1296),  # the platform's table
        # sizes up to which the platform does not scale an image, in its table of aspect ratios
        ("claude-sonnet-4-20250514", (784, 1568), 1568),
        ("claude-sonnet-4-20250514", (1092, 1092), 1521),
        ("claude-opus-4-8", (1000, 1000), 1296),
        ("claude-opus-4-8", (1092, 1092), 1521),
    ],
)
def test_anthropic(model: str, size: tuple[int, int], tokens: int) -> None:
    assert anthropic_image_tokens(model, *size) == tokens


def test_claude_scales_down_what_is_too_large() -> None:
    """A page of A4 at 300 dpi costs as much as the largest image of its shape, and not a token more than the
    limit; models of high resolution count about three times as many."""
    a4 = (2480, 3508)
    assert 1500 <= anthropic_image_tokens("claude-sonnet-4", *a4) <= 1568
    assert 4600 <= anthropic_image_tokens("claude-opus-4-7", *a4) <= 4784
    assert anthropic_image_tokens("claude-sonnet-4", 15680, 28) == 56  # 1,568 pixels long, one block high


@pytest.mark.parametrize(
    ("model", "size", "resolution", "tokens"),
    [
        ("gemini-2.5-flash", (384, 384), None, 258),
        ("gemini-2.5-flash", (960, 540), None, 6 * 258),  # the example of the documentation
        ("models/gemini-2.0-flash", (1240, 1754), None, 6 * 258),
        ("gemini-3-pro-preview", (960, 540), None, 1120),
        ("gemini-3-pro-preview", (960, 540), "MEDIA_RESOLUTION_LOW", 280),
        ("gemini-3.5-flash", (10, 10), "MEDIA_RESOLUTION_MEDIUM", 560),
    ],
)
def test_google(model: str, size: tuple[int, int], resolution: str | None, tokens: int) -> None:
    assert gemini_image_tokens(model, *size, resolution) == tokens


def test_the_adapters_know_the_formula_of_their_vendor() -> None:
    assert OpenAILLM(model="gpt-4o").image_tokens(1024, 1024) == 765
    assert OpenAILLM(model="gpt-4o", base_url="http://127.0.0.1:9/v1").image_tokens(1024, 1024) == 765
    assert AnthropicLLM(model="claude-sonnet-4-20250514").image_tokens(1000, 1000) == 1296
    options = {"media_resolution": "MEDIA_RESOLUTION_MEDIUM"}
    assert GoogleLLM(model="gemini-3-pro", options=options).image_tokens(900, 900) == 560
    assert ScriptedModel().image_tokens(1024, 1024) is None
