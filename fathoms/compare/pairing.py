"""Pairs the questions of two sets, and says what differs between them.

A question is the same where its id stands in both question files. An id that fathoms derived from category
and position says nothing once a question is inserted, so such questions are paired by their texts, whatever
their Unicode form, white space and case.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fathoms.errors import DataError, amount, amount_of, some_of
from fathoms.runs.identity import Identity
from fathoms.text.ids import looks_derived


@dataclass(frozen=True)
class Difference:
    """What differs between a first and a second set of questions.

    `pairs` has the id in the second set by that in the first. `removed` are only in the first and `added`
    only in the second. `changes` says by the id in the first what has changed: its text, gold, category or
    evidence. `by_text` counts the pairs that were found by their texts, where the ids say nothing.
    """

    pairs: Mapping[str, str] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    changes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    by_text: int = 0

    @property
    def changed(self) -> tuple[str, ...]:
        """The questions that are in both, but whose answers cannot be compared: with another text or gold."""
        return tuple(name for name, what in self.changes.items() if {"text", "gold"} & set(what))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of figures over the pairs must know."""
        notes = []
        if self.by_text:
            notes.append(
                amount_of(
                    self.by_text, "questions are matched by text, because the question file does not have"
                )
                + " their ids: 'fathoms questions check FILE --fix' writes them"
            )
        if found := [name for name, what in self.changes.items() if "evidence" in what]:
            notes.append(
                f"the evidence of {amount(len(found), 'question')} differs ({some_of(found)}): metrics of"
                " retrieval are measured by other pages"
            )
        return tuple(notes)

    def lines(self) -> list[str]:
        """Say what differs in words, a line for each kind of change."""
        kinds = {
            f"{what} changed": [name for name, each in self.changes.items() if what in each]
            for what in ("text", "gold", "category", "evidence")
        }
        listed = {"added": self.added, "removed": self.removed, **kinds}
        return [f"{len(names)} {what}: {', '.join(names)}" for what, names in listed.items() if names]


def difference(
    first: Mapping[str, Identity], second: Mapping[str, Identity], sides: tuple[str, str]
) -> Difference:
    """Pair the questions of two sets, by id, and say what differs. `sides` are the names of the sets.

    Raises DataError, with both places, where questions must be matched by a text that occurs twice.
    """
    known = all(one.text is not None for side in (first, second) for one in side.values())
    pairs = {
        name: name
        for name in first
        if name in second and _is_written(name, first) and _is_written(name, second)
    }
    left, right = (
        [name for name in first if name not in pairs],
        [name for name in second if name not in pairs],
    )
    found = _by_text(first, second, left, right, sides, known=known)
    pairs = {name: other for name in first if (other := pairs.get(name, found.get(name))) is not None}
    there = set(pairs.values())
    removed = tuple(name for name in first if name not in pairs)
    added = tuple(name for name in second if name not in there)
    changes = {
        name: what
        for name, other in pairs.items()
        if (what := _changes(first[name], second[other], known=known))
    }
    moved = any(name != other for name, other in found.items())
    unsure = any(
        not _is_written(name, side) for side, names in ((first, removed), (second, added)) for name in names
    )
    return Difference(pairs, removed, added, changes, len(found) if moved or unsure else 0)


def _is_written(name: str, side: Mapping[str, Identity]) -> bool:
    """Return whether an id of one side stands in the question file."""
    return is_written(name, side[name].category, side[name].written)


def is_written(name: str, category: str, written: bool | None) -> bool:
    """Return whether an id stands in the question file; where that is not known, whether it must, because it
    is not one that fathoms derives."""
    return not looks_derived(name, category) if written is None else written


def _changes(first: Identity, second: Identity, *, known: bool) -> tuple[str, ...]:
    """Return what differs between two versions of a question; where its parts are not `known`, any difference
    counts as one of the gold."""
    if not known:
        return () if first.gold == second.gold else ("gold",)
    parts = {"text": "text", "gold": "answers", "category": "category", "evidence": "evidence"}
    return tuple(what for what, part in parts.items() if getattr(first, part) != getattr(second, part))


def _by_text(
    first: Mapping[str, Identity],
    second: Mapping[str, Identity],
    left: Sequence[str],
    right: Sequence[str],
    sides: tuple[str, str],
    *,
    known: bool,
) -> dict[str, str]:
    """Pair questions of two sets by their texts, or where these are not `known`, by their gold as a whole."""
    found: dict[str, str] = {}
    groups = _grouped(left, lambda name: first[name].text if known else first[name].gold)
    others = _grouped(right, lambda name: second[name].text if known else second[name].gold)
    for text, ours in groups.items():
        theirs = others.get(text, [])
        if len(ours) == len(theirs) == 1:
            found[ours[0]] = theirs[0]
        elif theirs:
            found |= _of_one_text(first, second, ours, theirs, sides)
    return found


def _of_one_text(
    first: Mapping[str, Identity],
    second: Mapping[str, Identity],
    left: Sequence[str],
    right: Sequence[str],
    sides: tuple[str, str],
) -> dict[str, str]:
    """Pair questions of the same text by gold and documents, and by their ids where these are the same.

    Raises DataError where that leaves it open which is which.
    """

    def versions(side: Mapping[str, Identity], names: Sequence[str]) -> dict[Hashable, list[str]]:
        return _grouped(names, lambda name: (side[name].answers or side[name].gold, side[name].documents))

    found: dict[str, str] = {}
    ours, theirs = versions(first, left), versions(second, right)
    for which, names in ours.items():
        others = theirs.get(which, [])
        if len(names) == len(others) == 1:
            found[names[0]] = others[0]
        else:  # these are the same in everything, so that it does not matter which is which
            found |= {name: name for name in names if name in others}
    there = set(found.values())
    left, right = [name for name in left if name not in found], [name for name in right if name not in there]
    if set(left) == set(right):
        return found | {name: name for name in left}
    if len(left) == len(right) == 1:
        return found | {left[0]: right[0]}
    if left and right:
        places = [f"{some_of(names)} of {side}" for names, side in ((left, sides[0]), (right, sides[1]))]
        raise DataError(
            f"{' and '.join(places)} have the same text, and their ids do not stand in the question file, so"
            " it is not known which of them are the same: run 'fathoms questions check FILE --fix' before you"
            " change questions, or make their texts differ"
        )
    return found


def _grouped(names: Iterable[str], key: Callable[[str], Hashable]) -> dict[Hashable, list[str]]:
    """Group names by a key, in their order."""
    groups: dict[Hashable, list[str]] = {}
    for name in names:
        groups.setdefault(key(name), []).append(name)
    return groups
