"""What the answer of a record says, for the metrics that compare it or have it judged."""

from __future__ import annotations

from collections.abc import Collection

from fathoms.answers import SETTABLE, Reading, read
from fathoms.types import Record


def reading_of(record: Record, keep: Collection[str] = ()) -> Reading:
    """Read the answer of a record; a missing one is empty. The kinds of parts that `keep` or the record names
    stay in it. Where the question says `reading: raw`, only reasoning is left out."""
    kinds = SETTABLE if record.question.reading == "raw" else record.keep.union(keep)
    last = _last[0] if _last else None
    if last is None or last[0] is not record or last[1] != kinds:
        text = record.answer.text if record.answer else ""
        last = record, kinds, read(text, record.hits, kinds)
        _last[:] = [last]
    return last[2]


_last: list[tuple[Record, Collection[str], Reading]] = []
"""The record that was read last, because all metrics of an answer read it."""


def blanked(reading: Reading) -> str:
    """Return a raw answer with spaces in place of its reasoning, envelope and furniture.

    Every place in it is that in the raw answer, so that sentences and citations, which stay, are found in
    both.
    """
    pieces, done = [], 0
    for part in reading.parts:
        if part.kind != "citation" and part.end > done:
            start = max(done, part.start)
            pieces += [reading.raw[done:start], " " * (part.end - start)]
            done = part.end
    return "".join([*pieces, reading.raw[done:]])


def judged_text(record: Record) -> str:
    """Return what an answer says as a judge reads it: with its citations and its mark-up."""
    return blanked(reading_of(record)).strip()
