"""Checks of multi-hop questions: whether their hops are linked, whether there is a shortcut, and whether the
evidence answers them.

Two independent questions joined by "and" are no multi-hop question, and one whose answer is found from the
question alone or from one of its pages needs no hops (Double-Bench, Shen et al. 2025).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from fathoms.extras.questions.drafting import ask_all, plain_prompt
from fathoms.extras.questions.making.drafts import Check, Draft
from fathoms.extras.questions.making.wording import one_line
from fathoms.judges.replies import read_json
from fathoms.metrics.phrase_recall import fold_text, phrase_recall, stands_in
from fathoms.models.caching import ReplyCache
from fathoms.models.protocols import ChatModel
from fathoms.types import Document, Failure, Form, Place, Prompt, Question

LINKED, SHORTCUT, ANSWERED = "linked hops", "one-hop shortcut", "answered from its evidence"
ALONE = "question alone"
_LINK = """\
A question with several steps: {question}

Step {before}: {first}
Answer of step {before}: {answer}
Step {after}: {second}

Does step {after} need the answer of step {before}? It does if step {after} is about this answer, and the
question above does not name it. Two questions that can be looked up independently do not.

Reply with JSON: {{"reason": TEXT of at most 30 words, "needed": "yes" or "no"}}"""
_SCHEMA = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "needed": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["reason", "needed"],
    "additionalProperties": False,
}
"""The reason comes first, because small models say yes to everything else."""
_LONGEST = 30
_PAGE = """\
Page {page} of {document}:

{text}

Answer the question below from this page alone, in a few words. If the page does not hold everything that is
needed, answer "unknown".

Question: {question}
Answer:"""
_ALL = """\
{pages}

Answer the question below from these pages, in a few words. If they do not hold everything that is needed,
answer "unknown".

Question: {question}
Answer:"""
_CLOSED = """\
Answer this question in a few words from what you know. If you do not know it, answer "unknown".

Question: {question}
Answer:"""

Progress = Callable[[int, int], None]


class _Link(NamedTuple):
    """A hop after the first of a draft, given by the id of the question and its number from 2."""

    question: str
    step: int


class _Try(NamedTuple):
    """A page, or none, from which a question is answered."""

    question: str
    place: Place | None


def check_hops(
    drafts: Sequence[Draft],
    documents: Mapping[str, Document],
    model: ChatModel,
    replies: ReplyCache | None = None,
    on_done: Progress = lambda done, total: None,
) -> list[Draft]:
    """Return the drafts with verdicts on those that have steps and have not failed.

    A sub-question has to name the answer of the one before, which the question itself must not name. The
    model has to say that this answer is needed; it must not find the accepted answer from the question alone
    or from one page of its evidence, and has to find it from all of them. A check that could not be decided,
    because a call failed, is not passed. After a failed check, no further calls are about the draft.
    """
    named = [_named(draft) if _is_open(draft) else draft for draft in drafts]
    linked = _linked(named, model, replies, on_done)
    direct = _without_shortcuts(linked, documents, model, replies, on_done)
    return _answered(direct, documents, model, replies, on_done)


def _is_open(draft: Draft) -> bool:
    """Whether a draft of several hops has not failed."""
    return draft.failed is None and len(draft.question.steps) > 1


def _named(draft: Draft) -> Draft:
    """Check that each sub-question names the answer of the one before, and that the question does not."""
    steps = draft.question.steps
    whole = (fold_text(draft.question.text, "word"),)
    for number, (first, second) in enumerate(pairwise(steps), 2):
        text = (fold_text(second.question, "word"),)
        if not first.answer or not stands_in(text, first.answer, "word", "both"):
            reason = f"step {number} does not name {first.answer!r}: {second.question}"
            return draft.after(Check(check=LINKED, item="named", passed=False, reason=reason))
        if stands_in(whole, first.answer, "word", "both"):
            reason = f"the question names {first.answer!r}, the answer of step {number - 1}"
            return draft.after(Check(check=LINKED, item="named", passed=False, reason=reason))
    return draft.after(Check(check=LINKED, item="named", passed=True))


def _linked(
    drafts: Sequence[Draft], model: ChatModel, replies: ReplyCache | None, on_done: Progress
) -> list[Draft]:
    """Ask whether each hop needs the answer of the one before."""
    by_id = {draft.question.id: draft.question for draft in drafts if _is_open(draft)}
    links = [_Link(id, step) for id, one in by_id.items() for step in range(2, len(one.steps) + 1)]

    def about(link: _Link) -> Prompt:
        question = by_id[link.question]
        first, second = question.steps[link.step - 2], question.steps[link.step - 1]
        text = _LINK.format(
            question=question.text,
            before=link.step - 1,
            after=link.step,
            first=first.question,
            answer=first.answer,
            second=second.question,
        )
        return plain_prompt(text, Form(json_schema=_SCHEMA))

    said = ask_all(links, model, about, read_verdict, replies, on_done)

    def verdict(question: Question) -> Check:
        for step in range(2, len(question.steps) + 1):
            found = said[_Link(question.id, step)]
            if isinstance(found, Failure):
                return _undecided(LINKED, "needed", found)
            needed, reason = found
            if not needed:
                why = f"step {step} does not need the answer of step {step - 1}: {reason}"
                return Check(check=LINKED, item="needed", passed=False, reason=why)
        return Check(check=LINKED, item="needed", passed=True)

    return _with_verdicts(drafts, verdict)


def _without_shortcuts(
    drafts: Sequence[Draft],
    documents: Mapping[str, Document],
    model: ChatModel,
    replies: ReplyCache | None,
    on_done: Progress,
) -> list[Draft]:
    """Answer each question from nothing, and from each of its pages alone, page by page."""
    by_id = {draft.question.id: draft.question for draft in drafts if _is_open(draft)}
    texts = _texts(documents)
    tries = {id: [None, *sorted(one.gold_pages & texts.keys())] for id, one in by_id.items()}
    attempts = sorted(
        (_Try(id, place) for id, places in tries.items() for place in places),
        key=lambda one: one.place or ("", 0),
    )

    def about(one: _Try) -> Prompt:
        question = by_id[one.question].text
        if one.place is None:
            return plain_prompt(_CLOSED.format(question=question))
        document, page = one.place
        text = texts[one.place]
        return plain_prompt(_PAGE.format(page=page, document=document, text=text, question=question))

    said = ask_all(attempts, model, about, one_line, replies, on_done)

    def verdict(question: Question) -> Check:
        for place in tries[question.id]:
            found = said[_Try(question.id, place)]
            item = ALONE if place is None else f"page {place[1]} of {place[0]}"
            if isinstance(found, Failure):
                return _undecided(SHORTCUT, item, found)
            if phrase_recall(found, question.answers, "word").value == 1:
                reason = f"answered from the {item}: {found}"
                return Check(check=SHORTCUT, passed=False, reason=reason)
        return Check(check=SHORTCUT, passed=True)

    return _with_verdicts(drafts, verdict)


def _answered(
    drafts: Sequence[Draft],
    documents: Mapping[str, Document],
    model: ChatModel,
    replies: ReplyCache | None,
    on_done: Progress,
) -> list[Draft]:
    """Answer each question from all pages of its evidence; a question that lost its meaning when it was put
    together is not answered rightly."""
    by_id = {draft.question.id: draft.question for draft in drafts if _is_open(draft)}
    texts = _texts(documents)

    def about(id: str) -> Prompt:
        places = sorted(by_id[id].gold_pages & texts.keys())
        pages = "\n\n".join(f"Page {page} of {name}:\n\n{texts[name, page]}" for name, page in places)
        return plain_prompt(_ALL.format(pages=pages, question=by_id[id].text))

    said = ask_all(list(by_id), model, about, one_line, replies, on_done)

    def verdict(question: Question) -> Check:
        found = said[question.id]
        if isinstance(found, Failure):
            return _undecided(ANSWERED, "", found)
        right = phrase_recall(found, question.answers, "word").value == 1
        return Check(check=ANSWERED, passed=right, reason="" if right else f"the answer was: {found}")

    return _with_verdicts(drafts, verdict)


def _with_verdicts(drafts: Sequence[Draft], verdict: Callable[[Question], Check]) -> list[Draft]:
    """Return drafts with a verdict on each that has not failed."""
    return [draft.after(verdict(draft.question)) if _is_open(draft) else draft for draft in drafts]


def _texts(documents: Mapping[str, Document]) -> dict[Place, str]:
    """Return the texts of all pages."""
    return {(name, page.number): page.text for name, one in documents.items() for page in one.pages}


def _undecided(check: str, item: str, failure: Failure) -> Check:
    """Return a verdict that could not be reached."""
    return Check(check=check, item=item, passed=False, reason=f"not decided: {failure.message}")


def read_verdict(reply: str) -> tuple[bool, str] | None:
    """Read whether an answer is needed, and the reason of at most 30 words; `None` for anything else."""
    data = read_json(reply)
    needed = str(data.get("needed") if isinstance(data, dict) else "").strip().lower()
    if needed not in ("yes", "no"):
        return None
    return needed == "yes", " ".join(str(data.get("reason") or "").split()[:_LONGEST])
