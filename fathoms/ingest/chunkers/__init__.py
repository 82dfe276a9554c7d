"""Chunkers: one file per way to split a document into pieces for retrieval."""
