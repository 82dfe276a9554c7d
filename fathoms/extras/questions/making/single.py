"""Drafts of questions on one component: a question, its answer, and the words of the page that hold it.

The principles are those of Double-Bench (Shen et al. 2025): a question is self-contained, asks about the most
significant content of one component, does not mention its source, and is put naturally. Rules that need no
model are checked here; the checklist that a judge goes through comes later.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from fathoms.extras.questions.drafting import QUESTION_MARKS
from fathoms.extras.questions.making.asking import TEXT, Asker, json_form, texts_in
from fathoms.extras.questions.making.components import Component
from fathoms.extras.questions.making.drafts import Check, Draft
from fathoms.extras.questions.making.languages import in_language, language_of
from fathoms.extras.questions.making.verbatim import on_page
from fathoms.extras.questions.similar_text import nearest
from fathoms.extras.questions.source_words import source_named
from fathoms.ingest.chunkers.boxes import text_boxes
from fathoms.metrics.phrase_recall import phrase_recall
from fathoms.paths import safe_name
from fathoms.types import Box, Document, Evidence, Failure, Page, Prompt, Question

CATEGORIES = {"text": "Text-Only", "table": "Tables", "figure": "Images"}
"""The category of questions on each kind of component, named as in FATHOMS."""
_WORTH = """\
First say whether this {named} states facts that somebody would look up, and that a question with one short
answer could ask for ("worth"). Headings, lists of names, notes on the layout and sentences without a fact do
not; then the rest of your reply is empty.

"""
_ASK = """\
Write one question that this {named} answers, for people who search a large collection of documents.
- It must be understood without the page: call things by their full names, with year, place or product where
  they matter.
- It asks about what matters most in the {named}, and about one thing only.
- It does not mention where the answer stands: no "this {named}", "the document", "the page" or "the text".
- It is put as a person would ask it, and has one short answer.
{language}
Reply with JSON: {{{worth}"question": the question, "answer": the answer in a few words, taken from the
{named}, "quote": the words of the {named} that hold the answer, copied exactly}}"""
_PARTS = {"question": TEXT, "answer": TEXT, "quote": TEXT}
_FORM = json_form(**_PARTS)
_FORM_WORTH = json_form(worth={"type": "string", "enum": ["yes", "no"]}, **_PARTS)
_LIKE = 0.9
"""How similar a piece of the page must be to a quote that does not stand there, to be put in its place."""


class Written(NamedTuple):
    """What a model wrote about a component."""

    question: str
    answer: str
    quote: str


def order(components: Sequence[Component], seed: int) -> list[Component]:
    """Return components in the order in which questions are drafted: those of each document and modality are
    shuffled by the seed, and the groups take turns, so that the first few cover all of them."""
    groups: dict[tuple[str, str], list[Component]] = defaultdict(list)
    for component in components:
        groups[component.document, component.modality].append(component)
    for (document, modality), several in groups.items():
        random.Random(f"{seed} {document} {modality}").shuffle(several)
    turns = [[(at, key, one) for at, one in enumerate(several)] for key, several in sorted(groups.items())]
    return [one for _, _, one in sorted((each for row in turns for each in row), key=lambda each: each[:2])]


def drafted(
    components: Sequence[Component],
    documents: Mapping[str, Document],
    asker: Asker,
    language: str = "same",
    *,
    judged: bool = True,
) -> list[tuple[Component, Draft]]:
    """Return a draft for each component, with the verdicts of the rules. A draft that the model could not
    write shows the component as its question, and the reason. With `judged`, the model first says whether the
    component states something that a question can ask for."""

    def asking(component: Component) -> Prompt:
        named = _named(component)
        ask = _ASK.format(
            named=named,
            language=in_language(language, component.page_text),
            worth='"worth": "yes" or "no", ' if judged else "",
        )
        first = _WORTH.format(named=named) if judged else ""
        return asker.about(component, first + ask, _FORM_WORTH if judged else _FORM)

    found = asker.ask("drafts", components, asking, _read)
    return [(one, _draft(one, found[one], documents, language, seen=asker.shows(one))) for one in components]


def rules(draft: Draft, component: Component, language: str = "same") -> list[Check]:
    """Return the verdicts of all rules that need no model about the text of a draft."""
    question = draft.question
    source = source_named(question.text)
    variants = question.answers or (((question.reference or ""),),)
    given = phrase_recall(question.text, variants, "word").value == 1
    other = language_of(question.text)
    wanted = language_of(component.page_text) if language == "same" else language
    same = other is None or wanted is None or other == wanted
    return [
        Check(check="rules", item="is a question", passed=question.text.endswith(QUESTION_MARKS)),
        Check(check="rules", item="no mention of its source", passed=source is None, reason=source or ""),
        Check(check="rules", item="answer not in the question", passed=not given),
        Check(
            check="rules",
            item="language",
            passed=same,
            reason="" if same else f"it is in '{other}' and not in '{wanted}'",
        ),
    ]


def evidence_for(component: Component, quote: str, page: Page, *, seen: bool = False) -> Evidence | None:
    """Return the evidence for words that a component holds: the words as they stand on the page, with their
    box where it is known; `None` if they do not stand there. Words that differ in a few characters are
    corrected. For words that a parser read in a picture alone, or that a model saw in it (`seen`), the
    evidence is the component, by its box."""
    found = {"document": component.document, "page": component.page, "modality": component.modality}
    exact = standing(quote, page.text)
    if exact is None:
        known = component.bbox is not None and (seen or standing(quote, component.text) is not None)
        return Evidence.model_validate({**found, "bbox": component.bbox}) if known else None
    return Evidence.model_validate({**found, "quote": exact, "bbox": component.bbox or box_of(exact, page)})


def standing(quote: str, text: str) -> str | None:
    """Return a quote as it stands in a text (`on_page`), or what is most like it there; `None` if nothing
    is."""
    if (found := on_page(quote, text)) is not None or not quote.strip():
        return found
    near = nearest(" ".join(quote.split()), {"": {1: " ".join(text.split())}})
    return near.text if near is not None and near.likeness >= _LIKE else None


def draft_id(component: Component) -> str:
    """Return the id of the question on a component, such as `manual-1f0c22ab`, which does not change if the
    component moves to another page."""
    return f"{safe_name(Path(component.document).stem, 40)}-{component.id[:8]}"


def placeholder(component: Component) -> Draft:
    """Return the draft of a component that has no question yet."""
    text = f"({component.modality} {component.number} on page {component.page} of {component.document})"
    question = Question(
        id=draft_id(component),
        text=text,
        category=CATEGORIES[component.modality],
        files=(component.document,),
        hops=1,
        metadata={"component": component.id},
    )
    return Draft(question=question)


def _named(component: Component) -> str:
    """Return what a component is called in prompts."""
    return {"text": "passage"}.get(component.modality, component.modality)


def _read(reply: str) -> Written | None:
    """Read a draft, an empty one for a component that is not worth asking about; `None` if it lacks
    anything."""
    if (texts_in(reply, "worth") or ("",))[0].lower() == "no":
        return Written("", "", "")
    found = texts_in(reply, *Written._fields)
    return None if found is None else Written(*found)


def _draft(
    component: Component,
    said: Written | Failure,
    documents: Mapping[str, Document],
    language: str,
    *,
    seen: bool,
) -> Draft:
    """Return the draft of what a model said about a component."""
    empty = placeholder(component)
    if isinstance(said, Failure):
        return empty.after(Check(check="drafts", item="written", passed=False, reason=said.message))
    if not said.question:
        return empty.after(Check(check="components", item="worth asking about", passed=False))
    page = next(one for one in documents[component.document].pages if one.number == component.page)
    evidence = evidence_for(component, said.quote, page, seen=seen)
    question = empty.question.model_copy(
        update={
            "text": said.question,
            "reference": said.answer,
            "evidence": () if evidence is None else (evidence,),
        }
    )
    reason = "" if evidence else f"not on the page: {said.quote[:200]}"
    draft = Draft(question=question).after(
        Check(check="rules", item="quote stands on the page", passed=evidence is not None, reason=reason)
    )
    return draft.after(*rules(draft, component, language))


def box_of(quote: str, page: Page) -> Box | None:
    """Return the box around the elements of a page in which words stand, `None` where it has no boxes."""
    boxes = [box.bbox for box in next(text_boxes(page, [quote]))]
    if not boxes:
        return None
    left, top, right, bottom = zip(*boxes, strict=True)
    return min(left), min(top), max(right), max(bottom)
