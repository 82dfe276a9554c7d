"""Logic with three values: true, false, and `None` for what was not judged (Kleene's strong logic).

What follows from the verdicts that are there is true or false, whatever the missing ones would say: a claim
that one passage entails is supported although another passage has no verdict.
"""

from __future__ import annotations

from collections.abc import Iterable

Truth = bool | None


def any_true(values: Iterable[Truth]) -> Truth:
    """Return whether any value is true; `None` if none is and some are unknown. Of no values, none is."""
    unknown = False
    for value in values:
        if value:
            return True
        unknown = unknown or value is None
    return None if unknown else False


def negated(value: Truth) -> Truth:
    """Return the opposite; of what is unknown, it is unknown too."""
    return None if value is None else not value


def all_true(*values: Truth) -> Truth:
    """Return whether all values are true; `None` if none is false and some are unknown."""
    unknown = False
    for value in values:
        if value is None:
            unknown = True
        elif not value:
            return False
    return None if unknown else True
