"""The gold answers of VisRAG's test sets (Yu et al. 2024), whose tables have the layout of ViDoRe.

A query is one of VisRAG by its id: that of its page with a number behind it (`6519.png-1`), or for slides,
the ids of its pages with `query_number` behind them. The forms of an answer, and the five per cent by which a
number may be off, are those of the authors' script (scripts/generate/generate.py of OpenBMB/VisRAG).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from fathoms.corpora.released import short_gold, text_of

TOLERANCE = "5%"
"""How far a number may be off."""
_LETTERED = re.compile(r"\s*([A-Z])[).:]\s*(.+)", re.DOTALL)
_NAMED = re.compile(r"\s*([A-Za-z])(?:[).:\s].*)?", re.DOTALL)


def is_visrag(query: str, pages: Collection[str]) -> bool:
    """Whether the id of a query is built as in VisRAG; `pages` are the ids of the corpus."""
    return "query_number" in query or query.rpartition("-")[0] in pages


def gold_of(row: dict[str, Any]) -> dict[str, Any]:
    """Return the gold answer of a query in the keys of `rows`, empty if there is none.

    Of options, the right one is the one whose letter the answer is or begins with. Any text of a list is
    accepted.
    """
    answer, options = row.get("answer"), row.get("options")
    if options and isinstance(options, list) and all(isinstance(one, str) for one in options):
        return _by_option(str(answer or ""), options)
    if isinstance(answer, int | float) and not isinstance(answer, bool):
        number = {"number": answer, "tolerance": TOLERANCE} if answer else {"number": answer}
        return {"answers": [[number]], "short_answer": str(answer)}
    if isinstance(answer, list):
        texts = [one for one in answer if isinstance(one, str) and one.strip()]
        accepted = [short_gold(one)["answers"][0] for one in texts]
        return {"answers": accepted, "short_answer": texts[0]} if texts else {}
    text = text_of(row, "answer")
    return {} if text is None else short_gold(text)


def _by_option(answer: str, options: list[str]) -> dict[str, Any]:
    """Return the options by their own letters if all have one, or else by their places, and the right one;
    empty if none is named, or two have the same letter."""
    lettered = [found for one in options if (found := _LETTERED.fullmatch(one))]
    if len(lettered) == len(options):
        named = {found[1]: found[2].strip() for found in lettered}
    else:
        named = {chr(ord("A") + number): one.strip() for number, one in enumerate(options)}
    letter = _NAMED.fullmatch(answer)
    right = letter[1].upper() if letter else ""
    return {"options": named, "right": right} if right in named and len(named) == len(options) else {}
