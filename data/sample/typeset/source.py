"""Reads the light markup in which the documents are written.

A file opens with ``key: value`` lines up to the first blank line. Blocks follow, divided by blank lines:
``# heading``, ``## subheading``, ``~ note`` (at the foot of the column), ``[1] reference``, ``1. step``,
``1.1 clause``, ``!figure NAME``, ``!table RULES ALIGN WIDTHS``, ``!box TITLE`` and ``!scan NAME``; a ``wide``
figure or table is set across both columns at the top of the next page. The rest are paragraphs. Inline
markup is ReportLab's own (``<i>``), with ``^3^`` for a raised figure.
"""

import re
from dataclasses import dataclass
from pathlib import Path

_OPENINGS = (
    ("subheading", re.compile(r"## ")),
    ("heading", re.compile(r"# ")),
    ("footnote", re.compile(r"~ ")),
    ("reference", re.compile(r"(?=\[\d+\])")),
    ("clause", re.compile(r"(?=\d+\.\d+ )")),
    ("step", re.compile(r"(?=\d+\. )")),
)


@dataclass(frozen=True)
class Block:
    """One block of a document: what it is, the words of its directive, and its lines."""

    kind: str
    lines: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    wide: bool = False

    @property
    def text(self) -> str:
        """The lines as one paragraph."""
        return " ".join(self.lines)


@dataclass(frozen=True)
class Source:
    """A document as written."""

    name: str
    meta: dict[str, str]
    blocks: tuple[Block, ...]


def read(path: Path) -> Source:
    """Read one source file."""
    head, *chunks = re.split(r"\n\s*\n", _raised(path.read_text(encoding="utf-8")).strip())
    meta = dict(line.split(": ", 1) for line in head.splitlines())
    return Source(path.stem, meta, tuple(_block(chunk.splitlines()) for chunk in chunks))


def _raised(text: str) -> str:
    """Write ``^3^`` as ReportLab does."""
    return re.sub(r"\^(-?\d+)\^", r'<super size="6.5" rise="3.2">\1</super>', text)


def _block(lines: list[str]) -> Block:
    if lines[0].startswith("!"):
        words = lines[0][1:].split()
        wide = words[0] == "wide"
        kind, *arguments = words[1:] if wide else words
        return Block(kind, tuple(lines[1:]), tuple(arguments), wide)
    for kind, opening in _OPENINGS:
        found = opening.match(lines[0])
        if found:
            return Block(kind, (lines[0][found.end() :], *lines[1:]))
    return Block("paragraph", tuple(lines))
