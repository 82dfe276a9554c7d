"""Linter rules that look only at the question file, not at the documents."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator

from fathoms.config import Key
from fathoms.extras.questions.advice import wider
from fathoms.extras.questions.finding import Found, Subject
from fathoms.extras.questions.scaffold import PLACEHOLDER
from fathoms.gate.precision import WIDEST, interval_width, needed
from fathoms.metrics.gold.matching import is_slow
from fathoms.metrics.gold.units import meanings
from fathoms.metrics.ingestion import is_yes_no
from fathoms.text.folding import fold_words
from fathoms.types import GoldList, GoldNear, GoldNumber, GoldPhrase, GoldRegex, Question

_LAYOUT = "\n\r\t"
_ASKS_FOR_SOURCE = re.compile(
    r"\b(?:which|what)\b(?:\s+of\s+the)?(?:\s+(?:other|single|supplied|given|pdf|printed))?"
    r"\s+(?:pages?|files?|documents?|sources?|references?|citations?|footnotes?|pdfs?)\b|\bpage number\b",
    re.IGNORECASE,
)
_LIKE_A_SOURCE = re.compile(
    r"\d{1,4}|(?:pages?|pp?\.)\s?\d{1,4}|\[[\d, ]{1,20}\]|.{1,200}\.(?:pdf|docx|pptx|html?)", re.IGNORECASE
)


def skipped(subject: Subject) -> Iterator[Found]:
    """Report what the reader of the question file skipped."""
    for line, what in subject.skipped:
        yield Found(what, line=line)


def placeholder(subject: Subject) -> Iterator[Found]:
    """Report template text that has not been replaced yet."""
    for number, question in enumerate(subject.questions):
        for key, text in _texts(question):
            if text.startswith(PLACEHOLDER):
                yield Found("still to be filled in", number, key)


def encoding(subject: Subject) -> Iterator[Found]:
    """Report control characters and traces of a wrong encoding, which no document contains."""
    for number, question in enumerate(subject.questions):
        for key, text in _texts(question):
            if (fault := _garbled(text)) is not None:
                yield Found(fault, number, key)


def _garbled(text: str) -> str | None:
    """Say what is wrong with the characters of a text; `None` if nothing is."""
    for character in text:
        if character == "\ufffd":
            return "contains U+FFFD, which replaces a character that could not be decoded: replace it"
        if unicodedata.category(character) == "Cc" and character not in _LAYOUT:
            return f"contains the control character U+{ord(character):04X}: remove it"
    try:
        meant = text.encode("cp1252").decode("utf-8")
    except UnicodeError:
        return None
    return None if meant == text else f"was read in a wrong encoding: '{text[:60]}' was '{meant[:60]}'"


def duplicate(subject: Subject) -> Iterator[Found]:
    """Report a question that is asked twice about the same files, which would count twice in every mean."""
    yield from _repeated(subject, same_files=True)


def same_text(subject: Subject) -> Iterator[Found]:
    """Report two questions with the same words about different files: a pipeline that searches all documents
    cannot know which file is meant."""
    yield from _repeated(subject, same_files=False)


def _repeated(subject: Subject, *, same_files: bool) -> Iterator[Found]:
    """Report each question with the text of an earlier one, either about the same files or about others."""
    seen: dict[str, list[Question]] = {}
    for number, question in enumerate(subject.questions):
        before = seen.setdefault(fold_words(question.text, hyphens=True), [])
        twins = [other for other in before if set(other.files) == set(question.files)]
        if same_files and twins:
            yield Found(f"the same question as '{twins[0].id}', of the same files", number, ("question",))
        elif not same_files and before and not twins:
            message = f"the same words as '{before[0].id}', of other files: name what it is about"
            yield Found(message, number, ("question",))
        before.append(question)


def unanswerable_with_answers(subject: Subject) -> Iterator[Found]:
    """Report a question that is marked unanswerable but has answers."""
    for number, question in enumerate(subject.questions):
        if not question.answerable and question.answers:
            yield Found("has both 'answerable: false' and answers: remove one of them", number, ("answers",))


def empty_phrase(subject: Subject) -> Iterator[Found]:
    """Report a phrase that is empty after normalisation, so that no answer can contain it."""
    for number, question in enumerate(subject.questions):
        for key, phrase in _phrases(question):
            if not subject.texts.fold(phrase).strip():
                yield Found(f"'{phrase}' is empty after normalisation: no answer can contain it", number, key)


def given_away(subject: Subject) -> Iterator[Found]:
    """Report an answer that its question contains: repeating the question would score as correct."""
    for number, question in enumerate(subject.questions):
        text = subject.texts.fold(question.text)
        for index, variant in enumerate(question.answers):
            if variant and not is_yes_no(variant) and all(subject.texts.holds(text, p) for p in variant):
                said = "', '".join(map(str, variant))
                message = f"the question states the answer '{said}': repeating the question would be correct"
                yield Found(message, number, ("answers", index))
                break


def few_questions(subject: Subject) -> Iterator[Found]:
    """Report a category with so few questions that its mean has a very wide interval."""
    answerable = Counter(question.category for question in subject.questions if question.answerable)
    for category, n in answerable.items():
        width = interval_width(n)
        if width > WIDEST:
            yield Found(
                f"'{category}' has {n} answerable question{'s' if n > 1 else ''}: the 95 % interval of its"
                f" mean can be {width:.2f} wide; with {needed(WIDEST)}"
                f" questions, at most {WIDEST:.2f}",
                category=category,
            )


def empty_category(subject: Subject) -> Iterator[Found]:
    """Report a category without any question, or without any answerable question."""
    answerable = {question.category for question in subject.questions if question.answerable}
    used = dict.fromkeys(question.category for question in subject.questions)
    for category in {**subject.places.categories, **used}:
        if category not in used:
            yield Found(f"'{category}' has no question", category=category)
        elif category not in answerable:
            yield Found(
                f"'{category}' has no answerable question: it has no correctness, and is left out of the"
                " mean of the categories",
                category=category,
            )


def _texts(question: Question) -> Iterator[tuple[Key, str]]:
    """Yield every text of a question with its key."""
    yield ("question",), question.text
    yield ("category",), question.category
    yield ("id",), question.id
    for key in ("reference", "short_answer", "long_answer"):
        yield (key,), getattr(question, key) or ""
    for index, claim in enumerate(question.reference_claims):
        yield ("reference_claims", index), claim
    for index, nugget in enumerate(question.nuggets):
        for at, text in enumerate((nugget.question, *nugget.answers)):
            yield ("nuggets", index, *(("answers", at - 1) if at else ("question",))), text
    for index, fact in enumerate(question.facts):
        yield ("facts", index, "text"), fact.text
    for index, quote in enumerate(question.quotes):
        yield ("quotes", index, "text"), quote.text
    yield from _phrases(question)
    for index, evidence in enumerate(question.evidence):
        yield ("evidence", index, "quote"), evidence.quote or ""


def _phrases(question: Question) -> Iterator[tuple[Key, str]]:
    """Yield every phrase of every answer variant with its key, also those inside `near` and `list`."""
    for key, form in _forms(question):
        if isinstance(form, str):
            yield key, form


def unknown_unit(subject: Subject) -> Iterator[Found]:
    """Report a unit that cannot be converted, so that an answer must contain it as a word."""
    for number, question in enumerate(subject.questions):
        for key, form in _forms(question):
            if isinstance(form, GoldNumber) and form.unit and not meanings(form.unit):
                message = f"fathoms does not convert the unit '{form.unit}': it is looked for as a word"
                yield Found(message, number, (*key, "unit"))


def slow_expression(subject: Subject) -> Iterator[Found]:
    """Report a regular expression that takes too long on a long word, a long number or a long line."""
    for number, question in enumerate(subject.questions):
        for key, form in _forms(question):
            if isinstance(form, GoldRegex) and is_slow(form):
                message = "the regular expression can take very long: avoid a repetition inside a repetition"
                yield Found(message, number, (*key, "regex"))


def _forms(question: Question) -> Iterator[tuple[Key, GoldPhrase]]:
    """Yield every phrase and every form of every variant with its key, also those inside others."""
    for index, variant in enumerate(question.answers):
        for place, form in enumerate(variant):
            yield from _inside(form, ("answers", index, place))


def _inside(form: GoldPhrase, key: Key) -> Iterator[tuple[Key, GoldPhrase]]:
    """Yield a form with its key, and then the forms inside it."""
    yield key, form
    if isinstance(form, GoldNear | GoldList):
        name, parts = ("near", form.near) if isinstance(form, GoldNear) else ("list", form.list)
        for index, part in enumerate(parts):
            yield from _inside(part, (*key, name, index))


def narrow_phrase(subject: Subject) -> Iterator[Found]:
    """Report a phrase so long that right answers in other words miss it, if a form finds them as well.

    A question with several variants has no finding: its author has thought of other wordings.
    """
    texts = subject.texts
    for number, question in enumerate(subject.questions):
        for place, phrase in enumerate(question.answers[0] if len(question.answers) == 1 else ()):
            if form := wider(question, 0, place, texts.match, texts.hyphens):
                message = f"'{phrase}' is only found in this wording: {form} also finds others"
                yield Found(message, number, ("answers", 0, place))


def cited_answer(subject: Subject) -> Iterator[Found]:
    """Report a question for a page, a file or a source, because its answer may stand only in a citation,
    which is no part of what an answer says."""
    for number, question in enumerate(subject.questions):
        if not asks_for_source(question) or question.reading == "raw":
            continue
        if any(_LIKE_A_SOURCE.fullmatch(as_written(form)) for _, form in _forms(question)):
            yield Found(
                "the question asks for a page, a file or a source, which an answer may give only in a"
                " citation such as '(p. 12)': add 'reading: raw', so that it counts there",
                number,
                ("question",),
            )


def asks_for_source(question: Question) -> bool:
    """Return whether a question asks for a page, a file or a source."""
    return _ASKS_FOR_SOURCE.search(question.text) is not None


def as_written(form: GoldPhrase) -> str:
    """Return a phrase, or a number without a unit, as an answer writes it; other forms are empty."""
    if isinstance(form, GoldNumber):
        return "" if form.unit else f"{form.number:g}"
    return form.strip() if isinstance(form, str) else ""
