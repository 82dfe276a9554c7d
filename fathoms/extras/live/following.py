"""A run that is not scored yet, from its manifest and its journal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from fathoms.runs.listing import is_growing
from fathoms.runs.records import RecordHead
from fathoms.runs.run import Run
from fathoms.types.run.part import Json
from fathoms.types.run.rows import ScoredQuestion, ScoredRepeat
from fathoms.types.run.summary import Summary

NOT_SCORED = "not scored"
"""The profile of a run without scores."""


def unscored(run: Run) -> Run:
    """Return a run without scores as a run whose scores are all unknown; raises StoreError."""
    typed = run.manifest
    questions = len(typed.data.asked_ids) or typed.data.questions
    why = "in progress" if is_growing(run.path) else f"not scored: run 'fathoms score {run.path.name}'"
    summary: Json = {
        "name": typed.name,
        "model": typed.model,
        "data": typed.data.name,
        "profile": NOT_SCORED,
        "profiles": {NOT_SCORED: {}},
        "complete": False,
        "incomplete": [why],
        "categories": list(typed.data.asked_categories),
        "counts": {"questions": questions, "asked": questions},
        "repeats": typed.repeats,
        "retrieval_only": typed.retrieval_only,
    }
    return run.altered(summary=Summary.model_validate(summary), views=lambda: ())


class Change(NamedTuple):
    """A question with all its repeats; those that are `new` (`None` if all are), and those that were
    sent before and that the new ones replace."""

    question: ScoredQuestion
    new: Sequence[ScoredRepeat] | None = None
    old: Sequence[ScoredRepeat] = ()


class Follower:
    """Reads the answers that are added to the journal of a run; `answers` counts them."""

    def __init__(self, run: Run) -> None:
        self.answers = 0
        self._run = run
        self._offset = 0
        self._known: dict[str, dict[int, tuple[int, ScoredRepeat]]] = {}

    def new(self) -> Iterator[Change]:
        """Yield each question that has a new answer. A failed question is repeated when the run is resumed,
        and the new answer then replaces the failure."""
        for start, end, head in self._run.records.grown(self._offset):
            self._offset = end
            if head is None:
                continue
            repeats = self._known.setdefault(head.question.id, {})
            self.answers += head.repeat not in repeats
            old = [repeats[head.repeat][1]] if head.repeat in repeats else []
            new = _repeat(head)
            repeats[head.repeat] = start, new
            shown = tuple(repeats[number][1] for number in sorted(repeats))
            yield Change(ScoredQuestion(question=head.question, repeats=shown), [new], old)

    def lines_of(self, question: str) -> list[int]:
        """Return where the lines of a question's repeats begin in the journal."""
        repeats = self._known.get(question, {})
        return [repeats[number][0] for number in sorted(repeats)]


def _repeat(head: RecordHead) -> ScoredRepeat:
    """Return what the list shows of one answer."""
    known: dict[str, Any] = {name: getattr(head, name) for name in _LIST_FIELDS}
    return ScoredRepeat(**known)


_LIST_FIELDS = ("repeat", "answer", "error", "timings", "finished")
