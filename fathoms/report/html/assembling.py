"""Assembles the HTML file from the page template, styles, scripts, overview and chunks with Jinja2."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fathoms.report.html.chunks import Chunk
from fathoms.safety.scripts import script_hash

PAGE = Path(__file__).with_name("page")
_ESCAPED = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&"}


def assemble(
    overview: dict[str, Any],
    chunks: Sequence[Chunk],
    page: Path = PAGE,
    scripts: Sequence[Path] | None = None,
    *,
    connect: bool = False,
) -> str:
    """Return the text of the file; `page` is the folder with `page.html`, `style.css` and the scripts.

    `scripts` are those of another page with the same frame, and `connect` allows it to ask its own server.
    The chunks are base64 and the overview contains no `<`, so neither can close its `script` element.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(page), autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True
    )
    files = sorted(page.glob("*.js")) if scripts is None else scripts
    script = "\n".join(file.read_text(encoding="utf-8") for file in files)
    style = page / "style.css"
    return environment.get_template("page.html").render(
        title=overview["title"],
        style=Markup(style.read_text(encoding="utf-8") if style.is_file() else ""),
        script=Markup(script),
        script_hash=script_hash(script),
        overview=Markup(for_element(overview)),
        chunks=chunks,
        connect=Markup("'self'" if connect else "'none'"),
    )


def for_element(value: Any) -> str:
    """Return ASCII JSON that is safe inside a `script` element."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).translate(_ESCAPED)
