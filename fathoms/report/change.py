"""Computes the change of a run's scores since an earlier run, if the two can be compared."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from fathoms.compare import pairing
from fathoms.errors import DataError, StoreError
from fathoms.runs.run import Run


@dataclass(frozen=True)
class Change:
    """The difference of the overall (macro) scores, this run minus the earlier one.

    `obstacle` says why the two runs cannot be compared; it is `None` if they can. The hallucination
    difference is `None` if another classifier detected the abstentions.
    """

    previous: str
    correctness: float | None = None
    hallucination: float | None = None
    obstacle: str | None = None


def last_comparable(run: Run, earlier: Iterable[Run]) -> Run | None:
    """Return the first run of `earlier` that asked the same questions with the same gold answers; `None` if
    none did.

    `earlier` should be sorted with the newest run first; runs are read one by one until one matches. A run
    with damaged question files never matches.
    """
    for other in earlier:
        ours = run.question_digests  # kept by the run, and read only where there is an earlier one
        with suppress(StoreError):
            if other.question_digests == ours:
                return other
    return None


def change(run: Run, previous: Run, profile: str) -> Change:
    """Compare two runs under one profile; they must have asked the same questions with the same gold."""
    if profile not in previous.summary.profiles:
        return Change(previous.original_id, obstacle=f"it has no scores under the profile '{profile}'")
    ours, theirs = run.question_digests, previous.question_digests
    if ours != theirs:
        shared = 0
        with suppress(DataError):  # it is not known which of several with one text is which
            found = pairing.difference(
                previous.identities, run.identities, (previous.original_id, run.original_id)
            )
            shared = len(found.pairs) - len(found.changed)
        return Change(
            previous.original_id,
            obstacle=f"it asked other questions ({shared} the same; {len(ours)} here, {len(theirs)} there)",
        )
    now, then = run.figures(profile), previous.figures(profile)
    new, old = now.overall, then.overall
    # another classifier can change hallucination without any change in the answers
    judged_alike = now.classifier_key == then.classifier_key
    return Change(
        previous.original_id,
        difference(new.correctness, old.correctness),
        difference(new.hallucination, old.hallucination) if judged_alike else None,
    )


def difference(new: float | None, old: float | None) -> float | None:
    """Return `new - old`, `None` if either is missing."""
    return None if new is None or old is None else new - old
