"""What retrievers noted of their search in the manifest of a run, in sentences for readers of its figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fathoms.retrieve.approximation import sentence


def noted(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each note, so that nobody takes the retrieval for what it is not: that gold was
    removed from the hits on purpose, and what an approximate search misses."""
    if degraded := manifest.get("degraded"):
        yield (
            f"gold was removed from the hits: the recall of gold pages over the {degraded['questions']}"
            f" questions of the data set is {degraded['reached']:.3f}, and {degraded['before']:.3f} without"
            " that"
        )
    if approximation := manifest.get("approximation"):
        yield sentence(approximation)
