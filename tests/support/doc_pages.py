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
    *("building.md", "claims.md", "extending.md", "gate.md", "judges.md", "many-documents.md"),
    "tutorial.md",
)
"""Pages that are followed from the first line to the last, in one folder."""
SETS_UP = ("python3 -m venv", ".venv/bin/python -m pip")
"""Commands of these that are not run but held to what `make demo` does."""

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
