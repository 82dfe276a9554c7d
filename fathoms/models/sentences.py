"""The splitting of texts into sentences, for several metrics and chunkers."""

from __future__ import annotations

import re

from fathoms.models import punkt

ABBREVIATIONS = frozenset(
    [
        "al",
        "approx",
        "ca",
        "cf",
        "ch",
        "dr",
        "e.g",
        "ed",
        "eds",
        "eq",
        "eqs",
        "etc",
        "fig",
        "figs",
        "i.e",
        "inc",
        "jr",
        "ltd",
        "mr",
        "mrs",
        "ms",
        "mt",
        "no",
        "nos",
        "p",
        "pp",
        "prof",
        "resp",
        "sec",
        "sr",
        "st",
        "tab",
        "u.k",
        "u.s",
        "vol",
        "vs",
    ]
)
"""What ends with a full stop that ends no sentence, in lower case and without it."""


def sentences(text: str) -> list[str]:
    """Split a text into sentences: by lines, then by the Punkt algorithm with a list of abbreviations.

    Punkt's trained parameters must be downloaded, so they are not used. Lines without a letter or digit are
    left out, and so are the marks of lists and headings.
    """
    found: list[str] = []
    for line in text.splitlines():
        line = re.sub(r"^\s*(?:[-*#>•]+|\d+[.)])\s+", "", line).strip()
        if re.search(r"\w", line):
            found += punkt.split(line, ABBREVIATIONS)
    return found


def all_sentences(text: str) -> list[str]:
    """Split a text into sentences by the same algorithm, with nothing left out but the spaces between them;
    a sentence may go over several lines."""
    return punkt.split(text, ABBREVIATIONS)
