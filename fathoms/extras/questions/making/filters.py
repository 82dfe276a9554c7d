"""Filters on drafts: questions that a model answers without any document, and questions that repeat others.

The closed-book filter is that of MRAG-Suite (`filtering.py`); here it calls the model, where `filtering`
reads a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from fathoms.extras.questions.drafting import plain_prompt
from fathoms.extras.questions.duplicates import near_duplicates
from fathoms.extras.questions.filtering import Known, stated_confidence
from fathoms.extras.questions.making.asking import Asker
from fathoms.extras.questions.making.drafts import Check, Draft
from fathoms.metrics.phrase_recall import phrase_recall
from fathoms.types import Failure, Prompt, Question

CLOSED_BOOK, DUPLICATES = "closed-book", "duplicates"
_ASK = """\
Answer the question from what you know, in one short sentence. Then write how sure you are that your answer is
right, from 0 to 1, as `Confidence: 0.5`.

Question: {question}"""


class _Sample(NamedTuple):
    """One of several calls with the same question."""

    question: Question
    number: int


def closed_book(
    drafts: Sequence[Draft], asker: Asker, *, samples: int = 1, confidence: float = 0.9
) -> list[Draft]:
    """Return drafts with the verdict whether a model answers them without documents: rightly in more than the
    share `confidence` of the samples, and stating more confidence than that. A sample without an answer
    counts as wrong."""
    attempts = [_Sample(draft.question, number) for draft in drafts for number in range(samples)]

    def asking(item: _Sample) -> Prompt:
        return plain_prompt(_ASK.format(question=item.question.text))

    said = asker.ask(CLOSED_BOOK, attempts, asking, str.strip, judging=True, sample=lambda item: item.number)
    checked = []
    for draft in drafts:
        found = [said[_Sample(draft.question, number)] for number in range(samples)]
        known = _known([one for one in found if not isinstance(one, Failure)], draft.question, samples)
        check = Check(check=CLOSED_BOOK, passed=not known.is_sure(confidence), reason=str(known))
        checked.append(draft.after(check))
    return checked


def without_duplicates(
    drafts: Sequence[Draft], against: Sequence[Question] = (), threshold: float = 0.7
) -> list[Draft]:
    """Return drafts with the verdict whether their question is nearly the same as an earlier one, or as one
    of another set, such as a public one that models may have seen."""
    found = {
        one.question.id: one
        for one in near_duplicates([draft.question for draft in drafts], against, threshold)
    }
    checked = []
    for draft in drafts:
        twin = found.get(draft.question.id)
        reason = "" if twin is None else f"{twin.similarity:.2f} like {twin.other.id}: {twin.other.text}"
        checked.append(draft.after(Check(check=DUPLICATES, passed=twin is None, reason=reason)))
    return checked


def _known(answers: Sequence[str], question: Question, samples: int) -> Known:
    """Return how well a model knows a question."""
    right = [one for one in answers if phrase_recall(one, question.answers, "word").value == 1]
    stated = [one for one in map(stated_confidence, right) if one is not None]
    return Known(len(right) / samples, samples, fmean(stated) if stated else None)
