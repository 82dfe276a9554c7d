"""Escaping of control characters in untrusted text (replies, documents, file names) before it is printed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment


def harmless(text: str) -> str:
    """Return `text` with control characters written out, such as `\\x1b` for ESC. Line breaks are kept."""
    if all(line.isprintable() for line in text.split("\n")):
        return text
    from fathoms.report.text import visible  # imports Rich, which takes time

    return visible(text)


def harmless_console(**options: Any) -> Console:
    """Make a Rich console that escapes control characters in texts; `options` are those of `Console`."""
    from rich.console import Console
    from rich.segment import Segment

    class HarmlessConsole(Console):
        """Escapes the control characters that tables and panels of Rich let through."""

        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            """Render to segments, with control characters in text segments escaped."""
            for segment in super().render(renderable, options):
                text = segment.text if segment.control else harmless(segment.text)
                yield segment if text is segment.text else Segment(text, segment.style, segment.control)

    return HarmlessConsole(**options)
