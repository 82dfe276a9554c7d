"""Reads one line or one question from the reply of a model, which may add labels, quotes and emphasis, and
finds names in a text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fathoms.extras.questions.drafting import QUESTION_MARKS
from fathoms.metrics.phrase_recall import fold_text, stands_in

_LABEL = re.compile(r"^\W*(?:(?:sub-?|rewritten |natural |final |the )*question|answer|summary)\s*:\s*", re.I)
_SHORTEST = 4
_MARKS = " \t\"'*_`“”„«»"


def one_line(reply: str) -> str | None:
    """Return a reply on one line; `None` if it is empty."""
    return _bare(" ".join(reply.split())) or None


def one_question(reply: str) -> str | None:
    """Return the only line of a reply that is a question; `None` if none is, or several are different."""
    lines = [_bare(line.strip()) for line in reply.splitlines()]
    found = {line for line in lines if line.endswith(QUESTION_MARKS) and len(line) > _SHORTEST}
    return found.pop() if len(found) == 1 else None


def named(names: Sequence[str], text: str) -> str | None:
    """Return the longest of some names that a text has, `None` if it has none."""
    folded = (fold_text(text, "word"),)
    found = (name for name in sorted(names, key=len, reverse=True) if stands_in(folded, name, "word", "both"))
    return next(found, None)


def _bare(line: str) -> str:
    """Return a line without a label, quotation marks and emphasis around it."""
    return _LABEL.sub("", line.strip(_MARKS)).strip(_MARKS)
