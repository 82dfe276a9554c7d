"""Which vectors of a page picture stand for which part of the page, and which vectors of a question for its
words.

Models of late interaction give a vector for each token of what they read: the patches of the page or the
words of the question, and around them the tokens of a prompt. Those say nothing about the page, and are often
similar to everything, so a heatmap leaves them out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class Patches(NamedTuple):
    """The patches of a page picture, which form a grid of `rows` times `columns`. They are consecutive
    vectors of the page, row by row from the top left, of which `first` is the number of the first one."""

    columns: int
    rows: int
    first: int


class Words(NamedTuple):
    """The vectors of a question that stand for its own words: those from `first` up to and without `end`."""

    first: int
    end: int


def patches(model: Any, sizes: Sequence[tuple[int, int]]) -> list[Patches | None]:
    """Return the patches that a loaded MultiVectorEncoder makes of pictures of these widths and heights in
    pixels; `None` where they form no grid, as with models that look at parts of a picture one by one."""
    found = {size: _patches(model, size) for size in set(sizes)}
    return [found[size] for size in sizes]


def words(model: Any, questions: Sequence[str], prompt: str | None = None) -> list[Words]:
    """Return which vectors of each question stand for its words, for a loaded MultiVectorEncoder.

    `prompt` is the text that is put before each question; `None` is the model's own.
    """
    from sentence_transformers.multi_vector_encoder.interpretability import real_query_token_slice

    own = dict(model.prompts)
    try:
        if prompt is not None:
            model.prompts["query"] = prompt  # the library looks for the prompt there only
        slices = [real_query_token_slice(model, question) for question in questions]
    finally:
        model.prompts = own
    return [Words(one.start, one.stop) for one in slices]


def _patches(model: Any, size: tuple[int, int]) -> Patches | None:
    """Return the patches of a picture of one size."""
    from PIL import Image
    from sentence_transformers.multi_vector_encoder.interpretability import get_n_patches

    try:
        columns, rows = get_n_patches(model, size)
    except (NotImplementedError, ValueError):
        return None
    read = model.preprocess([Image.new("RGB", size)], task="document")
    tokens = read["input_ids"][0][read["attention_mask"][0].bool()]
    places = (tokens == model.processor.image_token_id).nonzero().flatten().tolist()
    if not places or places != list(range(places[0], places[0] + columns * rows)):
        return None
    return Patches(columns, rows, places[0])
