"""A scripted model that makes a question set of any text: it asks what follows two words of a passage.

Its replies follow from the prompts by regular expressions, so what becomes of each draft is known exactly.
"""

from __future__ import annotations

import json
from typing import Any

ASKED = "What follows the words"
PATTERNS = {
    # the first three long words of the passage that stand beside one another
    r"\nPassage:\n\n.*?\b([a-z]{4,}) ([a-z]{4,}) ([a-z]{4,})\b.*\nWrite one question": (
        r'{"worth": "yes", "question": "What follows the words \1 \2 here?", "answer": "\3",'
        r' "quote": "\1 \2 \3"}'
    ),
    # the first passage with the two words answers the question
    r"\[(\d+)\] Page [^[]*?\b([A-Za-z]+ [A-Za-z]+)\s([A-Za-z]+)\b.*Which of these passages"
    r".*What follows the words \2 here": r'{"answers": [{"passage": \1, "answer": "\3"}]}',
    r"Which of these passages": '{"answers": []}',
    r"the words ([A-Za-z]+ [A-Za-z]+) here\?\nAnswer: ([A-Za-z]+)\nWrite the gold": (
        r'{"short": "\2", "long": "The words \1 are followed by \2.", "phrases": [["\2"]]}'
    ),
    r"Answer the question from what you know": "I do not know. Confidence: 0.1",
    r'"self-contained": Can': json.dumps(
        {key: {"reason": "", "verdict": "yes"} for key in ("self-contained", "no-source", "natural")}
    ),
    r"significant in the evidence": '{"reason": "", "verdict": "yes"}',
    r"([A-Za-z]+ [A-Za-z]+)\s.*Does this page hold.*What follows the words \1 here": "yes",
    r"Question: What follows the words ([A-Za-z]+) ([A-Za-z]+) here\?\nChange this": (
        r'{"question": "What follows the words \1 zorblatt here?", "detail": "\2", "replacement": "zorblatt"}'
    ),
}


def scripted(**further: str) -> dict[str, Any]:
    """The settings of the model. `further` are replies by texts, which come before all patterns."""
    return {
        "kind": "scripted",
        "patterns": PATTERNS,
        "replies": further,
        "default": "no",
        "max_tokens": 4096,
    }


def recipe(**settings: Any) -> dict[str, Any]:
    """The settings of a build with the scripted model, and with BM25 alone, which needs no model."""
    return {
        "model": scripted(),
        "clarity": {"retrievers": [{"kind": "bm25", "top_k": 20}], "top": 4},
        "checks": {"checklist": False},
        "embed": {"kind": "lexical"},
        **settings,
    }
