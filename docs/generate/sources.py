"""A hook of MkDocs: files of the project that pages link to become pages of the site, under `sources/`.

So a link such as `../configs/demo.yaml` leads to the file in the checkout and on the site alike.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent.parent
LINK = re.compile(r"\]\(((?:\.\./)+[^)#\s]+)(#[^)\s]*)?\)")
"""A link to a file. Its page shows it as text, so an anchor in it is left out."""
LANGUAGES = {".py": "python", ".yaml": "yaml", ".json": "json", ".md": "markdown"}


def on_files(files: Files, config: Any) -> Files:
    """Add a page for every file outside `docs/` that is linked to."""
    pages = [file for file in files if file.is_documentation_page()]
    links = {_outside(page, link) for page in pages for link, _ in LINK.findall(page.content_string)}
    for path in sorted(links - {None}):
        files.append(File.generated(config, f"sources/{path}.md", content=_page(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn the links to files outside `docs/` into links to their pages."""
    folder = posixpath.dirname(page.file.src_uri) or "."

    def linked(match: re.Match[str]) -> str:
        path = _outside(page.file, match[1])
        return match[0] if path is None else f"]({posixpath.relpath(f'sources/{path}.md', folder)})"

    return LINK.sub(linked, markdown)


def _outside(page: File, link: str) -> str | None:
    """The path in the project that a link on a page leads to, `None` where that is in `docs/`."""
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page.src_uri), link))
    return None if path.startswith("docs/") else path


def _page(path: str) -> str:
    """A file as a page: its path, and its text as code."""
    source = ROOT / path
    text = source.read_text(encoding="utf-8")
    return f"# {path}\n\n````{LANGUAGES.get(source.suffix, 'text')}\n{text}````\n"
