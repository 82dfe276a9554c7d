"""How well the ranked hits of a question cover its gold documents, pages, boxes and chunks.

`gold.py` says what the gold of a question is, `coverage.py` what a hit covers, and `ranking.py` makes ranked
items of hits. `metrics.py` has the metrics; `levels.py` makes the rankings that they need, `trec.py` measures
them by ir-measures, and `batch.py` does so for many records at once.
"""
