"""Texts of models, documents and file names, printed without the characters that steer terminals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment


def harmless(text: str) -> str:
    """`text` with the characters that steer terminals spelled out, such as `\\x1b` for ESC."""
    if all(line.isprintable() for line in text.split("\n")):
        return text
    from fathoms.report.text import visible  # imports Rich, which takes time

    return visible(text)


def harmless_console(**options: Any) -> Console:
    """A console of Rich that prints no control character but its own; `options` are those of Rich's."""
    from rich.console import Console
    from rich.segment import Segment

    class HarmlessConsole(Console):
        """Spells out what tables and panels let through of a text."""

        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            """The segments, those of text without control characters."""
            for segment in super().render(renderable, options):
                text = segment.text if segment.control else harmless(segment.text)
                yield segment if text is segment.text else Segment(text, segment.style, segment.control)

    return HarmlessConsole(**options)
