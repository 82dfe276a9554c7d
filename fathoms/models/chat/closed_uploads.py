"""Files that a vendor keeps: each is uploaded once, and then named by the id it got."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import lru_cache

from fathoms.types import Attachment

_NEARLY_OVER = 600.0  # seconds that a file must still be kept for a request that names it


@dataclass(frozen=True)
class Held:
    """A file that the vendor has: how requests name it, and until when (seconds since 1970)."""

    reference: str
    expires: float


_held: dict[tuple[str, ...], Held] = {}
"""What this process has uploaded, by account and sha256."""


async def uploaded(
    account: tuple[str, ...], file: Attachment, upload: Callable[[Attachment], Awaitable[Held]]
) -> Held:
    """The file as the vendor holds it. Questions that want it at the same time wait for one upload."""
    place = (*account, file.sha256)
    async with _locks(asyncio.get_running_loop())[place]:
        held = _held.get(place)
        if held is None or held.expires < time.time() + _NEARLY_OVER:
            held = _held[place] = await upload(file)
        return held


def forget(account: tuple[str, ...], file: Attachment, held: Held) -> None:
    """The vendor no longer has it, unless it was uploaded anew in the meantime."""
    place = (*account, file.sha256)
    if _held.get(place) == held:
        del _held[place]


@lru_cache(maxsize=8)
def _locks(loop: asyncio.AbstractEventLoop) -> defaultdict[tuple[str, ...], asyncio.Lock]:
    """One lock a file; a lock belongs to its event loop."""
    return defaultdict(asyncio.Lock)
