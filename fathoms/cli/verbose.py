"""`--verbose`: print one line per event to stderr. `--log-file` writes the same events as JSON."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from fathoms.cli.harmless import harmless
from fathoms.safety.masking import known_mask


class PlainLines(logging.Formatter):
    """Formats a log record as `12:03:01 question-answered run=... question=...`, with secrets masked."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of one record, without a line break."""
        facts = dict(getattr(record, "facts", {"event": record.getMessage()}))
        event = facts.pop("event")
        known = (f"{key}={value}" for key, value in facts.items() if value is not None)
        time = datetime.fromtimestamp(record.created).strftime("%H:%M:%S")
        line = " ".join(f"{time} {event} {' '.join(known)}".split())
        return harmless(known_mask().text(line))


@contextmanager
def show_events() -> Iterator[None]:
    """Print the events of the block to stderr."""
    from fathoms.runs.events import heard

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(PlainLines())
    with heard(handler):
        yield
