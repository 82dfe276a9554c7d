"""What calls to a model took: tokens and dollars, summed over replies and records."""

from __future__ import annotations

from collections.abc import Iterable

from fathoms.types import Record, Reply, Usage


def billed(record: Record) -> list[Reply]:
    """The replies that a question was really asked for: none of an earlier run; of a question that failed,
    those to the parts of its files that came before."""
    parts = record.prompt.parts if record.prompt else ()
    replies = [record.answer] if record.answer else [part.reply for part in parts]
    return [reply for reply in replies if not reply.cached]


def sums(records: Iterable[Record]) -> dict[str, float | None]:
    """Tokens and dollars of all that was really asked, `None` where any of it is not known."""
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
    """The sum, not known where any part is not; of nothing, 0."""
    values = list(values)
    return None if None in values else sum(value for value in values if value is not None)


def tokens_of(usage: Usage) -> int | None:
    """Tokens of prompt and reply, `None` where either is not known."""
    if usage.prompt_tokens is None or usage.completion_tokens is None:
        return None
    return usage.prompt_tokens + usage.completion_tokens
