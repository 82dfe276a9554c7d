"""Embedding models, the cross-encoder reranker, and the worker process that local embedding models run in."""
