"""Finds other forms of a gold phrase that its documents use: inflected, abbreviated, or written out.

Whole words are matched, so "pump" is not found in "two pumps", nor "CNN" in "convolutional neural network".
The scoring stays as strict as it is; the author of a question can add the other forms as variants.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from fathoms.extras.questions.finding import Found, Subject
from fathoms.metrics.phrase_recall import Folded
from fathoms.models.stems import stem
from fathoms.types import Question

MOST_WORDS = 4
"""A longer phrase is hardly repeated in any inflection; richer forms serve it better."""
SHOWN = 3
_WORD = re.compile(r"[^\W\d_]{3,40}")
_IN_BRACKETS = re.compile(r"\(([A-Z][A-Za-z]{1,9})\)")
_BEFORE = re.compile(r"[^\W_]+")
_WITH_POINTS = re.compile(r"(?:[A-Za-z]\.){2,10}")
_LONGEST = 200

Stems = Mapping[str, frozenset[str]]
"""The words of a text by their stem, in lower case."""


def other_forms(subject: Subject) -> Iterator[Found]:
    """Report a short phrase that the documents also have in another form, which no variant has."""
    known: dict[str, tuple[Folded, Stems, Mapping[str, str]]] = {}
    for number, question in enumerate(subject.questions):
        names = subject.texts.gold_documents(question) if question.answerable else None
        for name in names or ():
            if name not in known:
                text = subject.texts.parsed.whole(name, subject.texts.match)
                known[name] = text, _stems(text), dict(_abbreviations(text.raw))
        sources = [known[name] for name in names or ()]
        for index, variant in enumerate(question.answers):
            for place, phrase in enumerate(variant):
                if not isinstance(phrase, str) or len(phrase.split()) > MOST_WORDS:
                    continue
                forms = dict.fromkeys(form for source in sources for form in _forms(subject, phrase, *source))
                if new := [form for form in forms if not _is_found(subject, question, form)][:SHOWN]:
                    named = "' or '".join(new)
                    message = (
                        f"an answer may say it as the documents do, where '{phrase}' is not found: add a"
                        f" variant with '{named}'"
                    )
                    yield Found(message, number, ("answers", index, place))


def _is_found(subject: Subject, question: Question, form: str) -> bool:
    """Return whether a phrase of any variant finds a form already."""
    text = subject.texts.fold(form)
    return any(subject.texts.holds(text, phrase) for variant in question.answers for phrase in variant)


def _forms(
    subject: Subject, phrase: str, text: Folded, stems: Stems, abbreviations: Mapping[str, str]
) -> Iterator[str]:
    """Yield the other forms of a phrase, each with one of its words changed."""
    if _WITH_POINTS.fullmatch(phrase.strip()):
        yield phrase.replace(".", "").strip()
    folded = " ".join(phrase.split()).casefold()
    if folded in abbreviations:
        yield abbreviations[folded]
    for word in _WORD.finditer(phrase):
        own = word[0].casefold()
        for other in sorted(stems.get(stem(own), frozenset()) - {own}):
            shown = word[0] + other[len(own) :] if other.startswith(own) else other
            form = phrase[: word.start()] + shown + phrase[word.end() :]
            if subject.texts.holds(text, form):
                yield form


def _stems(text: Folded) -> Stems:
    """Return the words of a folded text by their stem."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for word in {match[0] for match in _WORD.finditer(text.casefold())}:
        found[stem(word)].add(word)
    return {own: frozenset(words) for own, words in found.items()}


def _abbreviations(text: str) -> Iterator[tuple[str, str]]:
    """Yield the pairs of `long form (LF)` both ways: in lower case, and as the other one is written."""
    for match in _IN_BRACKETS.finditer(text):
        letters = match[1].removesuffix("s") if match[1][:-1].isupper() else match[1]
        words = list(_BEFORE.finditer(text, max(0, match.start() - _LONGEST), match.start()))[-len(letters) :]
        if len(words) == len(letters) and _initials(words) == letters.casefold():
            long = " ".join(text[words[0].start() : match.start()].split())
            yield long.casefold(), match[1]
            yield match[1].casefold(), long


def _initials(words: Sequence[re.Match[str]]) -> str:
    """Return the first letters of some words, in lower case."""
    return "".join(word[0][0] for word in words).casefold()
