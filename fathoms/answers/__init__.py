"""What an answer says: one reading of it, for every metric and classifier."""

from __future__ import annotations

from fathoms.answers.reading import SETTABLE, Part, PartKind, Reading, read

__all__ = ["SETTABLE", "Part", "PartKind", "Reading", "read"]
