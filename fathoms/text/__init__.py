"""Folding, tracing and joining of text: what answers, documents and gold phrases have in common."""
