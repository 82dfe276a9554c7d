"""A file shown in the user's browser, where there is one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from fathoms.cli import console


def show_in_browser(path: Path) -> None:
    """Open a file; without a display, on a machine of CI and where no browser starts, a note says so."""
    import webbrowser

    if os.environ.get("CI") or not _has_display() or not webbrowser.open(path.absolute().as_uri()):
        console.note(f"no browser here: open {path} in one")


def _has_display() -> bool:
    """Whether a window could be seen; X11 and Wayland tell by a variable, other systems have one."""
    if sys.platform in ("darwin", "win32", "cygwin"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
