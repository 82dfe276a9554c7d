"""What calls to models besides the answers took, such as descriptions of pages or grades of a reranker."""

from __future__ import annotations

from collections.abc import Iterator

from fathoms.report.stage_times import called_text
from fathoms.report.text import plain
from fathoms.runs.run import Run
from fathoms.text.amounts import dollars

APART = ("answer", "judge")
"""Purposes that have a place of their own: answers are what is left, and judging is no cost of a pipeline."""


def purpose_lines(run: Run) -> Iterator[str]:
    """Yield one line for each purpose: `of these, describe: 2 calls, 2,000 tokens in, 20 out, $0.42`."""
    for purpose, took in run.summary.usage_by_purpose.items():
        if purpose in APART:
            continue
        calls = "1 call" if took.calls == 1 else f"{took.calls:,} calls"
        counted = "tokens not known"
        if took.prompt_tokens is not None and took.completion_tokens is not None:
            counted = f"{took.prompt_tokens:,} tokens in, {took.completion_tokens:,} out"
        cost = "cost not known" if took.cost is None else dollars(took.cost)
        yield plain(f"of these, {purpose}: {calls}, {counted}, {cost}")


def embedding_lines(run: Run) -> Iterator[str]:
    """Yield one line for each stage in which a server embedded, whose cost is not in that of the questions:
    `besides, embed questions: 3 calls, 50 tokens, $0.05`."""
    for stage, took in run.manifest.ingest.times.items():
        if took.calls:
            yield plain(f"besides, {stage}: {called_text(took.calls, took.tokens, took.cost)}")
