"""`--verbose`: what happens, on stderr, a line an event; the same that `--log-file` keeps as JSON."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from fathoms.cli.harmless import harmless
from fathoms.safety.masking import known_mask


class PlainLines(logging.Formatter):
    """A record as `12:03:01 question-answered run=... question=...`, on one line, without known secrets."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        facts = dict(getattr(record, "facts", {"event": record.getMessage()}))
        event = facts.pop("event")
        known = (f"{key}={value}" for key, value in facts.items() if value is not None)
        time = datetime.fromtimestamp(record.created).strftime("%H:%M:%S")
        line = " ".join(f"{time} {event} {' '.join(known)}".split())
        return harmless(known_mask().text(line))


@contextmanager
def told() -> Iterator[None]:
    """Events of the block go to stderr."""
    from fathoms.runs.events import heard

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(PlainLines())
    with heard(handler):
        yield
