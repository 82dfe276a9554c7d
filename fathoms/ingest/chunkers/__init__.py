"""Chunkers, which split documents into chunks for retrieval; there is one module per method."""
