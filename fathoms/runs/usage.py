"""Token and cost totals over replies and records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fathoms.types import Call, Purpose, Record, Reply, Usage, Verdict
from fathoms.types.run.manifest import Manifest
from fathoms.types.run.summary import Summary


def billed(record: Record) -> list[Reply | Call]:
    """The replies of a record that were really requested, leaving out cached and failed ones. For a failed
    question these are the replies that came before the failure."""
    return [reply for _, reply in _billed(record)]


def replies_of(record: Record) -> list[tuple[Purpose, Reply | Call]]:
    """All replies of a record but failed ones, and what each was for; those of a failed question are the ones
    that came before the failure."""
    parts = record.prompt.parts if record.prompt else ()
    # what a document said by itself is among the calls
    of_files = [part.reply for part in parts if part.document is None]
    replies = [record.answer] if record.answer else of_files
    answers: list[tuple[Purpose, Reply | Call]] = [("answer", reply) for reply in replies]
    calls: list[tuple[Purpose, Reply | Call]] = [
        (call.purpose, call) for call in record.calls if not call.error
    ]
    return [*answers, *calls]


def _billed(record: Record) -> list[tuple[Purpose, Reply | Call]]:
    """The replies of a record that were really requested, and what each was for."""
    return [(purpose, reply) for purpose, reply in replies_of(record) if not reply.cached]


class Sums:
    """Adds up the tokens and the cost of records one by one, without keeping the records."""

    def __init__(self) -> None:
        self._rows: dict[Purpose, list[_Row]] = {}

    def add(self, record: Record) -> None:
        """Add all replies of a record that were really requested."""
        for purpose, reply in _billed(record):
            row = (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.cost)
            self._rows.setdefault(purpose, []).append(row)

    def state(self) -> dict[Purpose, list[_Row]]:
        """Return everything that was added, for `extend`."""
        return self._rows

    def extend(self, state: Mapping[Purpose, Iterable[Sequence[Any]]]) -> None:
        """Add what another process has added up."""
        for purpose, rows in state.items():
            self._rows.setdefault(purpose, []).extend((row[0], row[1], row[2]) for row in rows)

    def totals(self, verdicts: Iterable[Verdict] = ()) -> dict[str, Any]:
        """Total tokens and US dollars, as `sums` returns them."""
        rows = dict(self._rows)
        found: dict[str, Any] = _totals([row for several in rows.values() for row in several])
        judged: list[_Row] = [
            (usage.prompt_tokens, usage.completion_tokens, verdict.cost)
            for verdict in verdicts
            if (usage := verdict.usage) is not None
        ]
        if judged:
            rows["judge"] = judged
        if rows.keys() - {"answer"}:
            found["usage_by_purpose"] = {
                purpose: {"calls": len(several), **_totals(several)} for purpose, several in rows.items()
            }
        return found


def sums(records: Iterable[Record], verdicts: Iterable[Verdict] = ()) -> dict[str, Any]:
    """Total tokens and US dollars of all replies that were really requested; `None` where any part is
    unknown. Where models were called for more than answers, `usage_by_purpose` holds the same totals and the
    number of replies (`calls`) by purpose. What `verdicts` took is listed there alone, because it is no cost
    of the pipeline."""
    found = Sums()
    for record in records:
        found.add(record)
    return found.totals(verdicts)


_Row = tuple[int | None, int | None, float | None]
"""Prompt tokens, completion tokens and cost of a reply."""


def _totals(rows: list[_Row]) -> dict[str, float | None]:
    """Add up the tokens and costs of replies, as `total` does."""
    prompts, completions, costs = zip(*rows, strict=True) if rows else ((), (), ())
    return {
        "prompt_tokens": total(prompts),
        "completion_tokens": total(completions),
        "cost": total(costs),
    }


def besides_answers(manifest: Manifest, summary: Summary | None = None) -> float | None:
    """What a run took besides its answers, in US dollars: embedding by servers, and judging. `None` where a
    part is unknown; a judge that is no language model costs nothing."""
    costs = [took.cost for took in manifest.ingest.times.values() if took.calls]
    judging = summary.judging if summary else None
    if judging and (judging.total_cost is not None or "llm" in (judging.judge or "").split()):
        costs.append(judging.total_cost)
    return total(costs)


def total(values: Iterable[float | None]) -> float | None:
    """The sum; `None` where any value is unknown, and 0 for no values."""
    values = list(values)
    return None if None in values else sum(value for value in values if value is not None)


def summed(usages: Iterable[Usage]) -> Usage:
    """Add up the tokens of several replies; `None` where any is unknown."""
    found = list(usages)
    return Usage.model_validate(
        {name: total([getattr(usage, name) for usage in found]) for name in Usage.model_fields}
    )


def tokens_of(usage: Usage) -> int | None:
    """Prompt and completion tokens together; `None` where either is unknown."""
    if usage.prompt_tokens is None or usage.completion_tokens is None:
        return None
    return usage.prompt_tokens + usage.completion_tokens
