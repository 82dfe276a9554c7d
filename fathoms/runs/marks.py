"""The keys of the metadata by which reports find the questions that they compare: variants of others
(`corpora.variants`), and those that are marked as clear or ambiguous."""

from __future__ import annotations

KIND, OF = "variant", "variant_of"
MARK, AMBIGUOUS, CLEAR = "ambiguity", "ambiguous", "clear"
"""The key of the metadata that marks a question, and its two values."""
MARKS = frozenset({OF, MARK})
"""The keys of which a question that is compared has one."""
