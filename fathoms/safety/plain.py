"""Text on one line, without characters that nobody sees."""

from __future__ import annotations

import unicodedata

JOINERS = "\u200c\u200d"
UNSEEN = frozenset({"Cc", "Cf", "Cs", "Cn"})


def plain(text: object) -> str:
    """Return `text` on one line, without invisible characters that control terminals or direction."""
    text = str(text)
    if text.isprintable():  # nothing to leave out, and much faster to find out
        return " ".join(text.split())
    visible = (c for c in text if c.isspace() or c in JOINERS or unicodedata.category(c) not in UNSEEN)
    return " ".join("".join(visible).split())
