"""Answers as clauses: plain lower-case text without mark-up, cut where a new statement begins."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_MARKS = str.maketrans(
    dict.fromkeys("\u2019\u2018\u00b4\u02bc", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb\u300c\u300d", '"')
    | dict.fromkeys("\u2010\u2011", "-")
    | dict.fromkeys("\u00a0\u202f\u2009", " ")
    | dict.fromkeys("*`\u200b", "")
)
_QUOTE = re.compile(r'(?<![\w"])"[^"]{12,1500}"(?!\w)')
_HEADING = re.compile(r"^\s*#+ .*$", re.MULTILINE)
_BULLET = re.compile(r"^\s*(?:[-+•>|]|\d{1,3}[.)]\s)\s*")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+|(?<=[\u3002\uff01\uff1f\uff1b])|;\s+|\n+")
_JOINT = re.compile(
    r",? (?:but|however|yet|so|whereas)\b,? "
    r"|,? (?=(?:although|though|even though|despite|because|when|if|while(?! \w+ing))\b)"
    r"|,? and (?=(?:gives?|provides?|contains?|includes?|lists?|reports?|does|do|no)\b)"
    r"|,(?= (?:and|nor|therefore|thus) (?:it|the|there|i|we|no|does|do)\b)"
    r"|,? (?=(?:aber|jedoch|obwohl|mais|cependant|bien que|pero|aunque|sin embargo)\b)"
    r"|\uff0c(?=但|然而|不过|虽然|尽管)"
    r"| - |\s?[\u2014\u2013]\s"
)
_CONCESSION = re.compile(
    r"(?:while|although|though|even though|even if|despite|because|since|given that|when|if)\b"
    r"|(?:obwohl|bien que|aunque)\b|虽然|尽管"
)
_MAIN_CLAUSE = re.compile(
    r", (?=(?:it|they|the|there|no|this|i|we|its|specific|exact|neither|nothing|details?|information|one)\b)"
)
_COMMA = re.compile(r", |\uff0c")
_PARENTHESIS = re.compile(r"\(([^()]{20,})\)")


class Clause(NamedTuple):
    """A part of an answer that stands for itself; `conceded` where its sentence only grants it."""

    text: str
    conceded: bool = False


def normalise(text: str) -> str:
    """Lower case, plain marks, no mark-up; what an answer quotes is not its own words and is left out."""
    text = _HEADING.sub("", text.translate(_MARKS))
    if not re.fullmatch(r'\s*"[^"]*"\s*', text):
        text = _QUOTE.sub('"quote"', text)
    return text.lower()


def split_clauses(text: str) -> list[Clause]:
    """The clauses of an answer, in order; headings, bullets and quotations are not among them."""
    clauses: list[Clause] = []
    for sentence in _SENTENCE_END.split(normalise(text)):
        plain = " ".join(_BULLET.sub("", sentence).strip(" _|\t").split())
        clauses += [clause for clause in _cut(plain) if re.search(r"\w", clause.text)]
    return clauses


def _cut(sentence: str) -> Iterator[Clause]:
    """The clauses of a sentence; what stands in parentheses comes last."""
    for part in _JOINT.split(_PARENTHESIS.sub("", sentence)):
        part = part.strip(" ,.!")
        if _CONCESSION.match(part):
            comma = _MAIN_CLAUSE.search(part) or _COMMA.search(part)
            granted, part = (part[: comma.start()], part[comma.end() :]) if comma else (part, "")
            yield Clause(granted, conceded=True)
        yield Clause(part)
    for aside in _PARENTHESIS.findall(sentence):
        yield Clause(aside, conceded=True)
