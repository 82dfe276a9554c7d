"""The clarity loop: a question that many pages of the corpus answer is rewritten until few do, or dropped.

As in Double-Bench (Shen et al. 2025), retrievers of different kinds search the whole corpus, a judge says of
each page that they rank highest whether it answers the question, and a question that too many pages answer
gets one more detail of its own page. The pages that answer the last version are its set of evidence, which
labelling then confirms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fathoms.extras.questions.labelling import YES_NO, Asked, read_label
from fathoms.extras.questions.making.asking import Asker
from fathoms.extras.questions.making.components import Component
from fathoms.extras.questions.making.drafts import Check, Draft
from fathoms.extras.questions.making.languages import in_language
from fathoms.extras.questions.making.single import rules
from fathoms.extras.questions.making.wording import one_question
from fathoms.retrieve import Index, Retriever
from fathoms.types import Document, Failure, Place, Prompt, Question

CHECK = "clarity"
_HOLDS = """\
Page {page} of the document {document}:

{text}

Does this page alone answer the question below? It does if a reader of nothing else could give an answer to
it, right or wrong. A page that is only about the same subject does not. Answer with one word: yes or no.

Question: {question}"""
_REWRITE = """\
This question is too vague, because {number} pages of the collection seem to answer it:

{question}

Write it again with one more detail of the {named} above that makes clear which of them is meant, such as a
full name, a place, a date or a product. Its answer must still be: {answer}. Do not mention the answer, and do
not mention the {named}, the page or the document itself. {language} Write the question alone, on one line."""


@dataclass(frozen=True)
class Searches:
    """Retrievers of different kinds over one index of the whole corpus, and how many pages each may give."""

    index: Index
    retrievers: Sequence[Retriever]
    top: int

    def pages(self, questions: Sequence[Question]) -> dict[str, list[Place]]:
        """Return for each question, by its id, the pages that any retriever ranks among its first `top`."""
        found: dict[str, dict[Place, None]] = {question.id: {} for question in questions}
        for retriever in self.retrievers:
            for question, hits in zip(questions, retriever.search(self.index, questions), strict=True):
                ranked = dict.fromkeys(place for hit in hits for place in hit.chunk.places)
                found[question.id].update(dict.fromkeys(list(ranked)[: self.top]))
        return {id: list(places) for id, places in found.items()}


@dataclass(frozen=True)
class Clear:
    """Drafts after the clarity loop, and the pages that answer each question, by its id."""

    drafts: tuple[Draft, ...]
    pages: Mapping[str, frozenset[Place]]


def clarified(
    drafts: Sequence[Draft],
    components: Mapping[str, Component],
    documents: Mapping[str, Document],
    searches: Searches,
    asker: Asker,
    *,
    most: int = 5,
    rounds: int = 2,
    language: str = "same",
) -> Clear:
    """Judge the pages that the searches find for each question, and rewrite questions that more than `most`
    pages answer, at most `rounds` times; what is still too vague then is dropped. So is a question that its
    own page does not answer. `components` are by the id of the question."""
    done: dict[str, Draft] = {}
    pages: dict[str, frozenset[Place]] = {}
    left = list(drafts)
    for turn in range(rounds + 1):
        judged = answering([draft.question for draft in left], documents, searches, asker, components)
        vague: list[tuple[Draft, int]] = []
        for draft in left:
            found = judged[draft.question.id]
            if isinstance(found, Failure):
                done[draft.question.id] = draft.after(
                    Check(check=CHECK, item="judged", passed=False, reason=found.message)
                )
                continue
            pages[draft.question.id] = found
            own = draft.question.gold_pages <= found
            draft = draft.after(Check(check=CHECK, item="its own page answers it", passed=own))
            reason = f"{len(found)} pages answer it"
            if not own or len(found) <= most:
                done[draft.question.id] = draft.after(
                    Check(check=CHECK, item="few pages answer it", passed=len(found) <= most, reason=reason)
                )
            elif turn == rounds:
                why = f"{reason} after {rounds} rewritings"
                done[draft.question.id] = draft.after(
                    Check(check=CHECK, item="few pages answer it", passed=False, reason=why)
                )
            else:
                vague.append((draft, len(found)))
        left = []
        for draft in _rewritten(vague, components, asker, language):
            (done.__setitem__(draft.question.id, draft) if draft.failed else left.append(draft))
        if not left:
            break
    return Clear(tuple(done[draft.question.id] for draft in drafts), pages)


def answering(
    questions: Sequence[Question],
    documents: Mapping[str, Document],
    searches: Searches,
    asker: Asker,
    components: Mapping[str, Component] | None = None,
    stage: str = CHECK,
) -> dict[str, frozenset[Place] | Failure]:
    """Return for each question, by its id, the pages that answer it, among those that the searches find and
    its gold pages. A failure says that a page could not be judged. The judge is shown the component of a
    question with its page."""
    by_id = {question.id: question for question in questions}
    texts = {(name, page.number): page.text for name, one in documents.items() for page in one.pages}
    asked = [
        Asked(question.id, document, page)
        for question, places in zip(questions, searches.pages(questions).values(), strict=True)
        for document, page in dict.fromkeys([*sorted(question.gold_pages), *places])
    ]

    def asking(item: Asked) -> Prompt:
        own = (components or {}).get(item.question)
        own = own if own is not None and own.place == item.place else None
        page = texts.get(item.place, "") if own is None else own.whole
        about = {"page": item.page, "document": item.document, "text": page}
        return asker.showing(own, _HOLDS.format(**about, question=by_id[item.question].text), YES_NO)

    asked.sort(key=lambda item: item.place)  # pages are the common beginning of neighbouring prompts
    said = asker.ask(stage, asked, asking, read_label, judging=True)
    by_question: dict[str, dict[Asked, bool | Failure]] = {question.id: {} for question in questions}
    for item in asked:
        by_question[item.question][item] = said[item]
    found: dict[str, frozenset[Place] | Failure] = {}
    for question in questions:
        own = by_question[question.id]
        failed = next((one for one in own.values() if isinstance(one, Failure)), None)
        found[question.id] = failed or frozenset(item.place for item, yes in own.items() if yes is True)
    return found


def _rewritten(
    vague: Sequence[tuple[Draft, int]], components: Mapping[str, Component], asker: Asker, language: str
) -> list[Draft]:
    """Return the drafts with more precise questions, and the verdicts of the rules about these."""
    numbers = {draft.question: number for draft, number in vague}

    def asking(question: Question) -> Prompt:
        component = components[question.id]
        return asker.about(
            component,
            _REWRITE.format(
                number=numbers[question],
                question=question.text,
                named=component.modality if component.modality != "text" else "passage",
                answer=question.reference,
                language=in_language(language, component.page_text),
            ),
        )

    said = asker.ask(CHECK, list(numbers), asking, one_question)
    made = []
    for draft, number in vague:
        text = said[draft.question]
        if isinstance(text, Failure):
            made.append(draft.after(Check(check=CHECK, item="rewritten", passed=False, reason=text.message)))
            continue
        question = draft.question.model_copy(update={"text": text})
        reason = f"{number} pages answered: {draft.question.text}"
        new = draft.after(Check(check=CHECK, item="rewritten", passed=True, reason=reason), question=question)
        made.append(new.after(*rules(new, components[question.id], language)))
    return made
