"""Split answers into clauses: plain lower-case text without mark-up, one statement per clause."""

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
_HEADING = re.compile(r"^\s*+(?P<heading>#+ .*$)?", re.MULTILINE)
"""The white space before a line, together with the line if it is a heading. The quantifier is possessive:
otherwise a long run of empty lines would be scanned again from each of them, in quadratic time."""
_BULLET = re.compile(r"^[^\S\n]*(?:[-+•>|]|\d{1,3}[.)]\s)\s*", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+|(?<=[\u3002\uff01\uff1f\uff1b])|;\s+|\n+")
_JOINT = re.compile(
    r"(,? (?:but|however|yet|whereas)\b,? "
    r"|,(?= so (?!that\b|far\b|as\b))"
    r"|,? (?=(?:although|though|even though|despite|because|when|if|while(?! \w+ing))\b)"
    r"|,? and (?=(?:gives?|provides?|contains?|includes?|lists?|reports?|does|do|no)\b)"
    r"|,(?= (?:and|nor|therefore|thus) (?:it|there|i|we|no|does|do)\b)"
    r"|,(?= (?:and|nor|therefore|thus) the (?:\w+ ){1,4}?(?:is|are|was|were|does|do|has|have)\b)"
    r"|,? (?=(?:aber|jedoch|obwohl|mais|cependant|bien que|pero|aunque|sin embargo)\b)"
    r"|\uff0c(?=但|然而|不过|虽然|尽管)"
    r"| - |\s?[\u2014\u2013]\s)"
)
_CONTRAST = re.compile(
    r"\W*(?:but|however|yet|whereas|unfortunately|regrettably|still|nonetheless|nevertheless|although|though"
    r"|even though|even if|while|despite|aber|jedoch|obwohl|mais|cependant|bien que|pero|aunque|sin embargo"
    r"|但|然而|不过|虽然|尽管)(?!\w)"
)
_INTERJECTION = re.compile(
    r", (?:(?:though|however|unfortunately|regrettably|alas)|of course|to my knowledge"
    r"|as far as (?:i|we|one) can (?:tell|see))(?:, |(?=\W*$))"
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
    """A clause of an answer: the smallest part that makes one statement."""

    text: str
    conceded: bool = False
    """Whether the sentence only concedes it (`although ...`) or puts it in parentheses."""
    contrasted: bool = False
    """Whether it is contrasted with the text before it (`but ...`)."""


def normalise(text: str) -> str:
    """Return the text in lower case, with plain punctuation, and without mark-up, headings and quotations.

    Quotations are replaced because they are not the answer's own words, unless the whole text is one.
    """
    text = text.replace("*", "").replace("`", "") if text.isascii() else text.translate(_MARKS)
    if "#" in text:  # a heading is removed; the white space before any other line stays
        text = _HEADING.sub(lambda line: "" if line["heading"] else line[0], text)
    if '"' in text and not re.fullmatch(r'\s*"[^"]*"\s*', text):
        text = _QUOTE.sub('"quote"', text)
    return text.lower()


def split_clauses(text: str) -> list[Clause]:
    """Split an answer into its clauses, in order, without headings, bullets and quotations."""
    clauses: list[Clause] = []
    for sentence in _SENTENCE_END.split(_BULLET.sub("", normalise(text))):
        plain = " ".join(sentence.strip(" _|\t").split())
        clauses += [clause for clause in _cut(plain) if re.search(r"\w", clause.text)]
    return clauses


def _cut(sentence: str) -> Iterator[Clause]:
    """Split a sentence into clauses; text in parentheses comes last."""
    main = _PARENTHESIS.sub("", sentence)
    if _INTERJECTION.search(main):
        # In front, an interjection (`the number, however, is ...`) does not split the sentence.
        main = f"however, {_INTERJECTION.sub(' ', main)}"
    pieces = ["", *_JOINT.split(main)]
    for joint, part in zip(pieces[::2], pieces[1::2], strict=True):
        yield from _cut_concession(part.strip(" ,.!"), bool(_CONTRAST.match(f"{joint}{part}")))
    for aside in _PARENTHESIS.findall(sentence):
        yield Clause(aside, conceded=True)


def _cut_concession(part: str, contrasted: bool) -> Iterator[Clause]:
    """Split off a leading concession (`although ..., `) from the main clause, if there is one."""
    if _CONCESSION.match(part):
        comma = _MAIN_CLAUSE.search(part) or _COMMA.search(part)
        granted, part = (part[: comma.start()], part[comma.end() :]) if comma else (part, "")
        yield Clause(granted, conceded=True)
    yield Clause(part, contrasted=contrasted)
