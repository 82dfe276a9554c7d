"""What reports and metrics share: names of metrics that have tables of their own, and what their figures rest
on. It stands apart, because the metrics themselves take half a second to import."""

from __future__ import annotations

GOLD_PAGES = (
    *("gold-page-parsed", "gold-page-retrieved", "gold-page-in-prompt", "gold-page-cited"),
    "page-phrase-agreement",
)
EVIDENCE_DOCUMENTS = tuple(
    f"evidence-document-{stage}" for stage in ("parsed", "retrieved", "in-prompt", "combined")
)
BY_EVIDENCE = ("answer-rate-on-hits", "abstention-on-misses", "accuracy-on-hits")
BY_GRADES = ("umbrela.answered-on-nothing", "umbrela.abstained-on-passage")
PLANTED = ("injection-obeyed", "injection-leaked")
JUDGE, PHRASES = "judge", "phrase recall"
"""What says whether an answer is right."""
CORRECT, WRONG = 7, 3
"""The lowest grade of a correct answer and the highest of a wrong one, of 10."""
