"""Writes the PDFs of the sample corpus: ``python data/sample/make.py [--out DIR] [--check]``."""

import sys
from collections.abc import Iterator
from pathlib import Path

from typeset.source import read
from typeset.story import write

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import making  # noqa: E402


def build(out: Path) -> None:
    """Write every document into ``out``."""
    for source in sorted((HERE / "source").glob("*.txt")):
        write(read(source), out / f"{source.stem}.pdf")


def report(out: Path) -> Iterator[str]:
    """Say how large the documents are."""
    for path in sorted(out.glob("*.pdf")):
        yield f"{path.name}  {path.stat().st_size:,} bytes"


if __name__ == "__main__":
    making.main(build, HERE, __doc__, report)
