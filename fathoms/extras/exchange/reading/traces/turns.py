"""Finds in the spans of a trace the questions, what was retrieved for them, and the answers.

A turn is the outermost span that has both a question and an answer (or a failure). Calls to models below it
are parts of it. Where only calls to models have texts, the last of a trace gives the answer, and an earlier
one is a turn of its own if a later call has its answer in the history; others, such as a call that rewrites
the question, are parts. Contexts are those of the searches below the turn, or before it in its trace; the
result of a reranker takes their place.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fathoms.extras.exchange.reading.traces.span import Said, Seen
from fathoms.types import ToolCall

MOST_SAID = 100
"""The most messages of earlier turns that a turn has as its history."""


@dataclass(frozen=True)
class Turn:
    """One question with its answer. `top` is the span that has both, `parts` are the others that belong to
    it, and `outer_question` is the question of a span around it. `history` is what was said before in the
    same conversation, and `number` counts its turns from 1."""

    top: Seen
    parts: tuple[Seen, ...]
    outer_question: str | None = None
    history: tuple[Said, ...] = ()
    number: int = 1
    conversation: str | None = None
    route: str | None = None
    occurrences: int = 1
    """How many questions of the file are nearly the same, itself included."""

    @property
    def question(self) -> str:
        """The question. Where the turn is the call of a model, its prompt may contain question and contexts,
        so the question of a span around it comes first, and then the query of a search if the prompt contains
        it."""
        own = self.top.question or ""
        if self.top.kind != "answer":
            return own
        if self.outer_question:
            return self.outer_question
        searches = (part.question for part in self.parts if part.kind == "retrieval")
        query = next((text.strip() for text in searches if text and text.strip()), "")
        return query if query and query in own else own

    @property
    def searches(self) -> list[Seen]:
        """The searches in the order of time. A search that is a part of another one is left out, as where
        several retrievers are merged."""
        searches = [part for part in self.parts if part.kind == "retrieval" and part.documents is not None]
        ids = {part.id for part in searches}
        outer = around({part.id: part for part in self.parts}, lambda one: one.id in ids)
        return [part for part in searches if outer[part.id] is None]

    @property
    def documents(self) -> list[Any] | None:
        """What was retrieved, each document once; `None` if nothing is known of it. The scores of several
        searches cannot be compared, so they are left out."""
        reranked = [part for part in self.parts if part.kind == "rerank" and part.documents is not None]
        lists = [part.documents or [] for part in reranked[-1:] or self.searches]
        if len(lists) < 2:
            return lists[0] if lists else None
        once: dict[str, Any] = {}
        for document in (one for each in lists for one in each):
            unscored = {**document, "score": None} if isinstance(document, dict) else document
            once.setdefault(repr(unscored), unscored)
        return list(once.values())

    @property
    def tools(self) -> tuple[ToolCall, ...]:
        """The calls of tools in the order of time."""
        return tuple(
            part.tool.model_copy(
                update={
                    "error": part.error,
                    "seconds": None if part.end is None else max(0.0, part.end - part.start),
                }
            )
            for part in sorted(self.parts, key=lambda part: part.start)
            if part.tool is not None
        )

    @property
    def answering(self) -> Seen:
        """The span of the model's call that gave the answer, or else the turn itself."""
        calls = [part for part in self.parts if part.kind == "answer"]
        return self.top if self.top.kind == "answer" or not calls else calls[-1]

    @property
    def seconds(self) -> float | None:
        """The seconds that the turn took; `None` where its end is not known."""
        return None if self.top.end is None else max(0.0, self.top.end - self.top.start)


def around(by_id: Mapping[str, Seen], wanted: Callable[[Seen], object]) -> dict[str, Seen | None]:
    """Return the innermost span around each span that is wanted, by the id of the span inside; a circle ends
    where it closes. Each span is visited once, because a trace may be a chain of all its spans."""
    found: dict[str, Seen | None] = {}
    for span in by_id.values():
        path: dict[str, Seen] = {}
        at: Seen | None = span
        while at is not None and at.id not in found and at.id not in path:
            path[at.id] = at
            at = by_id.get(at.parent or "")
        outwards = list(reversed(path.values()))
        is_circle = at is not None and at.id in path
        for one in outwards * 2 if is_circle else outwards:  # the second time, what is further round is known
            parent = by_id.get(one.parent or "")
            nearest = parent if parent is None or wanted(parent) else found.get(parent.id)
            found[one.id] = None if nearest is one else nearest
    return found


@dataclass
class _Trace:
    """The spans of one trace in the order of time, by id."""

    spans: list[Seen]
    by_id: dict[str, Seen] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.spans.sort(key=lambda span: span.start)
        self.by_id = {span.id: span for span in self.spans}

    def tops(self) -> list[Seen]:
        """The spans that are turns."""
        outer = around(self.by_id, lambda one: one.is_turn or one.kind == "retrieval")
        turns = [span for span in self.spans if span.is_turn and outer[span.id] is None]
        said = {one.text for span in turns for one in span.history if one.role == "assistant"}
        last = turns[-1] if turns else None
        return [span for span in turns if span.kind != "answer" or span is last or span.answer in said]


def turns_of(spans: Iterable[Seen]) -> tuple[list[Turn], list[Seen]]:
    """Return the turns of all traces in the order of time, and the first span of each trace that has parts of
    a question (a call to a model or a search), but no turn. A trace with embeddings alone built an index."""
    traces: defaultdict[str, list[Seen]] = defaultdict(list)
    for span in spans:
        traces[span.trace].append(span)
    turns: list[Turn] = []
    without: list[Seen] = []
    for own in traces.values():
        found = _of_trace(_Trace(own))
        turns += found
        if not found and any(
            span.kind in ("answer", "retrieval") or (span.said and span.kind not in ("part", "tool"))
            for span in own
        ):
            without.append(own[0])
    turns.sort(key=lambda turn: turn.top.start)
    return _with_history(turns), without


def _of_trace(trace: _Trace) -> list[Turn]:
    """Return the turns of one trace: each other span belongs to the turn around it, or to the next one."""
    tops = trace.tops()
    ids = {top.id for top in tops}
    parts: defaultdict[str, list[Seen]] = defaultdict(list)
    outer = around(trace.by_id, lambda one: one.id in ids)
    starts = [top.start for top in tops]
    for span in trace.spans if tops else ():
        if span.id in ids:
            continue
        next_one = tops[min(bisect_left(starts, span.start), len(tops) - 1)]
        parts[(outer[span.id] or next_one).id].append(span)
    session = next((span.session for span in trace.spans if span.session), None)
    asking = around(trace.by_id, lambda one: one.question)
    return [
        Turn(
            top,
            tuple(parts[top.id]),
            outer_span.question if (outer_span := asking[top.id]) else None,
            conversation=top.session or session,
        )
        for top in tops
    ]


def _with_history(turns: Sequence[Turn]) -> list[Turn]:
    """Number the turns of each conversation, and give each what was said before: the messages that the model
    was sent, or else the last of the earlier turns."""
    counts: Counter[str] = Counter()
    earlier: defaultdict[str, deque[Said]] = defaultdict(lambda: deque(maxlen=MOST_SAID))
    found = []
    for turn in turns:
        name = turn.conversation or ""
        said = turn.top.history or turn.answering.history or tuple(earlier[name] if name else ())
        number = 1 + (counts[name] or sum(one.role == "user" for one in said))
        found.append(replace(turn, history=said, number=number))
        if name:
            counts[name] += 1
            earlier[name] += (Said("user", turn.question), Said("assistant", turn.top.answer or ""))
    return found
