"""Sentences for readers of figures on how the run searched: what retrievers state of it in the manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fathoms.text.amounts import percent
from fathoms.types.run.manifest import Approximation, ChunkApproximation, Distractors, Manifest


def search_notes(manifest: Manifest) -> Iterator[str]:
    """Yield a sentence for each note, so that nobody takes the retrieval for what it is not: that gold was
    removed from the hits on purpose or set among distractors, and what an approximate search misses."""
    if degraded := manifest.degraded:
        yield (
            f"gold was removed from the hits: the recall of gold pages over the {degraded.questions}"
            f" questions of the data set is {degraded.reached:.3f}, and {degraded.before:.3f} without"
            " that"
        )
    if manifest.distractors:
        yield _of_distractors(manifest.distractors)
    if injected := manifest.injected:
        yield (
            f"an instruction was planted in every context ({injected.position} among the hits), which asks"
            f" for the word '{injected.answer}'"
        )
    if manifest.data.parser and manifest.config.get("judge") and not manifest.imported:
        yield (
            f"the documents were read by {manifest.data.parser} for metrics that need their text; what"
            " the pipeline reads of them is not known"
        )
    yield from approximations(manifest)


def approximations(manifest: Manifest) -> Iterator[str]:
    """Yield a sentence for each approximate search that a manifest states."""
    if (pages := manifest.approximation) is not None:
        yield _of_approximation(pages, "page images", "pages")
    if (chunks := manifest.chunk_approximation) is not None:
        yield _of_approximation(chunks, "vectors of chunks", "chunks")


def _of_distractors(note: Distractors) -> str:
    """Say what contexts a run with distractors was given."""
    if note.mode == "gold-only":
        return "contexts are the gold chunks alone: what the retriever finds was not used"
    alone = note.mode == "distractors-only"
    fewer, answering = note.fewer, note.answering
    parts = [
        f"{'no gold, and ' if alone else ''}{note.number} distractors a question, the most similar chunks"
        f" without gold by {note.by}",
        *([] if alone else [f"gold {note.position} (seed {note.seed})"]),
        *([f"{fewer} of {note.questions} questions have fewer"] if fewer else []),
        *([f"{answering} more chunks were left out because they hold the answer"] if answering else []),
    ]
    return f"contexts were made on purpose: {'; '.join(parts)}"


def _of_approximation(note: Approximation | ChunkApproximation, by: str, found: str) -> str:
    """Return what a retriever states of its approximation as a sentence."""
    options = ", ".join(f"{name} {_shown(value)}" for name, value in note.options.items())
    return (
        f"the search by {by} is approximate ({options}): of the {note.k} best {found} of"
        f" {note.questions} questions by exact search, it finds {percent(note.recall, 1)}"
        f" (recall@{note.k} {note.recall:.3f})"
    )


def _shown(value: Any) -> str:
    """Return the value of an option in words."""
    if isinstance(value, Mapping):
        return " ".join(str(part) for part in value.values())
    return f"{value:g}" if isinstance(value, float) else str(value)
