"""A console of Rich that prints no control character but its own."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from fathoms.cli.console import harmless


class HarmlessConsole(Console):
    """Texts come from models, documents and file names: whatever a table or a panel lets through of them is
    spelled out here, once more."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments, those of text without control characters."""
        for segment in super().render(renderable, options):
            text = segment.text if segment.control else harmless(segment.text)
            yield segment if text is segment.text else Segment(text, segment.style, segment.control)
