"""Token and cost totals over replies and records."""

from __future__ import annotations

from collections.abc import Iterable

from fathoms.types import Record, Reply, Usage


def billed(record: Record) -> list[Reply]:
    """The replies of a record that were really requested, leaving out cached ones. For a failed question
    these are the replies to the parts of its files that came before the failure."""
    parts = record.prompt.parts if record.prompt else ()
    replies = [record.answer] if record.answer else [part.reply for part in parts]
    return [reply for reply in replies if not reply.cached]


def sums(records: Iterable[Record]) -> dict[str, float | None]:
    """Total tokens and US dollars of all replies really requested; `None` where any part is unknown."""
    rows = [
        (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.cost)
        for record in records
        for reply in billed(record)
    ]
    prompts, completions, costs = zip(*rows, strict=True) if rows else ((), (), ())
    return {
        "prompt_tokens": total(prompts),
        "completion_tokens": total(completions),
        "cost": total(costs),
    }


def total(values: Iterable[float | None]) -> float | None:
    """The sum; `None` where any value is unknown, and 0 for no values."""
    values = list(values)
    return None if None in values else sum(value for value in values if value is not None)


def tokens_of(usage: Usage) -> int | None:
    """Prompt and completion tokens together; `None` where either is unknown."""
    if usage.prompt_tokens is None or usage.completion_tokens is None:
        return None
    return usage.prompt_tokens + usage.completion_tokens
