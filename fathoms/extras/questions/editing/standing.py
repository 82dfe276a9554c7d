"""What people have decided about each question of a set, and what comes of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from fathoms.extras.questions.making.drafts import Check, Draft
from fathoms.runs.metadata import AMBIGUITY, AMBIGUOUS
from fathoms.runs.pairs import Pair, reviewer_pairs
from fathoms.runs.people import Decision, latest
from fathoms.types import Question


@dataclass(frozen=True)
class Entry:
    """A question as it was before anybody decided about it. `listed` says whether the set had it; other
    entries are drafts that were dropped or left over. `checks` are the verdicts about its draft. `now` is
    what the file of the set has in its place, `None` if nothing."""

    question: Question
    listed: bool
    checks: tuple[Check, ...] = ()
    now: Question | None = None

    @property
    def is_doubted(self) -> bool:
        """Whether a check of a question of the set failed, or its question is marked as ambiguous."""
        failed = any(not check.passed for check in self.checks)
        return self.listed and (failed or self.question.metadata.get(AMBIGUITY) == AMBIGUOUS)


@dataclass(frozen=True)
class Standing:
    """What was decided about one entry: by each person, the last word, and what settled a disagreement."""

    entry: Entry
    said: Mapping[str, Decision]
    settled: Decision | None = None

    @property
    def differ(self) -> bool:
        """Whether people have decided differently, settled or not."""
        return (
            len({(one.decision, one.after and one.after.model_dump_json()) for one in self.said.values()}) > 1
        )

    @property
    def is_open(self) -> bool:
        """Whether people disagree, and nobody has settled it."""
        return self.differ and self.settled is None

    @property
    def counted(self) -> Decision | None:
        """The decision that holds: what settled a disagreement, or what all say who decided; `None` if nobody
        decided, or people disagree."""
        if self.settled is None and self.said and not self.differ:
            return next(iter(self.said.values()))
        return self.settled

    @property
    def result(self) -> Question | None:
        """The question that belongs in the set; `None` if none does. Without a decision that holds, it is
        what people saw first."""
        if self.counted is not None:
            return self.counted.result
        return self.entry.question if self.entry.listed else None


@dataclass(frozen=True)
class Summary:
    """How people decided about a set of `total` questions: how many each person decided, how far every two
    agree (accept, mend or drop), and what comes of the `decided` questions and of dropped drafts."""

    total: int
    by_person: Mapping[str, int]
    pairs: tuple[Pair, ...]
    decided: int
    mended: int
    dropped: int
    taken_in: int
    open: tuple[str, ...]

    @property
    def changed(self) -> int:
        """How many of the decided questions are mended or dropped."""
        return self.mended + self.dropped


def entries(
    questions: Sequence[Question], drafts: Iterable[Draft], history: Sequence[Decision]
) -> list[Entry]:
    """Return the entries of a set in the order of its file, then those of dropped questions and other drafts.

    A set that was written has mended questions in the place of those that people saw. `history` has all
    decisions in order, by which the original questions are found.
    """
    now = {question.id: question for question in questions}
    drafted = {draft.question.id: draft for draft in drafts}
    decided: dict[str, list[Decision]] = {}
    for one in history:
        decided.setdefault(one.question, []).append(one)
    found = []
    for name in dict.fromkeys([*now, *decided, *drafted]):
        entry = _first(name, now.get(name), decided.get(name, ()), drafted.get(name))
        if entry is not None:
            checks = drafted[name].checks if name in drafted else ()
            found.append(replace(entry, checks=checks, now=now.get(name)))
    return sorted(found, key=lambda entry: not entry.listed)


def _first(name: str, now: Question | None, decided: Sequence[Decision], draft: Draft | None) -> Entry | None:
    """Return a question as people first saw it, from the last decision that explains what the set has."""
    for one in reversed(decided):
        if now in ((one.before if one.listed else None), one.result):
            return Entry(one.before, one.listed)
    if now is not None:
        return Entry(now, listed=True)
    return Entry(draft.question, listed=False) if draft is not None else None


def standings(found: Sequence[Entry], history: Iterable[Decision]) -> list[Standing]:
    """Return what was decided about each entry. A decision about a question that has changed since does not
    count."""
    first = {entry.question.id: entry for entry in found}
    said: dict[str, dict[str, Decision]] = {}
    settled: dict[str, Decision] = {}
    for one in history:
        entry = first.get(one.question)
        if entry is None or (one.before, one.listed) != (entry.question, entry.listed):
            continue
        if one.settles:
            settled[one.question] = one
        else:
            said.setdefault(one.question, {})[one.reviewer] = one
    return [
        Standing(
            entry,
            {name: one for name, one in said.get(id, {}).items() if one.decision != "open"},
            None if id not in settled or settled[id].decision == "open" else settled[id],
        )
        for id, entry in first.items()
    ]


def summary(found: Sequence[Standing]) -> Summary:
    """Return how people decided on these questions, and how far they agree."""
    said = latest(one for standing in found for one in standing.said.values())
    listed = [standing for standing in found if standing.entry.listed]
    outcomes = [one.counted.decision for one in listed if one.counted]
    return Summary(
        total=len(listed),
        by_person={
            name: sum(name in standing.said for standing in listed)
            for name in sorted({one.reviewer for one in said})
        },
        pairs=tuple(reviewer_pairs(said, lambda one: one.decision)),
        decided=len(outcomes),
        mended=outcomes.count("mend"),
        dropped=outcomes.count("drop"),
        taken_in=sum(one.result is not None for one in found if not one.entry.listed),
        open=tuple(one.entry.question.id for one in found if one.is_open),
    )
