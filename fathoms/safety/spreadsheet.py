"""Texts that a spreadsheet would run as a formula."""

from __future__ import annotations

FORMULA = tuple("=+-@＝＋－＠")  # noqa: RUF001 - the wide forms start a formula too


def harmless(text: str) -> str:
    """Prefix text that a spreadsheet would take for a formula, after white space too, with `'`."""
    return f"'{text}" if text.lstrip().startswith(FORMULA) else text
