"""Drafts nuggets of questions by the language model of a judge, from their gold answers.

Martin et al. 2025 (MiRAGE) make nuggets of the claims of a gold answer in this way. Drafted nuggets are
marked as such, so that a person looks through them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fathoms.extras.questions.drafting import ask_each, model_of
from fathoms.judges.judge import Judge
from fathoms.judges.replies import read_json
from fathoms.metrics.correctness_judged import gold_text
from fathoms.models.caching import ReplyCache
from fathoms.types import Failure, Form, Message, Nugget, Prompt, Question

_PROMPT = """\
You write nuggets of a question: short questions that a good answer to it has to answer, each about one fact,
and each with its answer. Take all of them from the gold answer, and add nothing. Each is understood without
the others. A nugget is vital if an answer without it would be wrong or useless, else okay.

Question: {question}

Gold answer:
{gold}

Reply with JSON:
{{"nuggets": [{{"question": TEXT, "answer": TEXT, "importance": "vital" or "okay"}}, ...]}}"""
_SCHEMA = {
    "type": "object",
    "properties": {
        "nuggets": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "question": {"type": "string"},
                    "answer": {"type": "string"},
                    "importance": {"type": "string", "enum": ["vital", "okay"]},
                },
                "required": ["question", "answer", "importance"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["nuggets"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Drafted:
    """The questions with the nuggets that were drafted for them, and why other answerable questions have
    none, by id: a failed call, an unreadable reply, or no gold answer."""

    questions: tuple[Question, ...]
    without: Mapping[str, str]


def with_nuggets(
    questions: Sequence[Question], found: Mapping[str, tuple[Nugget, ...]]
) -> tuple[Question, ...]:
    """Return the questions, those without nuggets with the ones found for their ids."""
    return tuple(
        question
        if question.nuggets or not found.get(question.id)
        else question.model_copy(update={"nuggets": found[question.id]})
        for question in questions
    )


def draft_nuggets(
    questions: Sequence[Question],
    judge: Judge,
    replies: ReplyCache | None = None,
    on_done: Callable[[int, int], None] = lambda done, total: None,
) -> Drafted:
    """Draft nuggets for the answerable questions that have none, one call each. Replies are taken from the
    cache where it has them, so that drafting again after an interruption pays nothing twice.

    Raises UsageError for a judge without a language model, and the errors of `judge.check`.
    """
    model = model_of(judge, "draft nuggets")
    lacking = [question for question in questions if question.answerable and not question.nuggets]
    drafts = ask_each(lacking, model, _prompt, _read, replies, on_done)
    found = {name: draft for name, draft in drafts.items() if isinstance(draft, tuple)}
    without = {name: draft.message for name, draft in drafts.items() if isinstance(draft, Failure)}
    return Drafted(with_nuggets(questions, found), without)


def _prompt(question: Question) -> Prompt | Failure:
    """Return the prompt for the nuggets of a question."""
    gold = gold_text(question)
    if not gold:
        return Failure(kind="NoGold", message="it has no gold answer to draft from")
    text = _PROMPT.format(question=question.text, gold=gold)
    return Prompt(messages=(Message(role="user", text=text),), form=Form(json_schema=_SCHEMA))


def _read(reply: str) -> tuple[Nugget, ...] | None:
    """Read the nuggets of a reply, `None` if it has none; those without a question or an answer are left out,
    and repeated questions count once."""
    data = read_json(reply)
    rows = data.get("nuggets") if isinstance(data, dict) else data
    found: dict[str, Nugget] = {}
    for row in rows if isinstance(rows, list) else ():
        texts = [row.get("question"), row.get("answer")] if isinstance(row, dict) else [None]
        if not all(isinstance(text, str) and text.strip() for text in texts):
            continue
        question, answer = (str(text).strip() for text in texts)
        importance = "vital" if row.get("importance") == "vital" else "okay"
        nugget = Nugget(question=question, answers=(answer,), importance=importance, origin="drafted")
        found.setdefault(question, nugget)
    return tuple(found.values()) or None
