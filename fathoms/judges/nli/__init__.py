"""Classifiers that say whether a premise supports a claim: cross-encoders, and fact checkers by name.

`judge.py` has the judge, and `cross_encoder.py` the models with labels. `checkers.py` lists the fact checkers
that are known by name; each kind has a file with what it reads and how it decides, on the interface of
`fact_checker.py`. `parts.py` splits premises that are longer than what a checker was trained on.
"""

from fathoms.judges.nli.judge import NLIJudge

__all__ = ["NLIJudge"]
