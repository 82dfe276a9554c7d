"""Proposes gold variants for answers that a judge calls correct and phrase recall does not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fathoms.extras.questions.advice import wider
from fathoms.extras.questions.finding import Found, Subject
from fathoms.metrics.phrase_recall import phrase_recall
from fathoms.runs.disagreements import JUDGED, disagreements
from fathoms.runs.run import Run
from fathoms.text.folding import fold_words
from fathoms.types import GoldPhrase, GoldYesNo, Question

SHORT = 8
"""A whole answer of at most so many words can be a variant."""
_YES_NO = {
    **dict.fromkeys(("yes", "true"), GoldYesNo(yes_no="yes")),
    **dict.fromkeys(("no", "false"), GoldYesNo(yes_no="no")),
}
_Variant = tuple[GoldPhrase, ...]


def mended(subject: Subject, run: Run, profile: str) -> Iterator[Found]:
    """Report each answer of a run that its judge and phrase recall see differently, with a variant by which
    it counts as correct, if there is one.

    Questions are matched by id and text. A variant is proposed only if the scorer finds it in that answer,
    and neither in the question nor in an answer to it that the judge does not call correct.
    """
    numbers = {(question.id, question.text): number for number, question in enumerate(subject.questions)}
    for view in run.questions():
        number = numbers.get((view.question.id, view.question.text))
        if number is None:
            continue
        question = subject.questions[number]
        answers = [
            (repeat.answer.text, repeat.value(JUDGED, profile)) for repeat in view.repeats if repeat.answer
        ]
        wrong = [question.text, *(text for text, judged in answers if judged is not None and judged < 1)]
        for found in disagreements(view, profile):
            value = _value(subject, question.answers, found.answer)
            if (value == 1) == (found.judged == 1):
                continue  # the file has been mended since the run
            said = f"'{' '.join(found.answer.split())[:120]}' scores {value:g}"
            if found.judged < 1:
                message = f"{said}, but the judge does not call it correct"
            else:
                variant = _proposal(subject, question, found.answer, wrong)
                advice = " & ".join(map(str, variant)) if variant else "none of fathoms's fits, so write one"
                message = f"{said}, but the judge calls it correct; a further variant: {advice}"
            yield Found(message, number, ("answers",))


def _proposal(subject: Subject, question: Question, answer: str, wrong: Sequence[str]) -> _Variant | None:
    """Return the first variant that is found in the answer and in no wrong text; `None` if there is none."""
    for variant in _candidates(subject, question, answer):
        if _value(subject, [variant], answer) == 1 and all(
            _value(subject, [variant], text) < 1 for text in wrong
        ):
            return variant
    return None


def _candidates(subject: Subject, question: Question, answer: str) -> Iterator[_Variant]:
    """Yield the variants of the question in forms that find more wordings: of the phrases that the answer
    lacks, then of all. The last is the answer itself, if it is short."""
    for index, variant in enumerate(question.answers):
        loose = [_loosened(subject, question, index, place) for place in range(len(variant))]
        yield tuple(
            phrase if _value(subject, [(phrase,)], answer) == 1 else form
            for phrase, form in zip(variant, loose, strict=True)
        )
        yield tuple(loose)
    text = re.sub(r"[*_`]", "", " ".join(answer.split())).strip(" .,;:!?")
    if 0 < len(text.split()) <= SHORT:
        yield (text,)


def _loosened(subject: Subject, question: Question, index: int, place: int) -> GoldPhrase:
    """Return the form of a phrase that finds the most wordings; the phrase itself if there is none."""
    phrase = question.answers[index][place]
    if isinstance(phrase, str) and (form := _YES_NO.get(fold_words(phrase, hyphens=True))):
        return form
    return wider(question, index, place, subject.texts.match, subject.texts.hyphens, least=1) or phrase


def _value(subject: Subject, variants: Sequence[_Variant], answer: str) -> float:
    """Return the phrase recall of an answer, by the rule of the check."""
    return phrase_recall(answer, variants, subject.texts.match, subject.texts.hyphens).value
