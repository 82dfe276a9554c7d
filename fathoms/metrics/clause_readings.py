"""Assign a kind to each clause of an answer, such as abstaining, citing the source, or answering."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from fathoms.metrics.clauses import Clause, split_clauses
from fathoms.metrics.grammar import read_grammar

Kind = Literal[
    "abstains",
    "abstains exactly",  # something exact is missing
    "refuses",
    "undecided",  # has words of an abstention and no clear cue
    "aside",  # concedes that a detail is missing
    "talk",  # describes what the source contains
    "cites",  # answers with the words of the source
    "commits",  # draws a conclusion, or guesses
    "answers",
    "filler",  # carries no information about whether there is an answer
]

_ABOUT_THE_SOURCE = ("abstains", "abstains exactly", "talk", "aside")
_SILENT = ("abstains", "abstains exactly", "aside")
_CUES: tuple[tuple[Kind, str], ...] = (
    ("commits", "commit"),
    ("filler", "filler"),
    ("cites", "cite"),
    ("talk", "talk"),
    ("commits", "guess"),
)


class ClauseReading(NamedTuple):
    """A clause with its kind and its cue, the words that decided the kind."""

    kind: Kind
    text: str
    cue: str = ""
    contrasted: bool = False


def read_clauses(text: str) -> list[ClauseReading]:
    """Return the clauses of an answer with their kinds.

    Fillers are left out, and so are answering clauses that only introduce or concede something.
    """
    readings: list[ClauseReading] = []
    listing = False
    for clause in split_clauses(text):
        reading = _in_context(read_clause(clause), readings, listing)
        opens = clause.text.endswith(":")
        listing = reading.kind == "talk" and (opens or listing)
        announced = (opens or clause.conceded) and reading.kind in ("answers", "cites")
        if reading.kind != "filler" and not announced:
            readings.append(reading)
    return readings


def _in_context(reading: ClauseReading, before: Sequence[ClauseReading], listing: bool) -> ClauseReading:
    """Adjust the kind to the clauses before; `listing`: inside a list of the source's contents."""
    if reading.kind == "answers" and listing:
        # items listed under "the document mentions:" do not answer the question either
        return reading._replace(kind="talk")
    if not before:
        return reading
    find, last = read_grammar().find, before[-1].kind
    if reading.kind == "answers" and last == "talk" and find("anaphor", reading.text):
        return reading._replace(kind="talk")
    if reading.contrasted and last in _SILENT:
        turns = reading.kind in ("talk", "cites") and find("turn", reading.text)
        if turns or reading.kind == "answers":
            return reading._replace(kind="commits")
    about = last in _ABOUT_THE_SOURCE or (reading.contrasted and last == "cites")
    if reading.kind == "undecided" and about and find("hanging", reading.text):
        return reading._replace(kind="abstains")
    return reading


def read_clause(clause: Clause) -> ClauseReading:
    """Return the kind of one clause, regardless of its context."""
    return _read(clause)._replace(contrasted=clause.contrasted)


@lru_cache(maxsize=4096)
def _read(clause: Clause) -> ClauseReading:
    """Return the kind of a clause by its cues; cached, because some models repeat a clause many times."""
    find, text = read_grammar().find, clause.text
    if find("suspect", text) and not find("reported", text) and (reading := _read_suspect(clause)):
        return reading
    for kind, name in _CUES:
        if (cue := find(name, read_grammar().body(text) if kind == "filler" else text)) is not None:
            return ClauseReading(kind, text, cue)
    return ClauseReading("answers", text)


def _read_suspect(clause: Clause) -> ClauseReading | None:
    """Return the kind of a clause that may abstain, or `None` if it does not."""
    find, text = read_grammar().find, clause.text
    if cue := find("refusal", text):
        return ClauseReading("refuses", text, cue)
    exact, body = bool(find("exact", text)), read_grammar().body(text)
    # A clear cue may also begin the text after its lead.
    cue = find("clear", text) or (find("clear", body) if body != text else None)
    if not cue:
        likely = find("likely", text)
        cue = likely or find("vague", text)
        if not cue:
            return None
        if not (clause.conceded or exact or (likely and find("anchor", text))):
            return ClauseReading("undecided", text, cue)
    if clause.conceded or find("aside", text):
        return ClauseReading("aside", text, cue)
    return ClauseReading("abstains exactly" if exact or find("asks", text) else "abstains", text, cue)
