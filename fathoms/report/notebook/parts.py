"""The HTML that notebooks show: tables with a style of their own, light and dark, without a script."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from fathoms.report.text import plain

# `color-scheme` follows the system, and `currentColor` and `inherit` the theme of the notebook.
_STYLE = (
    "<style>.fathoms{color:inherit;font:13px/1.45 system-ui,sans-serif;max-width:62em}"
    ".fathoms table{border-collapse:collapse;margin:.4em 0;background:none;color:inherit}"
    ".fathoms th,.fathoms td{padding:.2em .7em;text-align:left;vertical-align:top;background:none;"
    "border-bottom:1px solid color-mix(in srgb,currentColor 22%,transparent)}"
    ".fathoms .n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}"
    ".fathoms caption{text-align:left;font-weight:600;padding:.2em 0}"
    ".fathoms p{margin:.3em 0}.fathoms small{opacity:.75}</style>"
)


def escaped(text: object) -> str:
    """Return text on one line, without control characters, with everything escaped that HTML would read."""
    return html.escape(plain(text))


def grid(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], figures: int) -> str:
    """Format a table of plain texts, which are escaped here; the last `figures` columns hold
    numbers."""

    def line(cells: Sequence[str], tag: str, scope: str = "") -> str:
        texts = len(cells) - figures
        return "".join(
            f"<{tag}{scope}{' class=n' if place >= texts else ''}>{escaped(cell)}</{tag}>"
            for place, cell in enumerate(cells)
        )

    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    head = line(heads, "th", " scope=col")
    return (
        f"<table><caption>{escaped(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )


def page(*parts: str) -> str:
    """Put parts that are HTML already into one block with its style."""
    return f'{_STYLE}<div class="fathoms">{"".join(parts)}</div>'


def said(text: object) -> str:
    """Return a sentence as a paragraph of HTML."""
    return f"<p>{escaped(text)}</p>"


def small(text: object) -> str:
    """Return a remark as a paragraph of HTML in small type."""
    return f"<p><small>{escaped(text)}</small></p>"
