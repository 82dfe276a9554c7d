"""Metrics on the claims of an answer and of the gold answer, each compared with sources by a judge.

The families of metrics (RAGChecker, MM-RAGChecker, ...) have a file each. What they share: `texts.py` has the
claims of a record, `premises.py` what claims are compared with, `matrix.py` the verdicts of claims against
premises, `truth.py` the logic of verdicts where some are missing, `shares.py` the values with their
bounds, and `claim_metric.py` the base class.
"""
