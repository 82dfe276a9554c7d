"""Ambiguous questions: found by a language model, decided by two people, rewritten, and matched with clear
ones.

The process of MRAG-Suite (Ji 2025, appendix A). A question is ambiguous if a reasonable reader cannot
determine a single right answer without a further constraint, such as a time, a place, a unit or the name of a
thing. The model sees the question alone. What it flags is decided by people
(`ambiguity_review`). For an ambiguous question the model then writes an answer that rests on the gold
evidence alone, and a question that this evidence answers.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from fathoms.corpora.quote_pictures import with_pictures
from fathoms.extras.questions.drafting import QUESTION_MARKS, ask_each, model_of, plain_prompt
from fathoms.extras.questions.source_words import source_named
from fathoms.judges.judge import Judge
from fathoms.judges.replies import read_json
from fathoms.metrics.correctness_judged import gold_text
from fathoms.metrics.phrase_recall import phrase_recall
from fathoms.models.caching import ReplyCache
from fathoms.retrieve.oracle import known_places
from fathoms.runs.metadata import (
    AMBIGUITY,
    AMBIGUOUS,
    ASKED_ABOUT,
    CLEAR,
    KIND,
    OF,
    original_of,
    originals,
    variant,
)
from fathoms.types import Document, Failure, Form, Message, Place, Prompt, Question

REASON = "ambiguity_reason"
REWRITTEN = "rewritten"
NOT_DECIDED = ("evidence inconclusive", "insufficient evidence to answer")
"""How an answer begins where the evidence does not decide it."""
_CALLS_AMBIGUOUS = re.compile(r"(?<!\bnot )(?<!\bnever )\bambiguous\b", re.IGNORECASE)
LONGEST = 30
"""The most words of a reason."""
_DETECT = """\
You check whether a question has exactly one right answer. Decide from the question alone, as a reasonable
reader would who knows the subject and not the source. If a constraint is missing that changes the answer,
such as a time, a place, a unit, or which of several things is meant, it is ambiguous. If such readers would
arrive at one and only one answer, it is clear. That you do not know the answer does not matter.

{picture}Question: {question}

Reply with JSON:
{{"status": "CLEAR" or "AMBIGUOUS", "reason": TEXT of at most 30 words}}"""
_PICTURE = """\
The question is about the picture that is shown. If what it asks about is blurred there, or cannot be seen, it
is ambiguous.

"""
_ANSWER = """\
You answer a question from the evidence below and from nothing else. If the evidence answers it, write the
answer in one or two sentences. If it is related but not enough, or contradicts itself, write "Evidence
inconclusive." and why in one short sentence. If nothing in it is about the question, write "Insufficient
evidence to answer." Write nothing else.

Question: {question}

Answer so far: {answer}

Evidence:
{evidence}"""
_REWRITE = """\
You rewrite an ambiguous question so that the evidence below, and nothing else, decides its answer. Name the
time, the place, the unit and the full name of what is meant wherever the evidence has them, with exact years.
Do not mention the evidence, a text, a chart or a study without its name, and use no superlative unless the
evidence has a single extreme. Ask for the same thing as before. Write the question alone, on one line.

Why it is ambiguous: {reason}

Question: {question}

Answer: {answer}

Evidence:
{evidence}

Now write the rewritten question, which ends with a question mark, and nothing else:"""
_SCHEMA = {
    "type": "object",
    "properties": {
        "status": {"type": "string", "enum": ["CLEAR", "AMBIGUOUS"]},
        "reason": {"type": "string"},
    },
    "required": ["status", "reason"],
    "additionalProperties": False,
}

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Assessed:
    """The questions with their marks, and why others have none, by id."""

    questions: tuple[Question, ...]
    failures: Mapping[str, str]


@dataclass(frozen=True)
class Rewritten:
    """The variants of ambiguous questions, why others have none, and the questions whose evidence does not
    decide them, with what the model said."""

    variants: tuple[Question, ...]
    failures: Mapping[str, str]
    undecided: Mapping[str, str]


def assess(
    questions: Sequence[Question],
    judge: Judge,
    replies: ReplyCache | None = None,
    on_done: Progress = lambda done, total: None,
    folder: Path = Path(),
) -> Assessed:
    """Mark every question that has no mark yet as clear or ambiguous, with the reason, in its metadata. The
    judge is not asked about variants, which have the mark of their originals. A judge that reads pictures
    gets the picture of a question about one; `folder` is what the paths of pictures are relative to."""
    model = model_of(judge, "find ambiguous questions")
    asking = partial(assessing, folder=folder if judge.sees_images else None)
    found = ask_each(to_assess(questions), model, asking, read_status, replies, on_done)
    assessed = [
        one if (said := found.get(one.id)) is None or isinstance(said, Failure) else with_mark(one, *said)
        for one in questions
    ]
    return Assessed(
        tuple(assessed), {id: said.message for id, said in found.items() if isinstance(said, Failure)}
    )


def to_assess(questions: Sequence[Question]) -> list[Question]:
    """Return the questions without a mark that are no variants."""
    return [one for one in originals(questions) if AMBIGUITY not in one.metadata]


def contradicted(questions: Sequence[Question]) -> list[str]:
    """Return the ids of the questions that are marked as clear, with a reason that calls them ambiguous: a
    model that does so cannot do the task, and people do not see these questions."""
    return [
        one.id
        for one in questions
        if one.metadata.get(AMBIGUITY) == CLEAR and _CALLS_AMBIGUOUS.search(str(one.metadata.get(REASON)))
    ]


def with_mark(question: Question, mark: str, reason: str) -> Question:
    """Return a question with a mark and its reason."""
    return question.model_copy(update={"metadata": {**question.metadata, AMBIGUITY: mark, REASON: reason}})


def assessing(question: Question, folder: Path | None = None) -> Prompt:
    """Return the prompt that asks whether a question is ambiguous. With a folder, the picture that the
    question is about is shown, if it is there."""
    picture = None if folder is None else _picture(question, folder)
    text = _DETECT.format(question=question.text, picture=_PICTURE if picture else "")
    shown = () if picture is None else (picture,)
    return Prompt(messages=(Message(role="user", text=text, images=shown),), form=Form(json_schema=_SCHEMA))


def _picture(question: Question, folder: Path) -> Path | None:
    """Return the picture that a question is about, if there is one. Raises DataError for a link to a place
    outside of the folder."""
    id = question.metadata.get(ASKED_ABOUT)
    (placed,) = with_pictures([question], folder) if id else (question,)
    found = (one.image for one in placed.quotes if one.id == id and one.image is not None)
    return next((path for path in found if path.is_file()), None)


def read_status(reply: str) -> tuple[str, str] | None:
    """Read a mark and its reason of at most 30 words from a reply; `None` if it has none."""
    data = read_json(reply)
    status = data.get("status") if isinstance(data, dict) else None
    mark = {"CLEAR": CLEAR, "AMBIGUOUS": AMBIGUOUS}.get(str(status).strip().upper())
    if mark is None:
        return None
    return mark, " ".join(str(data.get("reason") or "").split()[:LONGEST])


def matched(questions: Sequence[Question], seed: int = 0) -> list[Question]:
    """Return the ambiguous questions, and as many clear ones of each category, drawn by the seed; fewer where
    there are not enough. Variants go with their originals. The order is that of the set."""
    own = originals(questions)
    wanted = Counter(one.category for one in own if one.metadata.get(AMBIGUITY) == AMBIGUOUS)
    chosen = {one.id for one in own if one.metadata.get(AMBIGUITY) == AMBIGUOUS}
    for category, number in wanted.items():
        clear = [one.id for one in own if one.category == category and one.metadata.get(AMBIGUITY) == CLEAR]
        drawing = random.Random(f"{seed} {category}")
        chosen.update(drawing.sample(clear, min(number, len(clear))))
    return [one for one in questions if original_of(one) in chosen]


def rewrite(
    questions: Sequence[Question],
    documents: Mapping[str, Document],
    judge: Judge,
    replies: ReplyCache | None = None,
    on_done: Progress = lambda done, total: None,
) -> Rewritten:
    """Rewrite the answers and then the texts of ambiguous questions, by the text of their gold pages in
    `documents`, or that of their gold quotes. A variant keeps the accepted phrases of its original if its new
    answer has them; otherwise the answer is its reference, and it has no phrases. A question that already has
    such a variant gets no second one."""
    model = model_of(judge, "rewrite questions")
    have = {one.metadata.get(OF) for one in questions if one.metadata.get(KIND) == REWRITTEN}
    ambiguous = [
        one for one in originals(questions) if one.metadata.get(AMBIGUITY) == AMBIGUOUS and one.id not in have
    ]
    evidence = {one.id: evidence_of(one, documents) for one in ambiguous}

    def answering(question: Question) -> Prompt | Failure:
        if not evidence[question.id]:
            return Failure(kind="NoEvidence", message="none of its gold pages or gold quotes has text here")
        return plain_prompt(_ANSWER.format(**_about(question, evidence)))

    answers = ask_each(ambiguous, model, answering, _line, replies, on_done)
    failures = {id: said.message for id, said in answers.items() if isinstance(said, Failure)}
    answered = {id: said for id, said in answers.items() if isinstance(said, str)}
    undecided = {id: said for id, said in answered.items() if is_undecided(said)}
    left = [one for one in ambiguous if one.id in answered and one.id not in undecided]

    def rewriting(question: Question) -> Prompt:
        about = {**_about(question, evidence), "answer": answered[question.id]}
        return plain_prompt(_REWRITE.format(reason=question.metadata.get(REASON) or "not known", **about))

    texts = ask_each(left, model, rewriting, _question_in, replies, on_done)
    failures |= {id: said.message for id, said in texts.items() if isinstance(said, Failure)}
    variants = []
    for one in left:
        if not isinstance(text := texts[one.id], str):
            continue
        if " ".join(text.casefold().split()) == " ".join(one.text.casefold().split()):
            failures[one.id] = "the model wrote the same question"
        else:
            variants.append(_variant(one, text, answered[one.id]))
    return Rewritten(tuple(variants), failures, undecided)


def _variant(question: Question, text: str, answer: str) -> Question:
    """Return the rewritten question as a variant, with the new answer as its gold answer."""
    keeps = phrase_recall(answer, question.answers, "word").value == 1
    gold: dict[str, Any] = {"reference": answer, "answers": question.answers if keeps else ()}
    return variant(question, REWRITTEN, text, short_answer=None, long_answer=None, **gold)


def evidence_of(question: Question, documents: Mapping[str, Document]) -> str:
    """Return the text of the gold pages of a question, or else of its gold quotes; empty if there is none."""
    pages: dict[Place, str] = {}
    for document, number in sorted(known_places(question.gold_evidence, documents)):
        if document in documents:
            text = next((page.text for page in documents[document].pages if page.number == number), "")
            pages[document, number] = text.strip()
    found = [f"- {document}, page {number}: {text}" for (document, number), text in pages.items() if text]
    quotes = [quote.text or quote.description for quote in question.quotes if quote.gold]
    return "\n".join(found or [f"- {text}" for text in quotes if text])


def _about(question: Question, evidence: Mapping[str, str]) -> dict[str, str]:
    """Return what both prompts say of a question."""
    return {
        "question": question.text,
        "answer": gold_text(question) or "not known",
        "evidence": evidence[question.id],
    }


def is_undecided(answer: str) -> bool:
    """Whether an answer says that the evidence does not decide it, in quotes, emphasis or after a label."""
    words = re.sub(r"^\W*(answer\s*:)?\W*", "", answer.lower())
    return words.startswith(NOT_DECIDED)


def _line(reply: str) -> str | None:
    """Read an answer; `None` if it is empty."""
    return " ".join(reply.split()) or None


def _question_in(reply: str) -> str | None:
    """Read a rewritten question; `None` for several lines, for no question, and for one that mentions its
    source."""
    lines = [line.strip() for line in reply.strip().splitlines() if line.strip()]
    if len(lines) != 1 or not lines[0].endswith(QUESTION_MARKS) or source_named(lines[0]):
        return None
    return lines[0]
