"""Opening a file in the user's browser."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from fathoms.cli import console


def show_in_browser(path: Path, address: str | None = None) -> None:
    """Open a file in the browser. Without a display, in CI, or if no browser starts, print a note instead,
    with the `address` to which the file leads, if it does."""
    import webbrowser

    if os.environ.get("CI") or not _has_display() or not webbrowser.open(path.absolute().as_uri()):
        console.note(f"no browser was found: open {address or path} yourself")


def _has_display() -> bool:
    """Whether this machine has a display: always on macOS and Windows; X11 and Wayland set a variable."""
    if sys.platform in ("darwin", "win32", "cygwin"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
