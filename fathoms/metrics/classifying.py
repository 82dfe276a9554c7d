"""Classification of many answers by the weights of `Linear`, shared by the cores of the machine.

A child process runs `serve`: it gets lists of texts, and answers with the label, the premise and the reason
of each.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from fathoms.metrics.linear_weights import classify, read_weights
from fathoms.safety.child_main import ThisProcess
from fathoms.safety.children import Child, ChildEndedError
from fathoms.types import Verdict

WORTH = 10_000
"""With fewer answers, starting another process takes longer than it saves."""
_MOST = 8


def classify_together(path: Path, sha256: str, texts: Sequence[str], worth: int = WORTH) -> list[Verdict]:
    """Return one verdict per text by the weights in a file, made by as many processes as there are cores,
    each with `worth` texts or more. Raises DataError if the file does not have this hash."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    shares = min(cores, _MOST, max(1, len(texts) // worth))
    size = max(1, -(-len(texts) // shares))
    parts = [texts[start : start + size] for start in range(size, len(texts), size)]
    weights = read_weights(path, sha256)
    children = [(Child(__name__, stderr="discard"), part) for part in parts]
    try:
        for child, part in children:
            child.send([str(path), sha256, part])
        found = classify(weights, texts[:size])
        for child, part in children:
            try:
                answer = child.receive()[0]
            except ChildEndedError:
                found += classify(weights, part)
                continue
            found += [
                Verdict(claim=text, premise=premise, label=label, why=why)
                for text, (label, premise, why) in zip(part, answer, strict=True)
            ]
        return found
    finally:
        for child, _ in children:
            child.end()


def serve(process: ThisProcess) -> None:
    """Classify each list of texts that the parent sends."""
    for path, sha256, texts in process.requests():
        verdicts = classify(read_weights(Path(path), sha256), texts)
        process.answer([(one.label, one.premise, one.why) for one in verdicts])
