"""Long answers of multi-hop questions: a sentence that gives the last entity, from the quotes of all hops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fathoms.extras.questions.drafting import plain_prompt
from fathoms.extras.questions.making.answers import CHECK
from fathoms.extras.questions.making.asking import Asker
from fathoms.extras.questions.making.drafts import Draft
from fathoms.extras.questions.making.languages import in_language
from fathoms.extras.questions.making.wording import one_line
from fathoms.extras.questions.source_words import source_named
from fathoms.metrics.phrase_recall import phrase_recall
from fathoms.types import Document, Failure, Prompt, Question

_ASK = """\
{quotes}

Question: {question}
Answer: {answer}

Write this answer as one full sentence, from what stands above alone. It contains "{answer}" word by word, and
says on the way what the question leaves out. Do not write of "the passage" or "the text": state the facts.
{language}
Write the sentence and nothing else."""


def long_answers(
    drafts: Sequence[Draft], documents: Mapping[str, Document], asker: Asker, language: str = "same"
) -> list[Draft]:
    """Return drafts with a long answer, which is also their reference. A draft keeps the bare name if the
    model wrote no sentence by which the scorer finds the answer, or one that mentions its source."""

    def asking(question: Question) -> Prompt:
        quotes = "\n".join(dict.fromkeys(one.quote for one in question.evidence if one.quote))
        wanted = in_language(language, _text(question, documents))
        answer = question.short_answer
        return plain_prompt(
            _ASK.format(quotes=quotes, question=question.text, answer=answer, language=wanted)
        )

    said = asker.ask(CHECK, [draft.question for draft in drafts], asking, one_line)
    return [_with_long(draft, said[draft.question]) for draft in drafts]


def _text(question: Question, documents: Mapping[str, Document]) -> str:
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
