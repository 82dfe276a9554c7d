"""The pages of the documentation as tests see them: their code blocks, and what a reader would type."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
WALKS = (
    *("building.md", "extending.md", "gate.md", "many-documents.md", "tutorial.md"),
    *("metrics.md#judges", "metrics.md#claims-of-answers"),
)
"""Pages, or chapters of pages, that are followed from the first line to the last, in one folder."""
SETS_UP = ("python3 -m venv", ".venv/bin/python -m pip")
"""Commands of these that are not run but held to what `make demo` does."""

_BLOCK = re.compile(
    r"^(?:`(?P<file>[\w./-]+)`:\n\n)?```(?P<language>\w+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page; `chapter` is the anchor of the heading `##` above it, and `file` is the name
    that the line before it gives it."""

    page: str
    language: str
    text: str
    file: str | None = None
    chapter: str = ""

    def __str__(self) -> str:
        return f"{self.page}:{self.file or self.text[:30]}"

    @property
    def is_walked(self) -> bool:
        """Whether it is followed with the others of its page or chapter."""
        return not {self.page, f"{self.page}#{self.chapter}"}.isdisjoint(WALKS)

    @property
    def commands(self) -> list[tuple[str, int]]:
        """The lines of a bash block without their comments, and the exit code of each: 0, unless the comment
        says `ends with 1`."""
        found = []
        for line in self.text.splitlines():
            command, _, comment = line.partition("   #")
            if command.strip() and not command.startswith("#"):
                ends = re.search(r"ends with (\d+)", comment)
                found.append((command.strip(), int(ends[1]) if ends else 0))
        return found


def blocks_of(page: Path, chapter: str | None = None) -> Iterator[Block]:
    """Every fenced block of a page, or of one of its chapters, in order."""
    text = page.read_text()
    heads = [(found.start(), _anchor(found[1])) for found in re.finditer(r"^## (.*)$", text, re.MULTILINE)]
    for found in _BLOCK.finditer(text):
        own = next((anchor for start, anchor in reversed(heads) if start < found.start()), "")
        if chapter in (None, own):
            yield Block(page.name, found["language"], found["text"], found["file"], own)


def _anchor(heading: str) -> str:
    """The anchor of a heading."""
    return re.sub(r"[^\w\s-]", "", heading).lower().replace(" ", "-")


def blocks(language: str) -> list[Block]:
    """The blocks of all pages in one language."""
    return [block for page in PAGES for block in blocks_of(page) if block.language == language]


def words(command: str) -> list[str]:
    """A command as the shell would take it apart; redirections and pipes are not for these pages."""
    found = shlex.split(command)
    assert not {"|", ">", "<", "&&", ";"} & set(found), command
    return found
