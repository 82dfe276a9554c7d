"""The clarity loop: a question that many pages of the corpus answer is rewritten until few do, or dropped.

As in Double-Bench (Shen et al. 2025), retrievers of different kinds search the whole corpus, a judge says
which of the pages that they rank highest answer the question, and a question that too many pages answer gets
one more detail of its own page. The pages that answer the last version are its set of evidence, which
labelling then confirms. Double-Bench asks about each page; here one call has them all, of each the sentences
that are nearest to the question, and the judge says what answer each of them gives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fathoms.errors import amount
from fathoms.extras.questions.making.asking import TEXT, Asker, json_form
from fathoms.extras.questions.making.components import SENTENCE, UNSPACED, Component, size_of
from fathoms.extras.questions.making.drafts import Check, Draft
from fathoms.extras.questions.making.languages import in_language
from fathoms.extras.questions.making.single import rules
from fathoms.extras.questions.making.wording import one_question
from fathoms.judges.replies import read_json
from fathoms.metrics.correctness_judged import gold_text
from fathoms.retrieve import Index, Retriever
from fathoms.text.folding import fold_words
from fathoms.types import Document, Failure, Place, Prompt, Question

CHECK = "clarity"
_AT_ONCE, _SHOWN = 20, 100
"""The most pages of a call, and about the most words that are shown of each."""
_ANSWERS = """\
Passages of a collection of documents:

{passages}

Which of these passages answer the question below by themselves? A passage does if a reader of nothing else
could give an answer to the question, right or wrong. One that is only about the same subject does not.

Question: {question}

Reply with JSON: {{"answers": [{{"passage": the number of a passage, "answer": the answer that it gives, in a
few words}}]}}, with one entry for each passage that answers the question, and an empty list if none does."""
_ROW = json_form(passage={"type": "integer"}, answer=TEXT).json_schema
_FORM = json_form(answers={"type": "array", "items": _ROW, "maxItems": _AT_ONCE})
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
    """Drafts after the clarity loop, and the pages that answer each question, by its id, with the answer that
    each of them gives."""

    drafts: tuple[Draft, ...]
    pages: Mapping[str, Mapping[Place, str]]


class _Shown(NamedTuple):
    """Pages that are shown at once for a question, given by its id."""

    question: str
    places: tuple[Place, ...]


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
    pages answer, at most `rounds` times. Questions that are still too vague then, and questions that their
    own page does not answer, are dropped. `components` are by the id of the question."""
    done: dict[str, Draft] = {}
    pages: dict[str, Mapping[Place, str]] = {}
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
            own = draft.question.gold_pages <= found.keys()
            draft = draft.after(Check(check=CHECK, item="its own page answers it", passed=own))
            reason = f"{len(found)} pages answer it"
            if not own or len(found) <= most:
                done[draft.question.id] = draft.after(
                    Check(check=CHECK, item="few pages answer it", passed=len(found) <= most, reason=reason)
                )
            elif turn == rounds:
                why = f"{reason} after {amount(rounds, 'rewriting')}"
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
) -> dict[str, dict[Place, str] | Failure]:
    """Return for each question, by its id, the pages that answer it, among those that the searches find and
    its gold pages, with the answer that each gives. A failure says that pages could not be judged. For a
    question with a component, the judge sees the component in the place of its page."""
    by_id = {question.id: question for question in questions}
    texts = {(name, page.number): page.text for name, one in documents.items() for page in one.pages}
    groups: list[_Shown] = []
    for question, found in zip(questions, searches.pages(questions).values(), strict=True):
        places = sorted({*found, *question.gold_pages})
        groups += [
            _Shown(question.id, tuple(places[at : at + _AT_ONCE])) for at in range(0, len(places), _AT_ONCE)
        ]

    def asking(item: _Shown) -> Prompt:
        question, own = by_id[item.question], (components or {}).get(item.question)
        about = f"{question.text} {gold_text(question) or ''}"
        shown = []
        for number, (document, page) in enumerate(item.places, 1):
            if own is not None and own.place == (document, page):
                text = own.text.strip() or "(see the picture)"
            else:
                text = excerpt(texts.get((document, page), ""), about)
            shown.append(f"[{number}] Page {page} of the document {document}:\n{text}")
        request = _ANSWERS.format(passages="\n\n".join(shown), question=question.text)
        return asker.showing(own if own is not None and own.place in item.places else None, request, _FORM)

    said = asker.ask(stage, groups, asking, _read, judging=True)
    answers: dict[str, dict[Place, str] | Failure] = {question.id: {} for question in questions}
    for item in groups:
        reply, known = said[item], answers[item.question]
        if isinstance(reply, Failure):
            answers[item.question] = reply
        elif not isinstance(known, Failure):
            numbered = enumerate(item.places, 1)
            known.update({place: reply[number] for number, place in numbered if reply.get(number)})
    return answers


def _read(reply: str) -> dict[int, str] | None:
    """Read which passages give which answers, by their numbers; `None` for a reply that does not say it."""
    data = read_json(reply)
    rows = data.get("answers") if isinstance(data, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        return None
    found = [(row.get("passage"), " ".join(str(row.get("answer") or "").split())) for row in rows]
    return {number: answer for number, answer in found if isinstance(number, int)}


def excerpt(text: str, about: str) -> str:
    """Return the neighbouring sentences of a page, about `_SHOWN` words, that have most of the words in
    `about`; words that stand in few of its sentences count for more. A short page is returned as it is."""
    if size_of(text) <= _SHOWN:
        return text.strip()
    wanted = _words(about)
    pieces = [one for line in text.splitlines() for one in SENTENCE.split(line) if one.strip()]
    words = [_words(piece) & wanted for piece in pieces]
    sizes = list(map(size_of, pieces))
    often = Counter(word for row in words for word in row)
    best, most, end, size = (0, 1), -1.0, 0, 0
    for start in range(len(pieces)):
        while end < len(pieces) and (end == start or size + sizes[end] <= _SHOWN):
            size += sizes[end]
            end += 1
        worth = sum(1 / often[word] for word in set().union(*words[start:end]))
        if worth > most:
            best, most = (start, end), worth
        size -= sizes[start]
    return "\n".join(pieces[slice(*best)])


def _words(text: str) -> set[str]:
    """Return the words of a text, and the letters of scripts that are written without spaces."""
    return {*fold_words(text, hyphens=True).split(), *UNSPACED.findall(text)}


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
    rewritten = []
    for draft, number in vague:
        text = said[draft.question]
        if isinstance(text, Failure):
            rewritten.append(
                draft.after(Check(check=CHECK, item="rewritten", passed=False, reason=text.message))
            )
            continue
        question = draft.question.model_copy(update={"text": text})
        reason = f"{number} pages answered: {draft.question.text}"
        new = draft.after(Check(check=CHECK, item="rewritten", passed=True, reason=reason), question=question)
        rewritten.append(new.after(*rules(new, components[question.id], language)))
    return rewritten
