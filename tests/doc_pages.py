"""The pages of the documentation as tests see them: their code blocks, and what a reader would type."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
WALKS = ("extending.md", "tutorial.md")
"""Pages that are followed from the first line to the last, in one folder."""

_BLOCK = re.compile(
    r"^(?:`(?P<file>[\w./-]+)`:\n\n)?```(?P<language>\w+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page; `file` is the name that the line before it gives it."""

    page: str
    language: str
    text: str
    file: str | None = None

    def __str__(self) -> str:
        return f"{self.page}:{self.file or self.text[:30]}"

    @property
    def commands(self) -> list[str]:
        """The lines of a bash block, without comments."""
        lines = [line.split("   #")[0].strip() for line in self.text.splitlines()]
        return [line for line in lines if line and not line.startswith("#")]


def blocks_of(page: Path) -> Iterator[Block]:
    """Every fenced block of a page, in order."""
    for found in _BLOCK.finditer(page.read_text()):
        yield Block(page.name, found["language"], found["text"], found["file"])


def blocks(language: str) -> list[Block]:
    """The blocks of all pages in one language."""
    return [block for page in PAGES for block in blocks_of(page) if block.language == language]


def words(command: str) -> list[str]:
    """A command as the shell would take it apart; redirections and pipes are not for these pages."""
    found = shlex.split(command)
    assert not {"|", ">", "<", "&&", ";"} & set(found), command
    return found
