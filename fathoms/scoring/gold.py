"""Scores the answers that a run holds by another version of its questions.

The answers stay what they are, and so do the questions that the run holds: the new gold counts in one
scoring, and scoring without it makes the earlier figures again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from fathoms.compare.pairing import difference
from fathoms.errors import DataError, amount, some_of
from fathoms.runs.identity import identity
from fathoms.runs.records import Entry
from fathoms.runs.run import Run
from fathoms.text.ids import looks_derived
from fathoms.types import Question
from fathoms.types.run.manifest import Manifest
from fathoms.types.run.summary import NewQuestions


@dataclass(frozen=True)
class NewGold:
    """The `questions` that a run is scored by. They stand in a file, except for the ids `derived`."""

    name: str
    sha256: str
    questions: Sequence[Question]
    derived: Collection[str] = ()


@dataclass(frozen=True)
class GoldOfRun:
    """The questions that a run is scored by instead of its own, by their ids in the run; `described` says in
    the summary where they come from, and `warnings` which questions keep the gold of the run."""

    questions: Mapping[str, Question]
    described: NewQuestions
    warnings: Sequence[str]

    def manifest(self, manifest: Manifest) -> Manifest:
        """Return the manifest of the run with the categories of these questions before its own."""
        data = manifest.data
        ours = dict.fromkeys(one.category for one in self.questions.values())
        present = {*ours, *self.described.own_categories}
        listed = dict.fromkeys([*ours, *(name for name in data.categories if name in present)])
        data = data.model_copy(update={"categories": tuple(listed)})
        return manifest.model_copy(update={"data": data})


def gold_of(run: Run, entries: Mapping[tuple[str, int], Entry], new: NewGold) -> GoldOfRun:
    """Pair the questions of a run with those of a file; raises DataError where they have none in common.

    A question that the file does not have, or has with another text, keeps the gold of the run.
    """
    first = {name: entry for (name, _), entry in entries.items()}
    own = {record.question.id: record.question for record in run.records.read(first.values(), light=True)}
    said = run.manifest.data.written_ids
    before = {
        name: identity(one, written=not looks_derived(name, one.category) if said is None else said)
        for name, one in own.items()
    }
    by_id = {one.id: one for one in new.questions}
    after = {name: identity(one, written=name not in new.derived) for name, one in by_id.items()}
    found = difference(before, after, (run.id, new.name))
    reworded = [name for name, what in found.changes.items() if "text" in what]
    questions = {
        name: by_id[there].model_copy(update={"id": name, "text": own[name].text})
        for name, there in found.pairs.items()
        if name not in reworded
    }
    if not questions:
        raise DataError(f"{run.id} has no question in common with {new.name}")
    corrected = [name for name in found.changed if name in questions]
    unmatched = [*found.removed, *reworded]
    warnings = [
        f"scored by the gold answers of {new.name}, which differ for {len(corrected)} of {len(own)} questions"
        + (f" ({some_of(corrected)})" if corrected else "")
    ]
    if unmatched:
        warnings.append(
            f"{new.name} does not have {amount(len(unmatched), 'question')} of the run, or only with another"
            f" text; the run's own gold answers are used there: {some_of(unmatched)}"
        )
    described = NewQuestions(
        file=new.name,
        sha256=new.sha256,
        corrected=tuple(corrected),
        kept=tuple(unmatched),
        written_ids=all(one.written for one in before.values()),
        own_categories=tuple(dict.fromkeys(own[name].category for name in unmatched)),
    )
    return GoldOfRun(questions, described, [*warnings, *found.notes])
