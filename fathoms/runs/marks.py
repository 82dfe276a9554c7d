"""The keys of the metadata by which reports find the questions that they compare: variants of others
(`corpora.variants`), those that are marked as clear or ambiguous, and those that a filter drops."""

from __future__ import annotations

KIND, OF = "variant", "variant_of"
MARK, AMBIGUOUS, CLEAR = "ambiguity", "ambiguous", "clear"
"""The key of the metadata that marks a question, and its two values."""
DROPPED = "dropped"
"""The key with the reason for which a filter drops a question; `dropped_detail` is what the filter saw."""
MARKS = frozenset({OF, MARK, DROPPED})
"""The keys of which a question that is compared has one."""
