"""Events of a run, sent to a logger of the standard library's `logging` that anybody may listen to.

Each log record has an attribute `facts`, a flat mapping: `event`, the ids of the run and the question where
they apply, and the event's own values. Without a handler, events go nowhere.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from fathoms.types import Record

LOGGER = logging.getLogger("fathoms.run")
LOGGER.addHandler(logging.NullHandler())  # without it, warnings would be printed to stderr
_place: ContextVar[dict[str, Any]] = ContextVar("place", default={})  # noqa: B039 - never changed in place


@contextmanager
def within(**facts: Any) -> Iterator[None]:
    """Add these facts to every event of the block and of the tasks that it starts."""
    token = _place.set({**_place.get(), **facts})
    try:
        yield
    finally:
        _place.reset(token)


@contextmanager
def heard(handler: logging.Handler) -> Iterator[None]:
    """Send the events of the block to a handler too."""
    logger = logging.getLogger("fathoms")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


def happened(event: str, *, level: int = logging.INFO, **facts: Any) -> None:
    """Log an event of a run, with its facts as a flat mapping."""
    known = {"event": event, **_place.get(), **facts}
    LOGGER.log(level, event, extra={"facts": known}, stacklevel=2)


def tell(run: str, record: Record) -> None:
    """Log that a question of a run has an answer, was only searched for, or has failed, after this is written
    to the journal."""
    answer, error = record.answer, record.error
    if not LOGGER.isEnabledFor(logging.INFO if error is None else logging.ERROR):
        return
    facts: dict[str, Any] = {
        "run": run,
        "question": record.question.id,
        "category": record.question.category,
        "repeat": record.repeat,
        "attempts": record.attempts,
        "seconds": round(record.timings.get("retrieve" if record.only_searched else "generate", 0.0), 3),
    }
    if answer is not None:
        facts |= answer.usage.model_dump(include={"prompt_tokens", "completion_tokens"})
        happened("question-answered", **facts, cost=answer.cost, cached=answer.cached)
    if record.only_searched:
        happened("question-searched", **facts)
    if error is not None:
        happened("question-failed", level=logging.ERROR, **facts, kind=error.kind, error=error.message)
