"""What retrievers noted of their search in the manifest of a run, in sentences for readers of its figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fathoms.retrieve.approximation import sentence


def noted(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each note, so that nobody takes the retrieval for what it is not: that gold was
    removed from the hits on purpose or set among distractors, and what an approximate search misses."""
    if degraded := manifest.get("degraded"):
        yield (
            f"gold was removed from the hits: the recall of gold pages over the {degraded['questions']}"
            f" questions of the data set is {degraded['reached']:.3f}, and {degraded['before']:.3f} without"
            " that"
        )
    if distractors := manifest.get("distractors"):
        yield _of_distractors(distractors)
    if injected := manifest.get("injected"):
        yield (
            f"an instruction was planted in every context ({injected['position']} among the hits), which asks"
            f" for the word '{injected['answer']}'"
        )
    yield from map(sentence, approximations(manifest))


def approximations(told: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return what a manifest, or the report of an ingestion, says of approximate searches."""
    return [told[name] for name in ("approximation", "chunk_approximation") if told.get(name)]


def _of_distractors(noted: Mapping[str, Any]) -> str:
    """Say what contexts a run with distractors was given."""
    if noted["mode"] == "gold-only":
        return "contexts are the gold chunks alone: what the retriever finds was not used"
    alone = noted["mode"] == "distractors-only"
    fewer, answering = noted["fewer"], noted["answering"]
    parts = [
        f"{'no gold, and ' if alone else ''}{noted['number']} distractors a question, the most similar chunks"
        f" without gold by {noted['by']}",
        *([] if alone else [f"gold {noted['position']} (seed {noted['seed']})"]),
        *([f"{fewer} of {noted['questions']} questions have fewer"] if fewer else []),
        *([f"{answering} more chunks were left out because they hold the answer"] if answering else []),
    ]
    return f"contexts were made on purpose: {'; '.join(parts)}"
