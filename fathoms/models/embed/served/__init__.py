"""Embedders of page pictures that ask a server: one module for each API, on a common base."""
