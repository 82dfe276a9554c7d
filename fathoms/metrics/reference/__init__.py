"""Metrics that compare the text of an answer with the reference answer of its question."""
