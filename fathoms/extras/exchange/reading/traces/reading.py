"""Reads a file of traces, finds its questions, and converts them to the records of a run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from fathoms.errors import DataError, amount
from fathoms.extras.exchange.reading.contexts import contexts_of
from fathoms.extras.exchange.reading.foreign import (
    ForeignRow,
    Options,
    found_hits,
    imported,
    usable,
    value_at,
)
from fathoms.extras.exchange.reading.hits import hits_of
from fathoms.extras.exchange.reading.traces import langfuse, langsmith, otlp, phoenix
from fathoms.extras.exchange.reading.traces.redacting import redacted
from fathoms.extras.exchange.reading.traces.sampling import NO_ROUTE, Selection, selected, since_of
from fathoms.extras.exchange.reading.traces.span import LONGEST_NAME, Seen
from fathoms.extras.exchange.reading.traces.turns import Turn, turns_of
from fathoms.importers.imported import Imported
from fathoms.importers.rows import Row
from fathoms.pipeline.external.answer import Parts
from fathoms.safety.inputs import LARGEST_IMPORT, each_line, parse_json, read_text
from fathoms.types import HISTORY, Round, Scalar

LONGEST_HISTORY = 20_000
"""How many characters of the conversation before a question are stored at most, from its end."""
EVERYTHING = Selection()
_NO_TEXTS = (
    "no question with an answer in this trace: were the texts recorded"
    " (OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT)?"
)


def read_chosen(
    path: Path,
    since: str | None,
    by: str | None,
    sample: int | None,
    seed: int,
    dedupe: float | None,
    redact: tuple[str, ...],
    options: Options | None = None,
) -> Imported:
    """Read the traces that options of `fathoms import otel` choose, as seen from now; raises UsageError for a
    time that is none."""
    start = None if since is None else since_of(since, datetime.now(UTC).timestamp())
    return read_traces(path, options or Options(), Selection(start, by, dedupe, sample, seed, redact))


def read_traces(path: Path, options: Options, how: Selection = EVERYTHING) -> Imported:
    """Read the traces of a file in the format of OTLP (JSON), Langfuse, LangSmith or Phoenix. Each selected
    turn of a trace becomes a question with its answer.

    What cannot be used is named in a warning with its place, and counted. Raises DataError if the file is
    none of these, or holds no question with an answer.
    """
    values, what = _values(path)
    complaints: list[str] = []
    spans: dict[tuple[str, str], Seen] = {}
    twice = 0
    for one in values:
        if isinstance(one, DataError):
            complaints.append(str(one))
            continue
        number, value = one
        for found in _spans(number, value):
            if isinstance(found, DataError):
                complaints.append(f"{Row(number, what=what).place(path)}: left out: {found}")
            elif (found.trace, found.id) in spans:
                twice += 1
            else:
                spans[found.trace, found.id] = redacted(found, how.redact)
    turns, without = turns_of(spans.values())
    complaints += [f"{Row(one.number, what=what).place(path)}: left out: {_NO_TEXTS}" for one in without]
    if not turns:
        raise DataError("\n".join([f"{path}: holds no question with an answer", *complaints[:10]]))
    chosen = selected(turns, how)
    names = _names(list(chosen.turns))
    read = partial(_row, what=what, options=options)
    rows, more = usable([(turn.top.number, (name, turn)) for name, turn in names.items()], read, path, what)
    if twice:
        complaints.append(f"{path}: {amount(twice, 'repeated span')}: the first of each id counts")
    models = {row.row.parts.model for row in rows}
    model = next(iter(models)) if len(models) == 1 else None
    left_out = [*complaints, *more]
    result = imported(
        path, rows, [*left_out, *(f"{path}: {one}" for one in chosen.said)], options, model=model
    )
    return replace(result, left_out=len(left_out) - bool(twice), population=chosen.population)


def _values(path: Path) -> tuple[Iterable[tuple[int, Any] | DataError], str]:
    """Return the values of the file by number, with an error in the place of each line that is not JSON, and
    what the numbers count: lines, or values of a file that is one JSON value."""
    if path.suffix.lower() not in (".jsonl", ".ndjson"):
        try:
            whole = parse_json(read_text(path, LARGEST_IMPORT), str(path), nan_as_null=True)
        except DataError:
            if not _is_lines(path):
                raise
        else:
            inner = value_at(whole, "data")  # of an answer of an API
            values = inner if isinstance(inner, list) else whole
            return enumerate(values if isinstance(values, list) else [values], start=1), "value"
    return each_line(path, nan_as_null=True), "line"


def _is_lines(path: Path) -> bool:
    """Whether the first line of a file is a JSON value of its own."""
    first = next((line for line in read_text(path, LARGEST_IMPORT).split("\n") if line.strip()), "")
    try:
        parse_json(first, str(path), nan_as_null=True)
    except DataError:
        return False
    return True


def _spans(number: int, value: Any) -> Iterator[Seen | DataError]:
    """Yield the spans of a value, and an error in the place of each that cannot be read."""
    try:
        if otlp.is_otlp(value):
            yield from otlp.spans_in(number, value)
        elif phoenix.is_phoenix(value):
            yield phoenix.span_in(number, value)
        elif langsmith.is_langsmith(value):
            yield langsmith.span_in(number, value)
        elif langfuse.is_langfuse(value):
            yield from langfuse.spans_in(number, value)
        elif isinstance(value, list):
            for one in value:
                yield from _spans(number, one)
        else:
            yield DataError("neither spans of OTLP (resourceSpans) nor of Langfuse, LangSmith or Phoenix")
    except DataError as error:
        yield error


def _names(turns: list[Turn]) -> dict[str, Turn]:
    """Name each turn by its trace, and further ones of a trace `TRACE-2` and so on, or by the next number if
    another trace has that name."""
    taken = {turn.top.trace for turn in turns}
    numbers: defaultdict[str, Iterator[int]] = defaultdict(lambda: count(2))
    found: dict[str, Turn] = {}
    for turn in turns:
        name = turn.top.trace
        if name in found:
            short = name[: LONGEST_NAME - 12]
            name = next(free for number in numbers[name] if (free := f"{short}-{number}") not in taken)
            taken.add(name)
        found[name] = turn
    return found


def _row(number: int, named: tuple[str, Turn], *, what: str, options: Options) -> ForeignRow:
    """Convert a turn; raises DataError or ValidationError."""
    name, turn = named
    failed = turn.top.answer is None
    row = Row(
        number,
        id=name,
        question=turn.question,
        what=what,
        answer=turn.top.answer,
        error=(turn.top.error or "no answer") if failed else None,
        parts=Parts.model_validate(dict(turn.answering.facts)),
        hits=found_hits(contexts_of(turn.documents, options.first_page)),
        rounds=_rounds(turn, options.first_page),
        tools=turn.tools,
        latency=turn.seconds,
        released={key: score for one in (turn.top, *turn.parts) for key, score in one.scores.items()},
    )
    return ForeignRow(row, category=turn.route or NO_ROUTE, metadata=dict(_metadata(turn)))


def _rounds(turn: Turn, first_page: int) -> Callable[[str], tuple[Round, ...]]:
    """Return the function that makes the rounds of a row from its searches, if there are several."""
    searches = turn.searches if len(turn.searches) > 1 else []
    found = [(one.question or "", contexts_of(one.documents, first_page)) for one in searches]
    return lambda name: tuple(
        Round(query=query, hits=hits_of(contexts, f"{name}:{at}") or ())
        for at, (query, contexts) in enumerate(found, start=1)
    )


def _metadata(turn: Turn) -> Iterator[tuple[str, Scalar]]:
    """Yield the metadata about the conversation of a question: its id, the number of the turn, and the
    messages before."""
    if turn.conversation:
        yield "conversation", turn.conversation
    if turn.conversation or turn.history:
        yield "turn", turn.number
    if turn.occurrences > 1:
        yield "asked_times", turn.occurrences
    if turn.history:
        earlier = "\n".join(f"{one.role}: {one.text}" for one in turn.history)
        yield HISTORY, earlier if len(earlier) <= LONGEST_HISTORY else f"…{earlier[-LONGEST_HISTORY:]}"
