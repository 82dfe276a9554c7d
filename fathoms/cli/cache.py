"""`fathoms cache`: show and shrink the cache; also opens the cache for the other commands."""

from __future__ import annotations

import logging
import re
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathoms.cli import console
from fathoms.cli.options import Json
from fathoms.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from fathoms.runs.cache import Cache

app = typer.Typer(
    help="Inspect and shrink the cache of parsed documents, embeddings and replies.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)B?", re.I)
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


_PRINTED = ("cache-damaged", "cache-full", "shared-cache", "cluster-machine")


class _Notices(logging.Handler):
    """Prints warnings of the cache and of a cluster: an entry was damaged, the disk is full, the shared cache
    fails, a machine cannot do the work."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print the message of one event, even with `--quiet`: a failing disk must not go unnoticed."""
        facts = getattr(record, "facts", {})
        if facts.get("event") in _PRINTED:
            console.complain(str(facts["message"]))


@contextmanager
def opened(*, no_cache: bool = False, refresh: bool = False, alone: bool = False) -> Iterator[Cache]:
    """Open the user's cache, or with `no_cache` a temporary one that is deleted at the end.

    With `alone`, the shared cache is not used. Warnings are printed (`printed_warnings`). Raises UsageError
    for `no_cache` with `refresh`.
    """
    from fathoms.runs.cache import Cache

    if no_cache and refresh:
        raise UsageError(
            "--no-cache stores nothing, and --refresh replaces what is stored: use only one of them"
        )
    with ExitStack() as stack:
        stack.enter_context(printed_warnings())
        folder = None
        if no_cache:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fathoms-")))
        yield stack.enter_context(closing(Cache(folder, refresh=refresh, alone=alone or no_cache)))


@contextmanager
def printed_warnings() -> Iterator[None]:
    """Print warnings of the cache and of a cluster during the block, once where blocks are nested."""
    from fathoms.runs.events import LOGGER

    if any(isinstance(one, _Notices) for one in LOGGER.handlers):
        yield
        return
    notices = _Notices(logging.WARNING)
    LOGGER.addHandler(notices)
    try:
        yield
    finally:
        LOGGER.removeHandler(notices)


@app.command("info")
def info(as_json: Json = False) -> int:
    """Show how much the cache holds, by kind of entry."""
    with opened() as cache:
        shares = cache.shares()
        address = cache.shared.address if cache.shared else None
        if as_json:
            kinds = [asdict(share) for share in shares]
            console.show_json({"folder": str(cache.folder), "kinds": kinds, "shared": address})
            return 0
        rows = [(share.kind, share.entries, _readable(share.size)) for share in shares]
        console.show_table(("kind", "entries", "size"), rows)
        console.say(f"{_readable(sum(share.size for share in shares))} in {cache.folder}")
        if address is not None:
            console.say(f"shared cache: {address} (what it holds is not counted)")
    return 0


@app.command("clear")
def clear() -> int:
    """Delete everything in the cache of this machine. Model weights, data sets and a shared cache stay."""
    with opened() as cache:
        console.say(f"{_readable(cache.prune(0))} freed")
    return 0


@app.command("prune")
def prune(
    max_size: Annotated[
        str,
        typer.Option("--max-size", help="The size to shrink to, such as 500MB or 2GB.", show_default=False),
    ],
) -> int:
    """Delete the least recently used entries until the cache is no larger than --max-size."""
    bound = _bytes(max_size)
    with opened() as cache:
        console.say(f"{_readable(cache.prune(bound))} freed")
    return 0


@app.command("push")
def push(
    address: Annotated[
        str | None,
        typer.Argument(
            help="The shared cache, such as s3://BUCKET/PREFIX. Default: $FATHOMS_SHARED_CACHE.",
            show_default=False,
        ),
    ] = None,
) -> int:
    """Store in a shared cache what this machine has made of documents.

    Copied are parsed documents, their chunks, the vectors of chunks and of page images, and these images.
    Later commands store what they make there by themselves.
    """
    from fathoms.ingest.workers.page_files import push_images
    from fathoms.models.caching import push_embedded
    from fathoms.runs.sharing import checked_address

    try:
        wanted = None if address is None else checked_address(address)
    except ValueError as error:
        raise UsageError(str(error)) from None
    with opened() as cache:
        cache.share(wanted)
        if cache.shared is None:
            raise UsageError("name a shared cache: fathoms cache push s3://BUCKET/PREFIX")
        pushed = cache.push() + push_embedded(cache) + push_images(cache.folder / "images", cache.shared)
        cache.shared.finish()
        stored = cache.shared.counts["stored"]
        console.say(f"{stored} of {pushed} values stored in {cache.shared.address}")
    return ExitCode.OK if stored == pushed else ExitCode.FAILED


def _bytes(text: str) -> int:
    """Parse a size such as `500MB` or `2GB` (powers of 1000) into bytes; raises UsageError."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"--max-size {text}: expected a size such as 500MB or 2GB")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def _readable(size: int) -> str:
    """Format a number of bytes as `12.3 MB`."""
    return f"{size / 1e6:.1f} MB"
