"""Writes the PDFs of the sample corpus: ``python data/sample/make.py [--out DIR] [--check]``."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from typeset.source import read
from typeset.story import write

HERE = Path(__file__).resolve().parent


def build(out: Path) -> list[Path]:
    """Write every document into ``out``."""
    paths = []
    for source in sorted((HERE / "source").glob("*.txt")):
        paths.append(out / f"{source.stem}.pdf")
        write(read(source), paths[-1])
    return paths


def differing(out: Path) -> list[str]:
    """Names of the documents in ``out`` that are not what would be written now."""
    with tempfile.TemporaryDirectory() as fresh:
        built = build(Path(fresh))
        kept = {path.name: path.read_bytes() for path in out.glob("*.pdf")}
        return sorted(path.name for path in built if kept.get(path.name) != path.read_bytes())


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the documents, or with ``--check`` compare them with what is on disk."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=HERE, help="folder of the PDFs (default: this one)")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a PDF on disk differs")
    options = parser.parse_args(arguments)
    if options.check:
        stale = differing(options.out)
        print(
            "\n".join(f"differs: {name}" for name in stale) or "all documents are as their sources make them"
        )
        return 1 if stale else 0
    options.out.mkdir(parents=True, exist_ok=True)
    for path in build(options.out):
        print(f"{path.name}  {path.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
