"""Checklists: one verdict of a language model about each of several items of a question.

The items are those of Double-Bench (Shen et al. 2025). A single-hop question must be self-contained, ask for
the most significant content, of one modality, not mention its source, and be natural. A multi-hop question
must be clear and give no answer away, each of its steps must be necessary and right and have one answer, and
the whole must be worth asking. A question that fails one item is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from fathoms.extras.questions.ambiguity import evidence_of
from fathoms.extras.questions.drafting import ask_all, model_of
from fathoms.extras.questions.making.drafts import Check
from fathoms.extras.questions.source_words import source_named
from fathoms.judges.judge import Judge
from fathoms.judges.replies import read_json
from fathoms.metrics.correctness_judged import gold_text
from fathoms.models.caching import ReplyCache
from fathoms.runs.metadata import originals
from fathoms.types import Document, Failure, Form, Message, Prompt, Question

CHECK = "checklist"
"""The name of the check in the verdicts."""


class Item(NamedTuple):
    """An item of a checklist, with a question to the judge that is answered by yes where the item passes.
    `evidence` says whether it needs the text of the evidence, and `steps` whether it needs the steps of the
    question."""

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
_LAST_OF_SEVERAL = """\

{asks}
Reply with JSON that has, under the name of each, {{"reason": TEXT of at most 20 words, "verdict": "yes" or
"no"}}"""
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


class Call(NamedTuple):
    """One call to the judge: the id of a question, and the names of the items that it is about."""

    question: str
    items: tuple[str, ...]


class Verdict(NamedTuple):
    """What a judge says of an item, and why."""

    passed: bool
    reason: str


@dataclass(frozen=True)
class Plan:
    """The calls to the judge, in an order in which prompts with the same beginning are neighbours, and what
    is known without a call: verdicts of rules, and failures where an item cannot be judged."""

    calls: Sequence[Call]
    settled: Mapping[tuple[str, str], Check | Failure]
    """By the question and the item."""
    prompt: Callable[[Call], Prompt]


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
    *,
    together: bool = False,
) -> dict[str, Inspected]:
    """Return what a checklist says of each question, by its id, in the order of the set. Variants are not
    inspected, because they go with their originals. With `together`, a question has two calls at most, one
    for all items that need no evidence and one for the others. Raises the errors of `model_of`."""
    model = model_of(judge, "inspect questions")
    planned = plan(questions, documents, items, together=together)
    said = ask_all(planned.calls, model, planned.prompt, read_verdicts, replies, on_done)
    found: dict[tuple[str, str], Check | Failure] = {**planned.settled}
    for (question, names), reply in said.items():
        for name in names:
            found[question, name] = _found(name, reply, alone=len(names) == 1)
    return {
        one.id: _inspected((item.name, found[one.id, item.name]) for item in items(one))
        for one in originals(questions)
    }


def plan(
    questions: Sequence[Question],
    documents: Mapping[str, Document],
    items: Choosing = items_of,
    *,
    together: bool = False,
) -> Plan:
    """Return the calls that check questions. Items that need no evidence are judged without it, and the
    others in the order of the evidence; with `together`, a question has one call for each of both kinds."""
    by_id = {one.id: one for one in originals(questions)}
    evidence = {one.id: evidence_of(one, documents) for one in by_id.values()}
    settled: dict[tuple[str, str], Check | Failure] = {}
    calls: dict[Call, tuple[Item, ...]] = {}
    for one in by_id.values():
        left = []
        for item in items(one):
            if (known := _settled(item, one, evidence[one.id])) is None:
                left.append(item)
            else:
                settled[one.id, item.name] = known
        groups = [[item for item in left if item.evidence is needed] for needed in (False, True)]
        for group in groups if together else [[item] for item in left]:
            if group:
                calls[Call(one.id, tuple(item.name for item in group))] = tuple(group)
    order = sorted(calls, key=lambda each: evidence[each.question] if calls[each][0].evidence else "")

    def prompt(each: Call) -> Prompt:
        question = by_id[each.question]
        return _prompt(calls[each], question, evidence[question.id])

    return Plan(order, settled, prompt)


def _prompt(items: Sequence[Item], question: Question, evidence: str) -> Prompt:
    """Return the prompt about one item of a question, or about several."""
    if len(items) == 1:
        last, schema = _LAST.format(asks=items[0].asks), _SCHEMA
    else:
        asks = "\n".join(f'"{item.name}": {item.asks}' for item in items)
        last = _LAST_OF_SEVERAL.format(asks=asks)
        names = [item.name for item in items]
        schema = {**_SCHEMA, "properties": dict.fromkeys(names, _SCHEMA), "required": names}
    shown = Item("", "", any(item.evidence for item in items), any(item.steps for item in items))
    text = _OPENING + _shown(shown, question, evidence) + last
    return Prompt(messages=(Message(role="user", text=text),), form=Form(json_schema=schema))


def _settled(item: Item, question: Question, evidence: str) -> Check | Failure | None:
    """Return the verdict on an item that needs no model, or why it cannot be judged; `None` if a model has to
    judge it."""
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


def read_verdicts(reply: str) -> dict[str, Verdict] | None:
    """Read the verdicts on several items by their names, or the only one under an empty name; `None` for a
    reply without any."""
    data = read_json(reply)
    rows = {"": data, **data} if isinstance(data, dict) else {}
    found = {name: one for name, row in rows.items() if (one := _verdict(row)) is not None}
    return found or None


def _verdict(row: Any) -> Verdict | None:
    """Read yes or no and the reason; `None` if there is no verdict."""
    if not isinstance(row, dict):
        return None
    passed = {"yes": True, "no": False}.get(str(row.get("verdict")).strip().lower())
    return None if passed is None else Verdict(passed, " ".join(str(row.get("reason") or "").split()))


def _found(item: str, reply: Mapping[str, Verdict] | Failure, *, alone: bool) -> Check | Failure:
    """Return the verdict on an item from a reply to it alone, or to several."""
    if isinstance(reply, Failure):
        return reply
    if (said := reply.get("" if alone else item)) is None:
        return Failure(kind="Unparsed", message="the reply has no verdict on it")
    return Check(check=CHECK, item=item, passed=said.passed, reason=said.reason)


def _inspected(found: Iterable[tuple[str, Check | Failure]]) -> Inspected:
    """Gather what was found about the items of a question."""
    rows = list(found)
    return Inspected(
        tuple(said for _, said in rows if isinstance(said, Check)),
        {name: said.message for name, said in rows if isinstance(said, Failure)},
    )
