"""Opening a file in the user's browser."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from fathoms.cli import console


def show_in_browser(path: Path) -> None:
    """Open a file in the browser. Without a display, in CI, or if no browser starts, print a note instead."""
    import webbrowser

    has_display = sys.platform in ("darwin", "win32", "cygwin") or any(
        os.environ.get(name)
        for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")  # set by X11 and Wayland
    )
    if os.environ.get("CI") or not has_display or not webbrowser.open(path.absolute().as_uri()):
        console.note(f"no browser here: open {path} in one")
