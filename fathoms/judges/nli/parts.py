"""Long premises in parts of whole sentences, and premises cut to the tokens that a model can read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any


def parts(sentences: Iterable[str], most: int, size: Callable[[str], int]) -> Iterator[list[str]]:
    """Group sentences, in their order, into parts whose sizes add up to at most `most`.

    A sentence that is larger is a part of its own.
    """
    part: list[str] = []
    filled = 0
    for sentence in sentences:
        more = size(sentence)
        if part and filled + more > most:
            yield part
            part, filled = [], 0
        part.append(sentence)
        filled += more
    if part:
        yield part


def fitted(tokenizer: Any, write: Callable[[str], str], premise: str, most: int) -> tuple[str, bool]:
    """Return `write(premise)`, and whether the end of the premise was cut off so that it has at most `most`
    tokens. The claim, which `write` puts after the premise, is never cut."""
    text = write(premise)
    over = _tokens(tokenizer, text) - most
    if over <= 0:
        return text, False
    ends = [
        end
        for _, end in tokenizer(
            premise, add_special_tokens=False, return_offsets_mapping=True, truncation=False, verbose=False
        )["offset_mapping"]
    ]
    # a cut can change how the last word is split into tokens, so a few more may have to go
    for count in range(len(ends) - over, 0, -1):
        text = write(premise[: ends[count - 1]])
        if _tokens(tokenizer, text) <= most:
            return text, True
    return write(""), True


def _tokens(tokenizer: Any, text: str) -> int:
    """Count the tokens of a text, with those that the model adds."""
    return len(tokenizer(text, truncation=False, verbose=False)["input_ids"])
