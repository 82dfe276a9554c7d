"""Did the server read all of the prompt? Some cut what does not fit, and say nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fathoms.types import Message, Prompt, Usage

_RUN = re.compile(r"[A-Za-z']+|\d+")
_RUN_OR_SIGNS = re.compile(rf"{_RUN.pattern}|(?<!\S)[^\sA-Za-z'\d]+(?!\S)")
"""The same, and words without any."""


def prompt_cut(prompt: Prompt, usage: Usage, n_ctx: int | None) -> bool | None:
    """What the server's own count proves; `None` where it proves nothing.

    True where fewer tokens were read than were sent for certain; where the context of `n_ctx` tokens is
    full; and where prompt and reply together are longer than the context, for then its beginning was
    dropped while the reply was written. False where the server had counted this prompt beforehand
    (`Prompt.tokens`) and read as many.
    """
    read = usage.prompt_tokens
    if not read:  # old servers said 0 where the whole prompt was in their cache
        return None
    if read < max(prompt.tokens or 0, fewest_tokens(prompt.messages)):
        return True
    if n_ctx is not None and (read >= n_ctx or read + (usage.completion_tokens or 0) > n_ctx):
        return True
    return None if prompt.tokens is None else False


def fewest_tokens(messages: Sequence[Message]) -> int:
    """A lower bound of the tokens of the messages, whatever the tokenizer.

    No tokenizer of a language model joins two words, or letters and digits; templates only add. Words
    with other than ASCII letters count once: where a script has marks or no spaces, a run of letters
    proves nothing.
    """
    return sum(_fewest_in(message.text) for message in messages)


def _fewest_in(text: str) -> int:
    """The sum over the words of a text, which is quick where all are ASCII."""
    if text.isascii():
        return len(_RUN_OR_SIGNS.findall(text))
    return sum(_fewest(word) for word in text.split())


def _fewest(word: str) -> int:
    """The runs of letters and of digits in a word, at least one."""
    return max(1, len(_RUN.findall(word))) if word.isascii() else 1
