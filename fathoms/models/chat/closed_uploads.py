"""Registry of files uploaded to vendors, so that each is uploaded once and then referred to by its id."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import lru_cache

from fathoms.types import Attachment

_NEARLY_OVER = 600.0  # a file that expires in less than this many seconds is uploaded again


@dataclass(frozen=True)
class Held:
    """An uploaded file: its id or address for requests, and its expiry time (seconds since 1970)."""

    reference: str
    expires: float


_held: dict[tuple[str, ...], Held] = {}
"""The files that this process has uploaded, by account and sha256."""


async def uploaded(
    account: tuple[str, ...], file: Attachment, upload: Callable[[Attachment], Awaitable[Held]]
) -> Held:
    """Return the uploaded file, uploading it if necessary. Concurrent questions wait for a single upload."""
    place = (*account, file.sha256)
    async with _locks(asyncio.get_running_loop())[place]:
        held = _held.get(place)
        if held is None or held.expires < time.time() + _NEARLY_OVER:
            held = _held[place] = await upload(file)
        return held


def forget(account: tuple[str, ...], file: Attachment, held: Held) -> None:
    """Forget a file that the vendor no longer has, unless it was uploaded again in the meantime."""
    place = (*account, file.sha256)
    if _held.get(place) == held:
        del _held[place]


@lru_cache(maxsize=8)
def _locks(loop: asyncio.AbstractEventLoop) -> defaultdict[tuple[str, ...], asyncio.Lock]:
    """Return the locks of an event loop, one per file."""
    return defaultdict(asyncio.Lock)
