"""The chain of evidence of multi-hop questions: for each hop, all pages that hold the answer of its step.

Double-Bench (Shen et al. 2025) labels a set of pages for each hop, since any of them is enough for it. Pages
that nobody looked at can also open a shortcut: where one page turns out to hold all hops, the question is
dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fathoms.extras.questions.labelling import Asked, prompts_about, read_label
from fathoms.extras.questions.making.asking import Asker
from fathoms.extras.questions.making.clarity import Searches
from fathoms.extras.questions.making.drafts import Check, Draft
from fathoms.extras.questions.making.hop_drafts import CROSS_DOCUMENT, MULTI_HOP
from fathoms.types import Document, Evidence, Failure, Place, Question

CHECK = "labels"


def labelled_hops(
    drafts: Sequence[Draft], documents: Mapping[str, Document], searches: Searches, asker: Asker
) -> list[Draft]:
    """Return drafts with steps with all pages as evidence of a step that hold its answer. Judged are the
    pages that the searches find for each sub-question, and those that the evidence has already. A draft is
    dropped if these do not hold the answers of their steps, or if one page holds all of them. A question
    whose steps are all answered in one document becomes one of the category `Multi-Hop`."""
    steps = {(draft.question.id, at): one for draft in drafts for at, one in _steps(draft.question).items()}
    found = searches.pages(list(steps.values()))
    items = sorted(
        (
            Asked(one.id, *place)
            for one in steps.values()
            for place in one.gold_pages | set(found[one.id])
            if place[0] in documents
        ),
        key=lambda item: (item.place, item.question),  # a page is the common beginning of its prompts
    )
    about = prompts_about(list(steps.values()), documents)
    said = asker.ask(CHECK, items, about, read_label, judging=True)
    by_draft: dict[str, dict[int, Question]] = {draft.question.id: {} for draft in drafts}
    for (id, at), one in steps.items():
        by_draft[id][at] = one
    by_step: dict[str, list[Asked]] = {one.id: [] for one in steps.values()}
    for item in items:
        by_step[item.question].append(item)
    made = []
    for draft in drafts:
        own = by_draft[draft.question.id]
        failed = (said[item] for one in own.values() for item in by_step[one.id])
        if (failure := next((one for one in failed if isinstance(one, Failure)), None)) is not None:
            made.append(draft.after(Check(check=CHECK, item="judged", passed=False, reason=failure.message)))
            continue
        holds = {
            at: frozenset(item.place for item in by_step[one.id] if said[item] is True)
            for at, one in own.items()
        }
        made.append(_with_pages(draft, own, holds) if own else draft)
    return made


def _steps(question: Question) -> dict[int, Question]:
    """Return the sub-questions of a question with several steps, by their number from 1, each with the
    evidence of its step."""
    if len(question.steps) < 2:
        return {}
    return {
        at: Question(
            id=f"{question.id}, step {at}",
            text=step.question,
            category=question.category,
            answers=((step.answer,),),
            evidence=tuple(one for one in question.evidence if one.step == at),
        )
        for at, step in enumerate(question.steps, 1)
    }


def _with_pages(draft: Draft, steps: Mapping[int, Question], holds: Mapping[int, frozenset[Place]]) -> Draft:
    """Return a draft with the further pages of each step, and the verdicts."""
    question = draft.question
    new = [
        Evidence(document=document, page=page, step=at)
        for at, pages in holds.items()
        for document, page in sorted(pages - steps[at].gold_pages)
    ]
    evidence = tuple(sorted((*question.evidence, *new), key=lambda one: one.step or 0))
    every = {at: pages | steps[at].gold_pages for at, pages in holds.items()}
    documents = frozenset.intersection(*(frozenset(name for name, _ in one) for one in every.values()))
    update = {
        "evidence": evidence,
        "files": tuple(sorted({*question.files, *(one.document for one in new)})),
        "category": MULTI_HOP if documents and question.category == CROSS_DOCUMENT else question.category,
    }
    lacking = [at for at, one in steps.items() if not one.gold_pages <= holds[at]]
    whole = sorted(frozenset.intersection(*every.values()))
    return draft.after(
        Check(
            check=CHECK,
            item="the pages of each step hold its answer",
            passed=not lacking,
            reason=f"not those of step {lacking[0]}"
            if lacking
            else f"{len(new)} further pages"
            if new
            else "",
        ),
        Check(
            check=CHECK,
            item="no page holds all steps",
            passed=not whole,
            reason=f"page {whole[0][1]} of {whole[0][0]}" if whole else "",
        ),
        question=question.model_copy(update=update),
    )
