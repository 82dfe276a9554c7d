"""Gold answers of drafts: a reference, a short and a long answer, and phrases with their variants.

Every phrase must stand in the evidence, and the scorer must find the phrases both in themselves and in the
reference: a question whose gold answer is refused by the scorer could not be answered rightly by anybody. The
long answer of a multi-hop question is a sentence that gives the last entity, from the quotes of all hops.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice, product
from typing import Any, NamedTuple

from fathoms.extras.questions.drafting import plain_prompt
from fathoms.extras.questions.making.asking import TEXT, Asker, json_form
from fathoms.extras.questions.making.components import Component
from fathoms.extras.questions.making.drafts import Check, Draft
from fathoms.extras.questions.making.languages import in_language
from fathoms.extras.questions.making.wording import one_line
from fathoms.extras.questions.source_words import source_named
from fathoms.judges.replies import read_json
from fathoms.metrics.phrase_recall import phrase_recall
from fathoms.text.folding import fold_words
from fathoms.types import Document, Failure, Prompt, Question

CHECK = "answers"
_SMALL = frozenset(
    {"a", "an", "and", "at", "by", "for", "from", "in", "is", "of", "on", "or", "the", "to", "with"}
)
"""Words that do not make two ways to write a fact alike."""
MOST = 12
"""The most variants of an answer."""
_LISTS = {
    "type": "array",
    "items": {"type": "array", "items": TEXT, "minItems": 1, "maxItems": 4},
    "minItems": 1,
    "maxItems": 3,
}
_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")
"""A number with its decimals and commas, or a word."""
_PASSAGE = re.compile(r"\b(?:the|this) (?:passage|excerpt|snippet|page|text)\b", re.IGNORECASE)
_FORM = json_form(short=TEXT, long=TEXT, phrases=_LISTS)
_ASK = """\
Question: {question}
Answer: {answer}

Write the gold answer to this question, from what stands above alone.
- "short": the answer in as few words as possible.
- "long": the answer in one full sentence that contains the short one word by word.
- "phrases": what an answer must contain to be right. A list with one entry for each fact of the short answer,
  mostly one; each entry is a list of the ways in which this fact may be written, first as it stands above.
Do not write of "the passage" or "the text": state the facts.
{language}
Reply with JSON: {{"short": ..., "long": ..., "phrases": [["...", "..."]]}}"""
_ASK_LONG = """\
{quotes}

Question: {question}
Answer: {answer}

Write this answer as one full sentence, from what stands above alone. It contains "{answer}" word by word, and
says on the way what the question leaves out. Do not write of "the passage" or "the text": state the facts.
{language}
Write the sentence and nothing else."""


class Answer(NamedTuple):
    """A gold answer as a model wrote it: for each fact, the ways to write it."""

    short: str
    long: str
    phrases: tuple[tuple[str, ...], ...]


def answered(
    drafts: Sequence[Draft], components: Mapping[str, Component], asker: Asker, language: str = "same"
) -> list[Draft]:
    """Return drafts with their gold answers, or with the reason why they have none that is valid.
    `components` are by the id of the question."""

    def asking(question: Question) -> Prompt:
        component = components[question.id]
        wanted = in_language(language, component.page_text)
        request = _ASK.format(question=question.text, answer=question.reference, language=wanted)
        return asker.about(component, request, _FORM)

    said = asker.ask(CHECK, [draft.question for draft in drafts], asking, _read)
    with_answers = []
    for draft in drafts:
        component = components[draft.question.id]
        # what stands in a picture alone cannot be compared with a text
        evidence = None if asker.shows(component) else component.whole
        with_answers.append(_with_answer(draft, said[draft.question], evidence))
    return with_answers


def _with_answer(draft: Draft, said: Answer | Failure, evidence: str | None) -> Draft:
    """Return a draft with what a model wrote, as far as the evidence and the scorer agree with it."""
    if isinstance(said, Failure):
        return draft.after(Check(check=CHECK, item="written", passed=False, reason=said.message))
    drafted = draft.question.reference or ""
    question = draft.question
    for short, reference in ((said.short, said.long), (said.short, drafted), (drafted, said.long)):
        variants = accepted(facts_of(said.phrases, short, question.text), evidence, reference)
        if variants:
            break
    else:
        tried = ", ".join(map(repr, [said.short, *(one for row in said.phrases for one in row)][:5]))
        return draft.after(
            Check(
                check=CHECK,
                item="phrases hold",
                passed=False,
                reason=f"none of {tried} stands both in the evidence and in the reference",
            )
        )
    question = question.model_copy(
        update={
            "answers": variants,
            "reference": reference,
            "short_answer": short,
            "long_answer": said.long,
        }
    )
    given = phrase_recall(question.text, variants, "word").value == 1
    mentioned = _PASSAGE.search(reference)
    return draft.after(
        Check(check=CHECK, item="phrases hold", passed=True),
        Check(check=CHECK, item="answer not in the question", passed=not given),
        Check(check=CHECK, item="no mention of its source", passed=not mentioned, reason=reference),
        question=question,
    )


def facts_of(phrases: Sequence[Sequence[str]], short: str, question: str) -> list[list[str]]:
    """Return the facts that a short answer consists of, each with the ways to write it.

    The phrases of a model are facts of the answer if all of them stand in the short answer and none in the
    question; otherwise the short answer is the only fact. Only ways that are like the first one (`_alike`)
    are taken, because models also list other facts, and single words, as ways to write one.
    """
    rows = [list(dict.fromkeys(row)) for row in phrases]
    parts = rows and all(_scores(short, row[0]) and not _scores(question, row[0]) for row in rows)
    facts = rows if parts else [[short, *(way for row in rows for way in row)]]
    return [[way for way in dict.fromkeys(row) if _alike(way, row[0])] for row in facts]


def accepted(
    facts: Sequence[Sequence[str]], evidence: str | None, reference: str
) -> tuple[tuple[str, ...], ...]:
    """Return the variants of an answer, each with one phrase for every fact; none if they do not hold.

    They hold if of each fact one way to write it stands in the evidence, where that is known, and if the
    reference is right by them. Ways that the scorer does not find in themselves, such as punctuation, are
    left out.
    """
    rows = [[way for way in row if _scores(way, way)] for row in facts]
    if not rows or not all(rows):
        return ()
    if evidence is not None and not all(any(_scores(evidence, way) for way in row) for row in rows):
        return ()
    variants = tuple(islice(product(*rows), MOST))
    return variants if phrase_recall(reference, variants, "word").value == 1 else ()


def _alike(way: str, first: str) -> bool:
    """Whether a way to write a fact has a word of the first one and all of its numbers, and is no mere part
    of it without a number: "40 cm" may stand for "40 cm deep", but "5 MHz" not for "5 MHz and 1 MHz", and
    "medicines" not for "liquid medicines". "Quarterly" has no word of "every three months", and is left to
    the judge of correctness."""
    if way == first:
        return True
    words, others = (set(_WORD.findall(fold_words(text, hyphens=True))) - _SMALL for text in (first, way))
    numbers, given = ({_plain(word) for word in row if word[0].isdigit()} for row in (words, others))
    return bool(words & others) and numbers <= given and (bool(numbers) or not others < words)


def _plain(number: str) -> str:
    """Return a number without commas, and without zeros at the end of its decimals."""
    whole, point, decimals = number.replace(",", "").partition(".")
    return f"{whole}.{decimals.rstrip('0')}".rstrip(".") if point else whole


def _scores(text: str, phrase: str) -> bool:
    """Whether the scorer finds a phrase in a text."""
    return bool(phrase.strip()) and phrase_recall(text, ((phrase,),), "word").value == 1


def _read(reply: str) -> Answer | None:
    """Read a gold answer; `None` if it lacks the short or the long one."""
    data: Any = read_json(reply)
    if not isinstance(data, dict):
        return None
    short, long = (" ".join(str(data.get(key) or "").split()) for key in ("short", "long"))
    rows = data.get("phrases")
    facts = []
    for row in rows if isinstance(rows, list) else []:
        ways = row if isinstance(row, list) else [row]
        facts.append(tuple(" ".join(str(way).split()) for way in ways if str(way).strip()))
    return Answer(short, long, tuple(fact for fact in facts if fact)) if short and long else None


def long_answers(
    drafts: Sequence[Draft], documents: Mapping[str, Document], asker: Asker, language: str = "same"
) -> list[Draft]:
    """Return drafts with a long answer, which is also their reference. A draft keeps the bare name if the
    model wrote no sentence by which the scorer finds the answer, or one that mentions its source."""

    def asking(question: Question) -> Prompt:
        quotes = "\n".join(dict.fromkeys(one.quote for one in question.evidence if one.quote))
        wanted = in_language(language, _last_page(question, documents))
        answer = question.short_answer
        return plain_prompt(
            _ASK_LONG.format(quotes=quotes, question=question.text, answer=answer, language=wanted)
        )

    said = asker.ask(CHECK, [draft.question for draft in drafts], asking, one_line)
    return [_with_long(draft, said[draft.question]) for draft in drafts]


def _last_page(question: Question, documents: Mapping[str, Document]) -> str:
    """Return the text of the page with the last hop, whose language the answer is in."""
    last = question.evidence[-1]
    pages = documents[last.document].pages if last.document in documents else ()
    return next((page.text for page in pages if page.number == last.page), "")


def _with_long(draft: Draft, said: str | Failure) -> Draft:
    """Return a draft with a long answer, if it is one."""
    if isinstance(said, Failure) or source_named(said) is not None:
        return draft
    if phrase_recall(said, draft.question.answers, "word").value != 1:
        return draft
    update = {"long_answer": said, "reference": said}
    return draft.model_copy(update={"question": draft.question.model_copy(update=update)})
