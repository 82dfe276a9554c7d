"""`--verbose`: what happens, on stderr, a line an event; the same that `--log-file` keeps as JSON."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from fathoms.cli import console
from fathoms.masking import Mask


class PlainLines(logging.Formatter):
    """A record as `12:03:01 question-answered run=... question=...`, on one line, without the secrets of the
    environment."""

    def __init__(self, mask: Mask) -> None:
        super().__init__()
        self._mask = mask

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        facts = dict(getattr(record, "facts", {"event": record.getMessage()}))
        event = facts.pop("event")
        known = (f"{key}={value}" for key, value in facts.items() if value is not None)
        time = datetime.fromtimestamp(record.created).strftime("%H:%M:%S")
        return console.harmless(self._mask.text(" ".join(f"{time} {event} {' '.join(known)}".split())))


@contextmanager
def told() -> Iterator[None]:
    """Events of the block go to stderr."""
    from fathoms.events import heard
    from fathoms.models.options import environment_secrets

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(PlainLines(Mask(environment_secrets())))
    with heard(handler):
        yield
