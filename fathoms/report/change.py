"""Computes the change of a run's scores since an earlier run, if the two can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fathoms.errors import StoreError
from fathoms.report.view import RunView

KEYS = ("text", "category", "answers", "answerable")


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


def last_comparable(run: RunView, earlier: Iterable[RunView]) -> RunView | None:
    """Return the first run of `earlier` that asked the same questions with the same gold answers; `None` if
    none did.

    `earlier` should be sorted with the newest run first; runs are read one by one until one matches. A run
    with damaged question files never matches.
    """
    ours = asked(run)
    return next((view for view in earlier if asks(view, ours)), None)


def asks(view: RunView, wanted: Mapping[str, Any]) -> bool:
    """Return whether a run asked exactly these questions."""
    try:
        return asked(view) == wanted
    except StoreError:
        return False


def change(run: RunView, previous: RunView, profile: str) -> Change:
    """Compare two runs under one profile; they must have asked the same questions with the same gold
    answers."""
    if profile not in (previous.summary.get("profiles") or {}):
        return Change(previous.run, obstacle=f"it has no scores under the profile '{profile}'")
    ours, theirs = asked(run), asked(previous)
    if ours != theirs:
        shared = sum(theirs.get(question) == gold for question, gold in ours.items())
        return Change(
            previous.run,
            obstacle=f"it asked other questions ({shared} the same; {len(ours)} here, {len(theirs)} there)",
        )
    now, then = run.figures(profile), previous.figures(profile)
    new, old = (figures.get("overall") or {} for figures in (now, then))
    # another classifier can change hallucination without any change in the answers
    judged_alike = now.get("classifier_key") == then.get("classifier_key")
    return Change(
        previous.run,
        difference(new.get("correctness"), old.get("correctness")),
        difference(new.get("hallucination"), old.get("hallucination")) if judged_alike else None,
    )


def asked(run: RunView) -> dict[str, Any]:
    """Return what two runs must share to be compared: each question's text, category and gold answers, by
    id."""
    return {
        str(view["question"]["id"]): [view["question"].get(key) for key in KEYS] for view in run.questions()
    }


def difference(new: float | None, old: float | None) -> float | None:
    """Return `new - old`, `None` if either is missing."""
    return None if new is None or old is None else new - old
