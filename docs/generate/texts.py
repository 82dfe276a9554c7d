"""Markdown from text."""

from __future__ import annotations

import inspect
from collections.abc import Iterable

MADE = "Made by `make reference` from the code; not to be edited by hand.\n"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table; nothing where there are no rows."""
    lines = [_row(row) for row in rows]
    names = list(head)
    return "\n".join([_row(names), _row(["---"] * len(names)), *lines]) + "\n" if lines else ""


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(one_line(cell).replace("|", r"\|") for cell in cells) + " |"


def one_line(text: str) -> str:
    return " ".join(text.split())


def code(text: str) -> str:
    return f"`{text}`" if text else ""


def join(parts: Iterable[str]) -> str:
    """Paragraphs with an empty line between."""
    return "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"


def plain(text: str | None) -> str:
    return inspect.cleandoc(text or "")
