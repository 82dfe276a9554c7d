"""Unanswerable questions: a true detail of an answerable one is replaced by one that no page holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fathoms.extras.questions.making.asking import TEXT, Asker, json_form, texts_in
from fathoms.extras.questions.making.clarity import Searches, answering
from fathoms.extras.questions.making.components import Component
from fathoms.extras.questions.making.drafts import Check, Draft
from fathoms.extras.questions.making.single import rules
from fathoms.metrics.phrase_recall import phrase_recall
from fathoms.types import Document, Failure, Place, Prompt, Question

CHECK = "unanswerable"
_ASK = """\
Question: {question}

Change this question so that nothing above answers it any more: replace one detail in it, such as a name, a
year, a place or a product, by another one of the same kind that is invented or does not occur above. Change
nothing else, and keep it a sensible question.
Reply with JSON: {{"question": the changed question, "detail": the words that you replaced, "replacement": the
words in their place}}"""
_FORM = json_form(question=TEXT, detail=TEXT, replacement=TEXT)


class Changed(NamedTuple):
    """A question with one detail replaced."""

    question: str
    detail: str
    replacement: str


def unanswerable(
    drafts: Sequence[Draft],
    components: Mapping[str, Component],
    documents: Mapping[str, Document],
    searches: Searches,
    asker: Asker,
    language: str = "same",
) -> list[Draft]:
    """Return an unanswerable draft for each draft. It is dropped if the model changed something else, if
    the new detail stands anywhere in the corpus, or if a page that the searches find answers it."""

    def asking(question: Question) -> Prompt:
        return asker.about(components[question.id], _ASK.format(question=question.text), _FORM)

    said = asker.ask(CHECK, [draft.question for draft in drafts], asking, _read)
    changed = [_changed(draft.question, said[draft.question], documents) for draft in drafts]
    changed = [
        one.after(*rules(one, components[draft.question.id], language)) if one.failed is None else one
        for one, draft in zip(changed, drafts, strict=True)
    ]
    open_ = [one.question for one in changed if one.failed is None]
    found = answering(open_, documents, searches, asker, stage=CHECK)
    return [one if one.failed else _judged(one, found[one.question.id]) for one in changed]


def changed_id(original: Question) -> str:
    """Return the id of the unanswerable variant of a question."""
    return f"{original.id}-unanswerable"


def _changed(original: Question, said: Changed | Failure, documents: Mapping[str, Document]) -> Draft:
    """Return the draft of a changed question, with the verdicts on the change."""
    question = Question(
        id=changed_id(original),
        text=original.text,
        category=original.category,
        files=original.files,
        hops=original.hops,
        answerable=False,
        metadata={"made_from": original.id},
    )
    if isinstance(said, Failure):
        return Draft(question=question).after(
            Check(check=CHECK, item="written", passed=False, reason=said.message)
        )
    question = question.model_copy(
        update={"text": said.question, "metadata": {**question.metadata, "replaced": said.detail}}
    )
    one = said.detail.lower() in original.text.lower() and said.replacement.lower() in said.question.lower()
    expected = _without(original.text, said.detail) == _without(said.question, said.replacement)
    stands = next(
        (
            f"'{said.replacement}' stands on page {page.number} of {name}"
            for name, document in documents.items()
            for page in document.pages
            if phrase_recall(page.text, ((said.replacement,),), "word").value == 1
        ),
        "",
    )
    return Draft(question=question).after(
        Check(
            check=CHECK,
            item="one detail replaced",
            passed=one and expected,
            reason=f"'{said.detail}' by '{said.replacement}'",
        ),
        Check(check=CHECK, item="the detail is nowhere", passed=not stands, reason=stands),
    )


def _without(text: str, detail: str) -> str:
    """Return the words of a text without a detail, for comparison."""
    return " ".join(text.lower().replace(detail.lower(), " ").split()).strip(" ?")


def _judged(draft: Draft, found: Mapping[Place, str] | Failure) -> Draft:
    """Return a draft with the verdict whether a page answers it."""
    if isinstance(found, Failure):
        return draft.after(Check(check=CHECK, item="judged", passed=False, reason=found.message))
    pages = ", ".join(f"page {page} of {document}" for document, page in sorted(found)[:3])
    return draft.after(
        Check(check=CHECK, item="no page answers it", passed=not found, reason=pages and f"by {pages}")
    )


def _read(reply: str) -> Changed | None:
    """Read a changed question; `None` if it lacks anything."""
    found = texts_in(reply, *Changed._fields)
    return None if found is None else Changed(*found)
