"""Compares the parser `pdfium`, which reads every PDF in a process of its own, with PDFium's bare loop.

    python benchmarks/parsing.py [DIR] [--files 300] [--pages 300] [--rounds 5]

The bare loop opens each file with pypdfium2 in this process, and takes the text and counts the pictures of
each page, as the parser does. It has no limits, and looks for no lost text. It reads many short files (copies
of the PDFs of DIR, by default the sample corpus) and one long file, made of all their pages. In each round
everybody has one turn. The goals are 0.8 x the pages a second of the bare loop with one worker, and as much
per worker with as many workers as there are cores; where one is missed, the exit code is 1.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import cycle, islice
from pathlib import Path
from statistics import median

import pypdfium2
import pypdfium2.raw

from fathoms.ingest import Pdfium, parse_all
from fathoms.types import Document

SAMPLE = Path(__file__).parents[1] / "data" / "sample"
ONE, ALL = 0.8, 0.8
"""The goals: of the bare loop's speed with one worker, and of that per worker with all."""


def bare(paths: Sequence[Path]) -> int:
    """Read the text and count the pictures of all pages; returns the number of pages."""
    pages = 0
    for path in paths:
        with pypdfium2.PdfDocument(path) as document:
            for index in range(len(document)):
                page = document[index]
                page.get_textpage().get_text_range()
                sum(1 for _ in page.get_objects(filter=[pypdfium2.raw.FPDF_PAGEOBJ_IMAGE]))
                page.close()
                pages += 1
    return pages


def fathoms(paths: Sequence[Path], workers: int) -> int:
    """Read them with the parser; returns the number of pages."""
    read = parse_all(Pdfium(), paths, workers=workers)
    return sum(len(document.pages) for document in read if isinstance(document, Document))


def per_second(read: Callable[[], int], pages: int) -> float:
    """Pages a second; ends the benchmark where not all pages were read."""
    started = time.perf_counter()
    if (found := read()) != pages:
        raise SystemExit(f"{found} of {pages} pages were read")
    return pages / (time.perf_counter() - started)


def copies(sources: Sequence[Path], folder: Path, count: int) -> list[Path]:
    """So many short files."""
    paths = [folder / f"{number}.pdf" for number in range(count)]
    for source, path in zip(cycle(sources), paths, strict=False):
        shutil.copy(source, path)
    return paths


def joined(sources: Sequence[Path], path: Path, pages: int) -> Path:
    """One file with so many pages."""
    whole = pypdfium2.PdfDocument.new()
    while len(whole) < pages:
        for source in sources:
            whole.import_pages(pypdfium2.PdfDocument(source))
    for index in reversed(range(pages, len(whole))):
        del whole[index]
    whole.save(path)
    return path


def main() -> int:
    """Measure and print; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", default=SAMPLE, help="PDFs (the sample corpus)")
    parser.add_argument("--files", type=int, default=300, help="short files (300)")
    parser.add_argument("--pages", type=int, default=300, help="pages of the long file (300)")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each (5)")
    args = parser.parse_args()
    sources = list(islice(sorted(args.folder.glob("*.pdf")), 100))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    print(f"{cores} cores; load before (1, 5, 15 minutes): {', '.join(f'{v:.2f}' for v in os.getloadavg())}")
    print(f"\nPages a second, medians of {args.rounds}\n")
    print("| | bare loop | 1 worker | x bare | all workers | x bare per worker |\n|---|---|---|---|---|---|")
    missed = []
    with tempfile.TemporaryDirectory() as name:
        short = copies(sources, Path(name), args.files)
        long = [joined(sources, Path(name) / "long.pdf", args.pages)]
        for what, paths in ((f"{args.files} short files", short), (f"one file of {args.pages} pages", long)):
            pages = bare(paths)
            turns: dict[str, Callable[[], int]] = {
                "bare": lambda paths=paths: bare(paths),
                "one": lambda paths=paths: fathoms(paths, 1),
                "all": lambda paths=paths: fathoms(paths, cores),
            }
            if len(paths) == 1:
                del turns["all"]  # a file is read by one process
            found: dict[str, list[float]] = {who: [] for who in turns}
            for _ in range(args.rounds):
                for who, read in turns.items():
                    found[who].append(per_second(read, pages))
            speed = {who: median(values) for who, values in found.items()}
            one = speed["one"] / speed["bare"]
            every = speed["all"] / speed["bare"] / cores if "all" in speed else None
            cells = [f"{speed['bare']:.0f}", f"{speed['one']:.0f}", f"{one:.2f}"]
            cells += ["", ""] if every is None else [f"{speed['all']:.0f}", f"{every:.2f}"]
            print(f"| {what} | {' | '.join(cells)} |", flush=True)
            missed += [f"{what}: {one:.2f} x with one worker, goal {ONE}"] if one < ONE else []
            if every is not None and every < ALL:
                missed.append(f"{what}: {every:.2f} x per worker with all, goal {ALL}")
    print("\n" + ("\n".join(f"missed: {line}" for line in missed) or "all goals met"))
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
