"""Quotes that answers choose among candidates: which of them were right, and how good the answers are."""
