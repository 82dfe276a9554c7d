"""Escaping of control characters in untrusted text (replies, documents, file names), and masking of known
secrets in tables, before they are printed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from fathoms.safety.masking import known_mask

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
    """Make a Rich console that escapes control characters in texts and masks known secrets; `options` are
    those of `Console`."""
    from rich.console import Console
    from rich.segment import Segment
    from rich.text import Text

    class HarmlessConsole(Console):
        """Escapes the control characters that tables and panels of Rich let through."""

        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            """Render to segments, with control characters in text segments escaped. Secrets are masked before
            a text is folded, because a part of one is a secret too."""
            if isinstance(renderable, str):
                renderable = known_mask().text(renderable)
            elif isinstance(renderable, Text):
                clean = known_mask().text(renderable.plain)
                if clean != renderable.plain:
                    renderable = renderable.copy()
                    renderable.plain = clean
            for segment in super().render(renderable, options):
                text = segment.text if segment.control else harmless(segment.text)
                yield segment if text is segment.text else Segment(text, segment.style, segment.control)

    return HarmlessConsole(**options)
