"""Drafts the facts that a good answer says from what was retrieved, where there is no gold answer.

As in AutoNuggetizer (Pradeep et al. 2024): the passages that a judge grades 1 or more, of all runs that are
to be compared, are read ten at a time, and each call revises the list of facts so far, with at most 30 of
them, each vital or okay. Drafted facts are marked as such, and stored in a question file, so that all runs
are scored by the same facts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from fathoms.extras.questions.drafting import ask_each, model_of
from fathoms.judges.judge import Judge
from fathoms.judges.of_run import Judging, judge_run
from fathoms.judges.replies import read_json
from fathoms.metrics.claims.premises import retrieved
from fathoms.metrics.claims.umbrela import UmbrelaPrecision, asks
from fathoms.models.caching import ReplyCache
from fathoms.runs.run import Run
from fathoms.runs.writing import locked
from fathoms.types import Fact, Failure, Form, Message, Prompt, Question

MOST = 30
"""The most facts of a question, as in TREC 2024."""
A_CALL = 10
"""How many passages are read in one call."""
_PROMPT = """\
You keep a list of the facts that a good answer to a question says: short statements of at most 12 words,
each about one thing, each understood without the others, none of them twice. You read passages, and revise
the list: add what is missing, merge what says the same, and leave out what does not help to answer. Take
every fact from the passages. Keep at most {most}, the most important first. A fact is vital if an answer
without it would be wrong or useless, else okay.

Question: {question}

Passages:
{passages}

The list so far:
{facts}

Reply with JSON:
{{"facts": [{{"text": TEXT, "importance": "vital" or "okay"}}, ...]}}"""
_FACT = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "importance": {"type": "string", "enum": ["vital", "okay"]},
    },
    "required": ["text", "importance"],
    "additionalProperties": False,
}
_SCHEMA = {
    "type": "object",
    "properties": {"facts": {"type": "array", "items": _FACT}},
    "required": ["facts"],
    "additionalProperties": False,
}
Passages = dict[str, list[str]]
"""The passages of each question, by its id."""


def graded_passages(
    runs: Sequence[Run], judge: Judge, how: Judging
) -> tuple[dict[str, Question], Passages, int]:
    """Return the questions of some runs, the passages of each that have grade 1 or more, the best first and
    each once, and how many passages have no grade. Grades that the runs do not hold are obtained, and added
    to their verdicts; raises the errors of the judge."""
    metric = UmbrelaPrecision()
    questions: dict[str, Question] = {}
    found: dict[str, dict[str, int]] = {}
    unknown = 0
    for run in runs:
        read = partial(run.records.read, run.records.entries().values())
        with locked(run):
            judged, _ = judge_run(run, judge, [metric], read, how)
        for record in read():
            questions.setdefault(record.question.id, record.question)
            grades = found.setdefault(record.question.id, {})
            for passage in retrieved(record.hits or ()):
                verdict = judged.verdicts.get(asks(record, passage.text))
                if verdict is None or not verdict.label.isdecimal():
                    unknown += 1
                elif int(verdict.label):
                    grades[passage.text] = int(verdict.label)
    best = {
        name: sorted(grades, key=grades.__getitem__, reverse=True) for name, grades in found.items() if grades
    }
    return questions, best, unknown


def draft_facts(
    questions: Sequence[Question],
    passages: Mapping[str, Sequence[str]],
    judge: Judge,
    replies: ReplyCache | None = None,
    on_done: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[dict[str, tuple[Fact, ...]], dict[str, str]]:
    """Return the facts of each question that has passages, and why others have none, by id: a failed call or
    an unreadable reply. Replies are taken from the cache where it has them.

    Raises UsageError for a judge without a language model, and the errors of `judge.check`.
    """
    model = model_of(judge, "draft facts")
    facts: dict[str, tuple[Fact, ...]] = {}
    without: dict[str, str] = {}
    start = 0
    while left := [one for one in questions if one.id not in without and passages.get(one.id, ())[start:]]:

        def prompt(question: Question, start: int = start) -> Prompt:
            read = passages[question.id][start : start + A_CALL]
            return _prompt(question, read, facts.get(question.id, ()))

        for name, found in ask_each(left, model, prompt, _read, replies, on_done).items():
            if isinstance(found, Failure):
                without[name] = found.message
                facts.pop(name, None)  # a list of some of the passages would pass for one of all
            else:
                facts[name] = found
        start += A_CALL
    return facts, without


def _prompt(question: Question, passages: Sequence[str], facts: Sequence[Fact]) -> Prompt:
    """Return the prompt that revises the facts of a question by some passages."""
    text = _PROMPT.format(
        most=MOST,
        question=question.in_conversation,
        passages="\n".join(f"{number}. {' '.join(one.split())}" for number, one in enumerate(passages, 1)),
        facts="\n".join(f"- {fact.text} ({fact.importance})" for fact in facts) or "(empty)",
    )
    return Prompt(messages=(Message(role="user", text=text),), form=Form(json_schema=_SCHEMA))


def _read(reply: str) -> tuple[Fact, ...] | None:
    """Read the facts of a reply, `None` if it has no list; repeated facts count once, and only the first
    `MOST` are taken."""
    data = read_json(reply)
    rows = data.get("facts") if isinstance(data, dict) else data
    if not isinstance(rows, list):
        return None
    found: dict[str, Fact] = {}
    for row in rows:
        text = row.get("text") if isinstance(row, dict) else None
        if not isinstance(text, str) or not text.strip():
            continue
        importance = "vital" if row.get("importance") == "vital" else "okay"
        fact = Fact(text=" ".join(text.split()), importance=importance, origin="drafted")
        found.setdefault(fact.text.casefold().rstrip("."), fact)
    return tuple(found.values())[:MOST]
