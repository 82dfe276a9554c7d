"""Checklists: one verdict of a language model about each of several items of a question.

The items are those of Double-Bench (Shen et al. 2025). A single-hop question must be self-contained, ask for
the most significant content, of one modality, not mention its source, and be natural. A multi-hop question
must be clear and give no answer away, each of its steps must be necessary and right and have one answer, and
the whole must be worth asking. A question that fails one item is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fathoms.extras.questions.ambiguity import evidence_of
from fathoms.extras.questions.drafting import ask_all, model_of
from fathoms.extras.questions.making.drafts import Check
from fathoms.extras.questions.source_words import source_named
from fathoms.judges.base import Judge
from fathoms.judges.replies import read_json
from fathoms.metrics.correctness_judged import gold_text
from fathoms.models.caching import ReplyCache
from fathoms.runs.marks import originals
from fathoms.types import Document, Failure, Form, Message, Prompt, Question

CHECK = "checklist"
"""The name of the check in the verdicts."""


class Item(NamedTuple):
    """An item of a checklist, and what a judge is asked, so that yes passes. `evidence` says whether it needs
    the text of the evidence, and `steps` whether it needs the steps of the question."""

    name: str
    asks: str
    evidence: bool = False
    steps: bool = False


NO_SOURCE = Item(
    "no-source",
    'Is the question free of words for the place of its answer, such as "the table", "this figure", "page 4"'
    ' or "this document"?',
)
LINKED = Item(
    "linked",
    "Does each step after the first need the answer of the step before it? Two independent questions that are"
    ' joined by "and" do not.',
    steps=True,
)
SINGLE_HOP = (
    Item(
        "self-contained",
        "Can the question be understood by itself? Somebody who has none of the documents must see which"
        " person, thing, time or place is meant.",
    ),
    Item(
        "significant",
        "Does the question ask about something that is significant in the evidence, and not about an"
        " incidental detail, and does its answer stand in one text, one table or one figure?",
        evidence=True,
    ),
    NO_SOURCE,
    Item("natural", "Is it a natural question about facts or their analysis, as a person would ask it?"),
)
MULTI_HOP = (
    Item(
        "clear",
        "Is the question clear and specific, and does it give away neither its answer nor that of a step?",
        evidence=True,
    ),
    Item(
        "necessary",
        "Is each step necessary to answer the question, and its answer right by the evidence?",
        evidence=True,
        steps=True,
    ),
    Item("unique", "Does each step have only one right answer by the evidence?", evidence=True, steps=True),
    Item(
        "worth",
        "Is the question as a whole worth asking, because people who need these documents would want to know"
        " its answer?",
        evidence=True,
    ),
)
_OPENING = """\
You check the questions of a set by which searches in many documents are tested. People who ask such questions
have none of the documents at hand, and do not know which of them holds the answer.

"""
_LAST = """\

{asks}
Reply with JSON: {{"reason": TEXT of at most 20 words, "verdict": "yes" or "no"}}"""
_SCHEMA = {
    "type": "object",
    "properties": {
        "reason": {"type": "string"},
        "verdict": {"type": "string", "enum": ["yes", "no"]},
    },
    "required": ["reason", "verdict"],
    "additionalProperties": False,
}
"""The reason comes first: a small model that begins with the verdict gives reasons that contradict it."""

Choosing = Callable[[Question], Sequence[Item]]


class Asked(NamedTuple):
    """An item, by its name, of a question, by its id."""

    question: str
    item: str


@dataclass(frozen=True)
class Plan:
    """What is asked, in an order in which prompts with the same beginning are neighbours, and what is known
    without asking: verdicts of rules, and failures where an item cannot be judged."""

    asked: Sequence[Asked]
    settled: Mapping[Asked, Check | Failure]
    prompt: Callable[[Asked], Prompt]


@dataclass(frozen=True)
class Inspected:
    """The verdicts about a question in the order of the items, and why others have none."""

    checks: tuple[Check, ...]
    unjudged: Mapping[str, str]

    @property
    def failed(self) -> Check | None:
        """The first item that the question fails; `None` if it fails none of those that were judged."""
        return next((check for check in self.checks if not check.passed), None)

    @property
    def passed(self) -> bool:
        """Whether all items were judged, and none failed."""
        return self.failed is None and not self.unjudged


def items_of(question: Question) -> tuple[Item, ...]:
    """Return the checklist of a question; of an unanswerable one, the items that need no evidence."""
    if not question.answerable:
        return tuple(item for item in SINGLE_HOP if not item.evidence)
    return MULTI_HOP if is_multi_hop(question) else SINGLE_HOP


def is_multi_hop(question: Question) -> bool:
    """Whether a question says that it has several hops, by their number, its steps or its evidence."""
    hops = (question.hops or 1, len(question.steps), *(one.step or 1 for one in question.evidence))
    return max(hops) > 1


def inspect(
    questions: Sequence[Question],
    documents: Mapping[str, Document],
    judge: Judge,
    replies: ReplyCache | None = None,
    on_done: Callable[[int, int], None] = lambda done, total: None,
    items: Choosing = items_of,
) -> dict[str, Inspected]:
    """Return what a checklist says of each question, by its id, in the order of the set. Variants are not
    inspected, because they go with their originals. Raises the errors of `model_of`."""
    model = model_of(judge, "inspect questions")
    planned = plan(questions, documents, items)
    said = ask_all(planned.asked, model, planned.prompt, read_verdict, replies, on_done)
    found: dict[Asked, Check | Failure] = {**planned.settled}
    for one in originals(questions):
        for item in items(one):
            if (reply := said.get(asked := Asked(one.id, item.name))) is not None:
                found[asked] = reply if isinstance(reply, Failure) else _check(item.name, *reply)
    return {
        one.id: _inspected((item.name, found[Asked(one.id, item.name)]) for item in items(one))
        for one in originals(questions)
    }


def plan(
    questions: Sequence[Question], documents: Mapping[str, Document], items: Choosing = items_of
) -> Plan:
    """Return what is asked about questions. Items that need no evidence are asked without it, and the others
    evidence by evidence."""
    by_id = {one.id: one for one in originals(questions)}
    evidence = {one.id: evidence_of(one, documents) for one in by_id.values()}
    chosen = {Asked(one.id, item.name): item for one in by_id.values() for item in items(one)}
    settled = {
        asked: known
        for asked, item in chosen.items()
        if (known := _settled(item, by_id[asked.question], evidence[asked.question])) is not None
    }
    left = [asked for asked in chosen if asked not in settled]
    left.sort(key=lambda asked: evidence[asked.question] if chosen[asked].evidence else "")

    def prompt(asked: Asked) -> Prompt:
        item, question = chosen[asked], by_id[asked.question]
        shown = _shown(item, question, evidence[question.id])
        text = _OPENING + shown + _LAST.format(asks=item.asks)
        return Prompt(messages=(Message(role="user", text=text),), form=Form(json_schema=_SCHEMA))

    return Plan(left, settled, prompt)


def _settled(item: Item, question: Question, evidence: str) -> Check | Failure | None:
    """Return the verdict on an item that needs no model, or why it cannot be judged; `None` if a model has
    to be asked."""
    if item is NO_SOURCE and (words := source_named(question.text)):
        return Check(check=CHECK, item=item.name, passed=False, reason=f'it says "{words}"')
    if item.steps and len(question.steps) < 2:
        return Failure(kind="NoSteps", message="the question has no steps")
    if item.evidence and not evidence:
        return Failure(kind="NoEvidence", message="none of its gold pages or gold quotes has text here")
    return None


def _shown(item: Item, question: Question, evidence: str) -> str:
    """Return what is shown of a question for an item: the question alone, or also its answer and steps, and
    the evidence before it."""
    shown = f"Evidence:\n{evidence}\n\n" if item.evidence else ""
    shown += f"Question: {question.text}\n"
    if item.evidence or item.steps:
        shown += f"Answer: {gold_text(question) or 'not known'}\n"
        for number, step in enumerate(question.steps, 1):
            shown += f"Step {number}: {step.question or 'not known'} {step.answer or 'not known'}\n"
    return shown


def read_verdict(reply: str) -> tuple[bool, str] | None:
    """Read yes or no and the reason from a reply; `None` if it has no verdict."""
    data = read_json(reply)
    if not isinstance(data, dict):
        return None
    verdict = {"yes": True, "no": False}.get(str(data.get("verdict")).strip().lower())
    return None if verdict is None else (verdict, " ".join(str(data.get("reason") or "").split()))


def _check(item: str, yes: bool, reason: str) -> Check:
    """Return the verdict on an item by the reply of the judge."""
    return Check(check=CHECK, item=item, passed=yes, reason=reason)


def _inspected(found: Iterable[tuple[str, Check | Failure]]) -> Inspected:
    """Gather what was found about the items of a question."""
    rows = list(found)
    return Inspected(
        tuple(said for _, said in rows if isinstance(said, Check)),
        {name: said.message for name, said in rows if isinstance(said, Failure)},
    )
