"""The verdicts behind a judged metric, each beside the retrieved sentence that is most like its claim."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from fathoms.models.sentences import sentences
from fathoms.report.html.texts import brief
from fathoms.runs.views import MetricScore, ShownHit

MOST = 40
"""The most verdicts of one answer that the page shows."""
LONGEST = 300
"""The most characters of a claim or of a passage that are shown."""
_WORD = re.compile(r"\w+")


def verdict_rows(score: MetricScore, hits: Sequence[ShownHit]) -> Iterator[dict[str, Any]]:
    """Yield the claims of a metric with their labels, and the sentence of the retrieved texts that shares the
    largest part of each claim's words, with the rank of its text. `why` says why a claim has no verdict.

    The sentence helps a reader to check the verdict. It is not what the judge named: a judge sees the whole
    context and says only whether it supports the claim.
    """
    listed = score.why.get("verdicts")
    if not isinstance(listed, list):
        return
    split = [(hit.rank, sentence, _words(sentence)) for hit in hits for sentence in sentences(hit.text)]
    for row in listed[:MOST]:
        claim = str(row.get("claim", "")) if isinstance(row, dict) else ""
        words = _words(claim)
        best = max(split, key=lambda one: len(words & one[2]), default=None)
        near = best if best and words & best[2] else None
        yield {
            "claim": brief(claim, LONGEST),
            "label": brief(str(row.get("label")), 40) if isinstance(row, dict) else "",
            "p": row.get("p") if isinstance(row, dict) else None,
            "why": brief(str(row["why"]), LONGEST) if isinstance(row, dict) and row.get("why") else None,
            "rank": near and near[0],
            "passage": near and brief(near[1], LONGEST),
        }


def _words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(_WORD.findall(text.lower()))
