"""Linter rules that compare questions with the parsed documents.

A document that could not be parsed is reported once; the other rules skip it.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from fathoms.config import Key
from fathoms.extras.questions.file_rules import as_written, asks_for_source
from fathoms.extras.questions.finding import Found, Subject
from fathoms.extras.questions.similar_text import nearest
from fathoms.metrics.ingestion import COMMON, is_common, is_yes_no
from fathoms.metrics.phrase_recall import Folded
from fathoms.types import GoldPhrase, GoldYesNo, Question, has_pages

_ALIKE = 0.8
"""How similar a file name must be to be suggested: higher than the default for words, since file names often
differ only in a number, a date or a version."""

_COMMON = "the funnel leaves out such questions; keep the phrase short, for answers in other words"
FEW_PAGES = 4
"""With fewer pages than this, `common_answer` is not checked: an answer would be on most pages by chance."""
MOST_CITED = 10
"""The most texts that are usually retrieved, whose numbers answers cite."""
HALF = 0.5
"""An answer found on more than this share of all pages does not show that the right page was used."""


def unknown_file(subject: Subject) -> Iterator[Found]:
    """Report a file name that is not the name of any document."""
    for number, question in enumerate(subject.questions):
        said = set()
        for key, name in _names(question):
            if name not in subject.paths and name not in said:
                near = get_close_matches(name, subject.paths, n=1, cutoff=_ALIKE)
                hint = f" (did you mean '{near[0]}'?)" if near else ""
                yield Found(f"there is no document '{name}'{hint}", number, key)
            said.add(name)


def unreadable_document(subject: Subject) -> Iterator[Found]:
    """Report each document that could not be parsed, at the first question that names it."""
    for name, reason in subject.failures.items():
        yield Found(f"'{name}' cannot be parsed: {reason}", *_first_naming(subject, name))


def damaged_document(subject: Subject) -> Iterator[Found]:
    """Report each document that was not read as it stands, at the first question that names it."""
    for name, document in subject.texts.documents.items():
        if document.warnings:
            remarks = "; ".join(document.warnings)
            yield Found(f"'{name}' was not read as it stands: {remarks}", *_first_naming(subject, name))


def page_beyond(subject: Subject) -> Iterator[Found]:
    """Report evidence on a page number that is larger than the document's page count."""
    for number, question in enumerate(subject.questions):
        for index, evidence in enumerate(question.evidence):
            if evidence.page is None or evidence.document not in subject.texts.documents:
                continue
            count = subject.texts.page_count(evidence.document)
            if evidence.page > count:
                pages = f"{count} page{'' if count == 1 else 's'}"
                if not has_pages(evidence.document):
                    pages = "no pages: leave the page out, or name page 1, which is the whole document"
                message = f"page {evidence.page} of '{evidence.document}', which has {pages}"
                yield Found(message, number, ("evidence", index, "page"))


def phrase_absent(subject: Subject) -> Iterator[Found]:
    """Report phrases of the best-matching answer variant that no parsed gold document contains."""
    for number, question, names in _looked_for(subject):
        recall = subject.texts.in_whole(question, names)
        where = " or ".join(f"'{name}'" for name in names)
        if not question.files and not question.evidence:
            where = "any document"
        for phrase in recall.missed:
            near = _instead(subject, question, names, phrase)
            key = _key_of(question, recall.variant, phrase)
            yield Found(f"'{phrase}' is not in {where} as parsed; {near}", number, key)


def _instead(subject: Subject, question: Question, names: tuple[str, ...], phrase: GoldPhrase) -> str:
    """Describe the closest match for a missing phrase, or say that there is none."""
    pages = {name: subject.texts.pages(name) for name in names}
    for evidence in question.evidence:
        text = pages[evidence.document].get(evidence.page or 0)
        if text is not None and not text.strip():
            return f"page {evidence.page} of '{evidence.document}' has no text: is it a scan?"
    if isinstance(phrase, str) and "|" in phrase:
        return "if these are several wordings, put ' | ' between them (in JSON, list them as answers)"
    near = nearest(subject.texts.fold(phrase), pages) if isinstance(phrase, str) else None
    if near is None and not isinstance(phrase, str):
        return "nothing there fits it: is it in a picture, computed, or worded differently?"
    if near is None:
        return "no similar text was found: is it in a picture, computed, or worded differently?"
    return f"the most similar text is '{_as_phrase(near.text)}' (page {near.page} of '{near.document}')"


def _as_phrase(text: str) -> str:
    """Return a piece of a page without the punctuation around it, which answers need not repeat."""
    return text.strip(" .,;:!?()[]\"'") or text


def phrase_elsewhere(subject: Subject) -> Iterator[Found]:
    """Report phrases that are in the gold documents, but not on the pages given as evidence."""
    for number, question, names in _looked_for(subject):
        texts, gold = subject.texts, subject.texts.gold_text(question)
        whole = texts.in_whole(question, names)
        if not question.evidence or whole.value < 1 or texts.recall(gold, question).value == 1:
            continue
        for phrase in whole.found:
            places = [(name, page) for name in names for page in texts.pages_with(name, phrase)]
            if places and not texts.holds(gold, phrase):
                where = ", ".join(f"page {page} of '{name}'" for name, page in places[:3])
                more = f" and {len(places) - 3} more" if len(places) > 3 else ""
                message = f"'{phrase}' is not on the pages of the evidence, but on {where}{more}"
                yield Found(message, number, _key_of(question, whole.variant, phrase))


def quote_absent(subject: Subject) -> Iterator[Found]:
    """Report a quote that is not in its document's parsed text, or not on the page given with it."""
    for number, question in enumerate(subject.questions):
        for index, evidence in enumerate(question.evidence):
            if not evidence.quote or evidence.document not in subject.texts.documents:
                continue
            pages = subject.texts.pages(evidence.document)
            pages_with_quote = subject.texts.pages_with(evidence.document, evidence.quote)
            if (evidence.page in pages_with_quote) if evidence.page else pages_with_quote:
                continue
            near = nearest(subject.texts.fold(evidence.quote), {evidence.document: pages})
            hint = f"; the most similar text is '{near.text}' (page {near.page})" if near else ""
            where = f"page {evidence.page} of " if evidence.page else ""
            message = f"the quote is not in {where}'{evidence.document}' as parsed{hint}"
            yield Found(message, number, ("evidence", index, "quote"))


def common_answer(subject: Subject) -> Iterator[Found]:
    """Report an answer so common that it proves nothing: it is common (`is_common`) in the texts that are
    unrelated to the question, or, if no text is known to be unrelated, on more than half of the pages."""
    for number, question, names in _looked_for(subject):
        noun, texts, share = _others(subject, question, names)
        counts = [
            {
                index
                for index, text in enumerate(texts)
                if variant and all(subject.texts.holds(text, phrase) for phrase in variant)
            }
            for variant in question.answers
        ]
        matching = set().union(*counts)
        if (
            is_common(len(matching), len(texts))
            if share == COMMON
            else len(matching) > share * len(texts) > 0
        ):
            worst = max(range(len(counts)), key=lambda index: len(counts[index]))
            phrases = "', '".join(map(str, question.answers[worst]))
            message = f"an answer is found in {len(matching)} of {len(texts)} {noun}, '{phrases}' in"
            yield Found(f"{message} {len(counts[worst])}: {_COMMON}", number, ("answers", worst))


def _others(subject: Subject, question: Question, gold: tuple[str, ...]) -> tuple[str, list[Folded], float]:
    """Return the texts that an answer should rarely occur in, after what they are called, and the largest
    share of them that may hold it.

    These are the other documents; if there are none, the pages not given as evidence; if the evidence names
    no pages, all pages, provided that there are at least `FEW_PAGES`.
    """
    texts = subject.texts
    named = {*gold, *question.files}
    documents = [name for name in texts.documents if name not in named]
    if documents:
        return "other documents", [texts.parsed.whole(name, texts.match) for name in documents], COMMON
    pages = {(name, page): text for name in gold for page, text in texts.pages(name).items() if text.strip()}
    cited = {(evidence.document, evidence.page) for evidence in question.evidence}
    if cited and all(page is not None for _, page in cited):
        return "other pages", [text for place, text in pages.items() if place not in cited], COMMON
    return "pages", list(pages.values()) if len(pages) >= FEW_PAGES else [], HALF


def _looked_for(subject: Subject) -> Iterator[tuple[int, Question, tuple[str, ...]]]:
    """Yield the questions whose phrases are searched for, with their number and gold documents: the
    answerable ones, except those with an answer that is yes or no, or computed, and those with a gold
    document that was not parsed."""
    for number, question in enumerate(subject.questions):
        names = subject.texts.gold_documents(question)
        answered = question.answerable and any(question.answers) and not question.is_computed
        asks_yes_no = any(isinstance(form, GoldYesNo) for variant in question.answers for form in variant)
        if names and answered and not asks_yes_no and not any(map(is_yes_no, question.answers)):
            yield number, question, names


def _first_naming(subject: Subject, name: str) -> tuple[int | None, Key]:
    """Return the question number and the key of the first use of a name, or `(None, ())`."""
    for number, question in enumerate(subject.questions):
        for key, other in _names(question):
            if other == name:
                return number, key
    return None, ()


def _names(question: Question) -> Iterator[tuple[Key, str]]:
    """Yield every file name in a question with its key."""
    for index, name in enumerate(question.files):
        yield ("files", index), name
    for index, evidence in enumerate(question.evidence):
        yield ("evidence", index, "document"), evidence.document


def _key_of(question: Question, variant: int | None, phrase: GoldPhrase) -> Key:
    """Return the key of a phrase of an answer variant."""
    index = variant or 0
    return ("answers", index, question.answers[index].index(phrase))


def bare_number(subject: Subject) -> Iterator[Found]:
    """Report an answer that is nothing but a whole number, as small as that of a page of its documents or of
    a retrieved text."""
    for number, question, names in _looked_for(subject):
        pages = max(MOST_CITED, *(subject.texts.page_count(name) for name in names))
        for index, variant in enumerate(() if asks_for_source(question) else question.answers):
            said = as_written(variant[0]) if len(variant) == 1 else ""
            if said.isdecimal() and 0 < int(said[:9]) <= pages:
                yield Found(
                    f"a page number can match '{said}' alone, as 'page {said} says' does, and under other"
                    f" profiles a citation such as [{said}]: prefer what has a unit or a name",
                    number,
                    ("answers", index, 0),
                )
