"""Detects prompts that a server did not read completely, as some servers silently cut what does not fit."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fathoms.types import Message, Prompt, Usage

_RUN = re.compile(r"[A-Za-z']+|\d+")
_KINDS = bytes(
    ord("a" if chr(n).isalpha() or n == 39 else "0" if chr(n).isdigit() else " " if chr(n).isspace() else "#")
    for n in range(256)
)
"""Maps a byte of ASCII text to its kind: `a` for a letter or an apostrophe, `0`, a space, or `#`."""
_BEGINNINGS = (b" a", b"0a", b"#a", b" 0", b"a0", b"#0")
"""What begins a run of letters or digits; counting these is much faster than a search by a pattern."""
_SIGNS = re.compile(rb" (?=#+(?: |\Z))")
"""The beginning of a word without letters and digits."""


def prompt_cut(prompt: Prompt, usage: Usage, n_ctx: int | None) -> bool | None:
    """Return whether the server cut the prompt, judged by its own token counts; `None` if they prove nothing.

    True if the server read fewer tokens than the prompt certainly has; if the prompt fills the context of
    `n_ctx` tokens; or if prompt and reply together exceed the context, because then the beginning of the
    prompt was dropped while the reply was generated. False if the server had counted the prompt before
    (`Prompt.tokens`) and read at least as many tokens.
    """
    read = usage.prompt_tokens
    if not read:  # old servers report 0 if the whole prompt was in their cache
        return None
    if read < max(prompt.tokens or 0, fewest_tokens(prompt.messages)):
        return True
    if n_ctx is not None and (read >= n_ctx or read + (usage.completion_tokens or 0) > n_ctx):
        return True
    return None if prompt.tokens is None else False


def fewest_tokens(messages: Sequence[Message]) -> int:
    """Return a lower bound of the number of tokens of the messages that holds for every tokenizer.

    It assumes that no tokenizer puts two words, or letters and digits, into one token, and that chat
    templates only add tokens. A word with non-ASCII characters counts as one token, because in scripts with
    combining marks or without spaces, the number of runs of letters is not a lower bound.
    """
    found = 0
    for text in (message.text for message in messages):
        if text.isascii():  # faster than word by word
            kinds = b" " + text.encode().translate(_KINDS)
            found += sum(map(kinds.count, _BEGINNINGS)) + len(_SIGNS.findall(kinds))
        else:
            found += sum(max(1, len(_RUN.findall(word))) if word.isascii() else 1 for word in text.split())
    return found
