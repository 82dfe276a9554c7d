"""Serves a page on this machine until Ctrl-C."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from fathoms.cli import console
from fathoms.cli.browser import show_in_browser
from fathoms.errors import StoreError, UsageError

if TYPE_CHECKING:
    from fathoms.safety.local_server import LocalServer

Port = Annotated[
    int, typer.Option("--port", min=0, max=65535, help="The port of the page; 0 takes a free one.")
]
Browser = Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")]


def serve(
    make: Callable[[int], LocalServer],
    port: int,
    folder: Path | None,
    *,
    page: str = "",
    saved: str,
    browser: bool,
) -> None:
    """Serve what `make` makes for a port, until Ctrl-C or SIGTERM. `page` is the part of the address after
    the token.

    `folder` is where the file is put that leads the browser to the page; with `None` that is the folder of
    the system for temporary files. `saved` says what Ctrl-C ends, and what it keeps.
    """
    try:
        server = make(port)
    except OSError as error:
        raise UsageError(f"port {port} cannot be used: {error.strerror}: name another with --port") from None
    address = server.address + page
    with server, _leading_to(address, folder) as file:
        console.say(f"{address}\n{saved}")
        sys.stdout.flush()
        if browser:
            show_in_browser(file, address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            console.say("")


@contextmanager
def _leading_to(address: str, folder: Path | None) -> Iterator[Path]:
    """Make a file that leads to the page and that only its owner can read. The browser is given this file,
    because other users of the machine can see its arguments, which must not have the token."""
    try:
        temporary = TemporaryDirectory(dir=folder, prefix="fathoms-page-")
    except OSError as error:
        raise _unwritable(folder, error) from error
    with temporary as name:
        file = Path(name, "open.html")
        try:
            file.write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={address}">')
        except OSError as error:
            raise _unwritable(folder, error) from error
        yield file


def _unwritable(folder: Path | None, error: OSError) -> StoreError:
    return StoreError(
        f"no file can be written in {folder or 'the folder for temporary files'}: {error.strerror or error}"
    )
