"""Warns of options that have got another name, once each."""

from __future__ import annotations

import warnings


class OldNameWarning(FutureWarning):
    """An option was given by a name that a later version will not read."""


_warned: set[str] = set()


def warn_of_old_name(old: str, successor: str) -> None:
    """Warn, once in this process, that something is deprecated, and name what replaces it."""
    if old in _warned:
        return
    _warned.add(old)
    warnings.warn(f"{old} is deprecated: use {successor} instead", OldNameWarning, stacklevel=3)
