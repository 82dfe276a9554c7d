"""The evidence of drafts: all pages that hold the gold answer, as a judge says who knows the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fathoms.extras.questions.labelling import Asked, pages_to_ask, prompt_for, prompts_about, read_label
from fathoms.extras.questions.making.asking import Asker
from fathoms.extras.questions.making.components import Component
from fathoms.extras.questions.making.drafts import Check, Draft
from fathoms.types import Document, Evidence, Failure, Place, Prompt

CHECK = "labels"


def labelled(
    drafts: Sequence[Draft],
    pages: Mapping[str, frozenset[Place]],
    documents: Mapping[str, Document],
    asker: Asker,
    components: Mapping[str, Component],
    first: int | None = 0,
) -> list[Draft]:
    """Return drafts with all pages as evidence that hold their answers. Judged are those of `pages`, by the
    id of the question, and those of the corpus that BM25 ranks among the `first`; all pages if `first` is
    `None`. A draft whose own page does not hold its answer is dropped."""
    questions = [draft.question.model_copy(update={"files": ()}) for draft in drafts]
    asked = {
        Asked(question.id, *place): None
        for question in questions
        for place in sorted(pages.get(question.id, frozenset()) | question.gold_pages)
    }
    if first is None or first:
        asked |= dict.fromkeys(pages_to_ask(questions, documents, first))
    items = sorted(asked, key=lambda item: item.place)  # a page is the common beginning of its prompts
    by_id = {question.id: question for question in questions}
    plain = prompts_about(questions, documents)

    def asking(item: Asked) -> Prompt:
        own = components.get(item.question)
        if own is None or own.place != item.place:
            return plain(item)
        prompt = prompt_for(by_id[item.question], item, own.whole)
        return asker.showing(own, prompt.messages[0].text, prompt.form)

    said = asker.ask(CHECK, items, asking, read_label, judging=True)
    by_question: dict[str, dict[Asked, bool | Failure]] = {draft.question.id: {} for draft in drafts}
    for item in items:
        by_question[item.question][item] = said[item]
    made = []
    for draft in drafts:
        own = by_question[draft.question.id]
        failed = next((one for one in own.values() if isinstance(one, Failure)), None)
        holds = {item.place for item, yes in own.items() if yes is True}
        made.append(_with_pages(draft, holds, failed))
    return made


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
    reason = f"{len(new)} further pages hold it" if new else ""
    own = Check(check=CHECK, item="its own page holds the answer", passed=gold <= holds, reason=reason)
    return draft.after(own, question=question)
