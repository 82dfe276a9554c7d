"""What an answer says: one reading of it, for every metric and classifier."""

from __future__ import annotations

from fathoms.answers.reading import Part, PartKind, Reading, read

__all__ = ["Part", "PartKind", "Reading", "read"]
