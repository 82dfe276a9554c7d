"""The evidence of drafts: all pages that hold the gold answer.

A page holds it if the judge, who did not know it, found it there (`clarity.answering`) by the rule of the
scorer. For a page that answers in other words, and for the gold page, a judge who knows the answer decides.
Of multi-hop questions, these are the pages that hold the answer of each step: Double-Bench (Shen et al. 2025)
labels a set of pages for each hop, since any of them is enough for it. Pages that nobody looked at can also
open a shortcut: where one page turns out to hold all hops, the question is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fathoms.errors import amount
from fathoms.extras.questions.labelling import PageCall, pages_to_ask, prompt_for, prompts_about, read_label
from fathoms.extras.questions.making.asking import Asker
from fathoms.extras.questions.making.clarity import Searches, answering
from fathoms.extras.questions.making.components import Component
from fathoms.extras.questions.making.drafts import Check, Draft
from fathoms.extras.questions.making.hop_drafts import CROSS_DOCUMENT, MULTI_HOP
from fathoms.metrics.phrase_recall import phrase_recall
from fathoms.types import Document, Evidence, Failure, Place, Prompt, Question

CHECK = "labels"


def labelled(
    drafts: Sequence[Draft],
    pages: Mapping[str, Mapping[Place, str]],
    documents: Mapping[str, Document],
    asker: Asker,
    components: Mapping[str, Component],
    first: int | None = 0,
) -> list[Draft]:
    """Return drafts whose evidence is all pages that hold their answers. The judged pages are those of
    `pages`, which has the answer of each page by the id of the question, and those that BM25 ranks among the
    `first` of the corpus; all pages if `first` is `None`. A draft whose own page does not hold its answer is
    dropped."""
    questions = [draft.question.model_copy(update={"files": ()}) for draft in drafts]
    known = {question.id: agreeing(question, pages.get(question.id, {})) for question in questions}
    to_judge = {
        PageCall(question.id, *place)
        for question in questions
        for place in pages.get(question.id, {}).keys() | question.gold_pages
    }
    if first is None or first:
        to_judge |= set(pages_to_ask(questions, documents, first))
    items = sorted(item for item in to_judge if item.place not in known[item.question])
    items.sort(key=lambda item: item.place)  # a page is the common beginning of its prompts
    by_id = {question.id: question for question in questions}
    plain = prompts_about(questions, documents)

    def asking(item: PageCall) -> Prompt:
        own = components.get(item.question)
        if own is None or own.place != item.place:
            return plain(item)
        prompt = prompt_for(by_id[item.question], item, own.whole)
        return asker.showing(own, prompt.messages[0].text, prompt.form)

    said = asker.ask(CHECK, items, asking, read_label, judging=True)
    by_question: dict[str, dict[PageCall, bool | Failure]] = {draft.question.id: {} for draft in drafts}
    for item in items:
        by_question[item.question][item] = said[item]
    checked = []
    for draft in drafts:
        own = by_question[draft.question.id]
        failed = next((one for one in own.values() if isinstance(one, Failure)), None)
        holds = {item.place for item, yes in own.items() if yes is True}
        checked.append(_with_pages(draft, holds | known[draft.question.id], failed))
    return checked


def agreeing(question: Question, answers: Mapping[Place, str]) -> frozenset[Place]:
    """Return the pages whose answers are right by the gold answer of a question and the scorer."""
    return frozenset(
        place
        for place, answer in answers.items()
        if question.answers and phrase_recall(answer, question.answers, "word").value == 1
    )


def _with_pages(draft: Draft, holds: set[Place], failed: Failure | None) -> Draft:
    """Return a draft with further pages of evidence, and the verdict."""
    if failed is not None:
        return draft.after(Check(check=CHECK, item="judged", passed=False, reason=failed.message))
    gold = draft.question.gold_pages
    new = [Evidence(document=document, page=page) for document, page in sorted(holds - gold)]
    files = dict.fromkeys([*draft.question.files, *(one.document for one in new)])
    question = draft.question.model_copy(
        update={"evidence": (*draft.question.evidence, *new), "files": tuple(files)}
    )
    reason = f"{amount(len(new), 'further page')} with the answer" if new else ""
    own = Check(check=CHECK, item="its own page holds the answer", passed=gold <= holds, reason=reason)
    return draft.after(own, question=question)


def labelled_hops(
    drafts: Sequence[Draft], documents: Mapping[str, Document], searches: Searches, asker: Asker
) -> list[Draft]:
    """Return drafts whose steps have all pages that hold their answers as evidence. The judged pages are
    those that the searches find for each sub-question, and those of the evidence so far. A draft is dropped
    if its evidence does not hold the answers of its steps, or if one page holds all of them. A question whose
    steps are all answered in one document becomes one of the category `Multi-Hop`."""
    steps = {(draft.question.id, at): one for draft in drafts for at, one in _steps(draft.question).items()}
    found = answering(list(steps.values()), documents, searches, asker, stage=CHECK)
    answers = {id: {} if isinstance(one, Failure) else one for id, one in found.items()}
    known = {one.id: agreeing(one, answers[one.id]) for one in steps.values()}
    items = sorted(
        (
            PageCall(one.id, *place)
            for one in steps.values()
            for place in (one.gold_pages | answers[one.id].keys()) - known[one.id]
            if place[0] in documents and not isinstance(found[one.id], Failure)
        ),
        key=lambda item: (item.place, item.question),  # a page is the common beginning of its prompts
    )
    about = prompts_about(list(steps.values()), documents)
    said = asker.ask(CHECK, items, about, read_label, judging=True)
    by_draft: dict[str, dict[int, Question]] = {draft.question.id: {} for draft in drafts}
    for (id, at), one in steps.items():
        by_draft[id][at] = one
    by_step: dict[str, list[PageCall]] = {one.id: [] for one in steps.values()}
    for item in items:
        by_step[item.question].append(item)
    checked = []
    for draft in drafts:
        own = by_draft[draft.question.id]
        replies = [found[one.id] for one in own.values()]
        judged = [said[item] for one in own.values() for item in by_step[one.id]]
        if (
            failure := next((one for one in (*replies, *judged) if isinstance(one, Failure)), None)
        ) is not None:
            checked.append(
                draft.after(Check(check=CHECK, item="judged", passed=False, reason=failure.message))
            )
            continue
        holds = {
            at: known[one.id] | {item.place for item in by_step[one.id] if said[item] is True}
            for at, one in own.items()
        }
        checked.append(_with_hop_pages(draft, own, holds) if own else draft)
    return checked


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


def _with_hop_pages(
    draft: Draft, steps: Mapping[int, Question], holds: Mapping[int, frozenset[Place]]
) -> Draft:
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
            else f"{amount(len(new), 'further page')}"
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
