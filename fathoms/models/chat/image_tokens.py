"""How many tokens a provider counts for an image, by the size of the image in pixels.

These are the formulas that the providers publish, as they stood in copies of their pages that were read in
November 2026. They serve estimates before a call; the bill follows the usage that the provider reports, and
some pages contradict one another or what users measured. All sizes are whole pixels, width before height.
"""

from __future__ import annotations

import math
from typing import NamedTuple

_BOX, _SHORT, _TILE = 2048, 768, 512
"""OpenAI scales an image into a square of 2048 pixels, then its shorter side to 768, and cuts it into tiles
of 512 pixels."""
_TILED = {
    "gpt-4o-mini": (2833, 5667),
    "gpt-4o": (85, 170),
    "gpt-4.1": (85, 170),
    "gpt-4.5": (85, 170),
    "gpt-5": (70, 140),
    "o1": (75, 150),
    "o3": (75, 150),
    "computer-use": (65, 129),
}
"""Tokens of an image and of each of its tiles, by the beginning of the model's name."""
_PATCH, _MOST_PATCHES = 32, 1536
_PATCHED = {
    "gpt-5-mini": 1.62,
    "gpt-5-nano": 2.46,
    "gpt-4.1-mini": 1.62,
    "gpt-4.1-nano": 2.46,
    "o4-mini": 1.72,
}
"""Tokens of a patch of 32 x 32 pixels, by the beginning of the model's name."""

_CLAUDE_PATCH = 28


class _Native(NamedTuple):
    """The largest image that a Claude model reads: its longest side in pixels, and its tokens."""

    side: int
    tokens: int


_STANDARD, _HIGH = _Native(1568, 1568), _Native(2576, 4784)
_HIGH_RESOLUTION = ("claude-opus-4-7", "claude-opus-4-8", "claude-fable-5")

_GEMINI_TOKENS, _GEMINI_SMALL = 258, 384
_GEMINI_3 = {"low": 280, "medium": 560, "high": 1120, "ultra_high": 2240}
_GEMINI_3_DEFAULT = "high"


def openai_image_tokens(model: str, width: int, height: int) -> int | None:
    """Return the tokens of an image for a model of OpenAI; `None` for a model without a known formula.

    Source: "Calculating costs" in the guide "Images and vision" of OpenAI's documentation. Models with tiles
    count a base and each tile of 512 pixels, with `detail: high`, which is what `auto` is taken for; models
    with patches count each patch of 32 pixels, at most 1,536, times a factor. Small images are not scaled up.
    For `gpt-5-mini`, a user measured 1.2 tokens a patch instead of the 1.62 of the documentation, in 2026.
    """
    found = max(filter(model.startswith, (*_TILED, *_PATCHED)), key=len, default=None)
    if found in _PATCHED:
        return math.ceil(_patches(width, height) * _PATCHED[found])
    if found is None or model.startswith("gpt-5."):  # the page has no row for the later versions
        return None
    base, tile = _TILED[found]
    scale = min(1.0, _BOX / max(width, height))
    scale *= min(1.0, _SHORT / (min(width, height) * scale))
    across, down = (math.ceil(round(side * scale) / _TILE) for side in (width, height))
    return base + tile * across * down


def _patches(width: int, height: int) -> int:
    """Return the number of OpenAI's patches. An image of more than 1,536 is scaled down: first to that area,
    then until a whole number of patches covers one of its sides."""
    needed = math.ceil(width / _PATCH) * math.ceil(height / _PATCH)
    if needed <= _MOST_PATCHES:
        return needed
    scale = math.sqrt(_PATCH**2 * _MOST_PATCHES / (width * height))
    sides = [side * scale / _PATCH for side in (width, height)]
    fit = min(max(math.floor(side), 1) / side for side in sides)
    across, down = (math.ceil(round(side * fit, 6)) for side in sides)
    return min(across * down, _MOST_PATCHES)


def anthropic_image_tokens(model: str, width: int, height: int) -> int:
    """Return the tokens of an image for a Claude model.

    Source: "Images and vision" in the documentation of the Claude platform: an image costs one token for
    each block of 28 x 28 pixels, after it has been scaled down to what the model reads, 1,568 pixels and
    1,568 tokens, or 2,576 pixels and 4,784 tokens with models of high resolution. Earlier versions of the
    page state width x height / 750, which gives up to 5 % more for large images and less for small ones.
    """
    native = _HIGH if model.startswith(_HIGH_RESOLUTION) else _STANDARD
    scale = min(1.0, native.side / max(width, height))
    tokens = _blocks(width * scale, height * scale)
    if tokens <= native.tokens:
        return tokens
    low, high = 0.0, scale  # the largest scale whose blocks are few enough, by bisection
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if _fits(width, height, middle, native) else (low, middle)
    return _blocks(width * low, height * low)


def _fits(width: int, height: int, scale: float, native: _Native) -> bool:
    """Return whether a scaled image has no more tokens than the model reads."""
    return _blocks(width * scale, height * scale) <= native.tokens


def _blocks(width: float, height: float) -> int:
    """Return the number of Claude's blocks that cover an image; sizes are rounded to whole pixels first."""
    across, down = (max(1, math.ceil(round(side) / _CLAUDE_PATCH)) for side in (width, height))
    return across * down


def gemini_image_tokens(model: str, width: int, height: int, resolution: str | None = None) -> int:
    """Return the tokens of an image for a Gemini model.

    Source: "Image understanding" and "Media resolution" in the documentation of the Gemini API. Up to
    Gemini 2.5, an image of at most 384 pixels on both sides has 258 tokens, and a larger one 258 for each of
    its tiles, whose number follows from the documented rough formula: sides divided by two thirds of the
    shorter one, rounded up. From Gemini 3 on, the number is a limit that `resolution` sets, the option
    `media_resolution` such as `MEDIA_RESOLUTION_LOW`: 280, 560, 1,120 (the default) or 2,240.
    """
    if not model.removeprefix("models/").startswith(("gemini-1", "gemini-2")):
        level = (resolution or "").lower().removeprefix("media_resolution_")
        return _GEMINI_3.get(level, _GEMINI_3[_GEMINI_3_DEFAULT])
    if max(width, height) <= _GEMINI_SMALL:
        return _GEMINI_TOKENS
    unit = max(1, math.floor(min(width, height) / 1.5))
    return _GEMINI_TOKENS * math.ceil(width / unit) * math.ceil(height / unit)
