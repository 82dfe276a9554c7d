"""Questions put differently: with typing mistakes, with a wrong premise, in other words, in another language.

Each is a variant that stands in the question file beside its original (`fathoms.runs.metadata`), and is
written once: typing mistakes and wrong premises by rules and a seed, the other two by a language model. What
a variant must keep is checked: its numbers stay, and a wrong premise is no accepted answer.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from fathoms.extras.questions.drafting import QUESTION_MARKS, ask_each, model_of
from fathoms.judges.judge import Judge
from fathoms.metrics.phrase_recall import phrase_recall
from fathoms.metrics.premise import PREMISE
from fathoms.models.caching import ReplyCache
from fathoms.runs.metadata import KIND, OF, originals, variant
from fathoms.types import Failure, GoldNumber, Message, Prompt, Question

Kind = Literal["typos", "wrong-premise", "paraphrase", "translated"]
KINDS: tuple[Kind, ...] = ("typos", "wrong-premise", "paraphrase", "translated")
BY_MODEL: tuple[Kind, ...] = ("paraphrase", "translated")
"""The kinds that a language model writes."""
SHARE = 0.2
"""The share of the longer words that get a typing mistake; at least one word does."""
_WORD = re.compile(r"[^\W\d_]{4,}")
_NUMBER = re.compile(r"\d+")
_ASKS: Mapping[str, str] = {
    "paraphrase": (
        "Write the question below in other words. It must ask for exactly the same thing: keep every name,"
        " number, unit and date. Change the order and the words of the rest. Write the question alone, on one"
        " line.\n\nQuestion: {question}"
    ),
    "translated": (
        "Translate the question below into {language}. Keep every name and number as it is. Write the"
        " translation alone, on one line.\n\nQuestion: {question}"
    ),
}
_QUOTES = " \"'\u201c\u201d\u00ab\u00bb"
_CLAIM = (
    'It is known that the answer to the question "{question}" is {premise}. Explain in one sentence why that'
    " is so."
)


@dataclass(frozen=True)
class Perturbed:
    """The variants, and why some questions have none of a kind, by the kind and the id."""

    variants: tuple[Question, ...]
    failures: Mapping[tuple[str, str], str]


def perturb(
    questions: Sequence[Question],
    kinds: Sequence[Kind],
    *,
    judge: Judge | None = None,
    language: str = "French",
    seed: int = 0,
    replies: ReplyCache | None = None,
    on_done: Callable[[int, int], None] = lambda done, total: None,
) -> Perturbed:
    """Return the variants of all questions that are no variants themselves. Unanswerable questions get none
    with a wrong premise. Kinds by a model need the language model of a judge; raises the errors of
    `model_of`."""
    have = {(one.metadata.get(OF), one.metadata.get(KIND), one.metadata.get("language")) for one in questions}
    every = originals(questions)
    variants: list[Question] = []
    failures: dict[tuple[str, str], str] = {}
    for kind in kinds:
        own = language if kind == "translated" else None
        lacking = [one for one in every if (one.id, kind, own or one.metadata.get("language")) not in have]
        if kind in BY_MODEL:
            found = _written_by_model(lacking, kind, judge, language, replies, on_done)
        elif kind == "typos":
            found = {one.id: _mistyped(one, seed) for one in lacking}
        else:
            others = [one for one in every if one.answerable]
            found = {one.id: _premised(one, others, seed) for one in lacking if one.answerable}
        known = Counter(one.text for one in found.values() if isinstance(one, Question))
        for one in lacking:
            result = found.get(one.id)
            if isinstance(result, Question) and kind in BY_MODEL and known[result.text] > 1:
                result = Failure(kind="Same", message="the model wrote the same for another question")
            if isinstance(result, Failure):
                failures[kind, one.id] = result.message
            elif result is not None:
                variants.append(result)
    return Perturbed(tuple(variants), failures)


def _written_by_model(
    questions: Sequence[Question],
    kind: Kind,
    judge: Judge | None,
    language: str,
    replies: ReplyCache | None,
    on_done: Callable[[int, int], None],
) -> dict[str, Question | Failure]:
    """Return the variants that a language model writes."""
    if judge is None:
        raise ValueError(f"'{kind}' needs a judge with a language model")
    model = model_of(judge, "put questions differently")

    def prompt(question: Question) -> Prompt:
        text = _ASKS[kind].format(question=question.text, language=language)
        return Prompt(messages=(Message(role="user", text=text),))

    metadata = {"language": language} if kind == "translated" else {}
    texts = ask_each(questions, model, prompt, _line, replies, on_done)
    return {
        one.id: text if isinstance(text, Failure) else _checked(one, kind, text, metadata)
        for one in questions
        if (text := texts.get(one.id)) is not None
    }


def _line(reply: str) -> str | None:
    """Read a question on one line; `None` for several lines and for an empty reply."""
    lines = [line.strip() for line in reply.strip().splitlines() if line.strip()]
    return lines[0].removeprefix("Question:").strip(_QUOTES) or None if len(lines) == 1 else None


def _checked(question: Question, kind: Kind, text: str, metadata: Mapping[str, str]) -> Question | Failure:
    """Return the variant, unless its text is that of the original, has other numbers, or is no question."""
    if question.text.rstrip().endswith(QUESTION_MARKS) and not text.endswith(QUESTION_MARKS):
        return Failure(kind="NoQuestion", message=f"the model wrote no question: {text[:200]!r}")
    if text.casefold() == question.text.casefold():
        return Failure(kind="Unchanged", message="the model wrote the same question")
    if sorted(_NUMBER.findall(text)) != sorted(_NUMBER.findall(question.text)):
        return Failure(kind="Numbers", message=f"the model changed the numbers: {text[:200]!r}")
    result = variant(question, kind, text, metadata=dict(metadata))
    language = metadata.get("language")  # there may be translations into several languages
    return result if language is None else result.model_copy(update={"id": f"{result.id}-{language.lower()}"})


def _mistyped(question: Question, seed: int) -> Question | Failure:
    """Return the question with typing mistakes in some of its words of four letters or more: two letters
    swapped, one left out, or one doubled, never the first one. Numbers stay."""
    words = list(_WORD.finditer(question.text))
    if not words:
        return Failure(kind="Short", message="it has no word of four letters")
    drawing = random.Random(f"{seed} {question.id}")
    chosen = drawing.sample(words, max(1, round(SHARE * len(words))))
    text = question.text
    for place in sorted(chosen, key=lambda place: -place.start()):
        text = text[: place.start()] + _typed(place[0], drawing) + text[place.end() :]
    return variant(question, "typos", text)


def _typed(word: str, drawing: random.Random) -> str:
    """Return a word with one mistake."""
    swaps = [at for at in range(1, len(word) - 1) if word[at] != word[at + 1]]
    if swaps and drawing.random() < 1 / 3:
        at = drawing.choice(swaps)
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    at = drawing.randrange(1, len(word))
    return word[:at] + (word[at] * 2 if drawing.random() < 1 / 2 else "") + word[at + 1 :]


def _premised(question: Question, others: Sequence[Question], seed: int) -> Question | Failure:
    """Return the question with a wrong answer as its premise: its number with another digit, or the answer of
    another question, of the same category if there is one. The right answer is still the gold one."""
    gold = _single(question)
    if gold is None:
        return Failure(kind="Gold", message="it has no accepted answer of a single phrase or number")
    drawing = random.Random(f"{seed} {question.id}")
    wrong = [_renumbered(gold, drawing)] if _NUMBER.search(gold) else _answers_of(others, question)
    wrong = [one for one in wrong if phrase_recall(one, question.answers, "word").value != 1]
    if not wrong:
        return Failure(kind="Premise", message="no other question has an answer that would be wrong here")
    premise = drawing.choice(wrong)
    text = _CLAIM.format(question=question.text, premise=premise)
    return variant(question, "wrong-premise", text, metadata={PREMISE: premise})


def _single(question: Question) -> str | None:
    """Return the first accepted answer that is a single phrase or number."""
    for phrases in question.answers:
        if len(phrases) == 1:
            (one,) = phrases
            if isinstance(one, str):
                return one
            if isinstance(one, GoldNumber):
                return " ".join(filter(None, [f"{one.number:.15g}", one.unit]))
    return None


def _renumbered(answer: str, drawing: random.Random) -> str:
    """Return an answer with another digit in its first number, at its end; `1998` can become `1993`."""
    place = _NUMBER.search(answer)
    assert place is not None
    at = place.end() - 1
    others = [digit for digit in "123456789" if digit != answer[at]]
    return answer[:at] + drawing.choice(others) + answer[at + 1 :]


def _answers_of(others: Sequence[Question], question: Question) -> list[str]:
    """Return the answers without a number of other questions, of the same category if it has any."""
    found = [
        (other.category == question.category, answer)
        for other in others
        if other.id != question.id and (answer := _single(other)) and not _NUMBER.search(answer)
    ]
    alike = [answer for same, answer in found if same]
    return sorted(set(alike or [answer for _, answer in found]))
