"""Compares the parsing of fathoms, in child processes with limits, with bare loops of the same libraries.

    python benchmarks/parsing                  the sample corpus, PDFium and Docling; takes some minutes
    python benchmarks/parsing DIR              the PDFs below a folder
    python benchmarks/parsing --only pdfium    one parser: pdfium, docling or ocr (one page, by EasyOCR)
    python benchmarks/parsing --quick          few pages and one round, to show that all works

In every round each loop has one turn in a process of its own, so that other load on the machine affects all
of them, and ratios are of the turns of one round. It prints Markdown, and ends with 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import NamedTuple

import pypdfium2 as pdfium
from readers import Cost, docling_by_turns, measure

from fathoms.text.amounts import percent

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks" / "runner"))

from bench import spread, table  # noqa: E402 - of the other benchmark
from measuring import machine  # noqa: E402

SAMPLE = ROOT / "data" / "sample"
SCAN = (SAMPLE / "tallowmere-ferry-audit.pdf", 6)
CORES = len(os.sched_getaffinity(0))
LONG_FILES = 4


class Goal(NamedTuple):
    """The least that a ratio should be, and what was found."""

    what: str
    least: float
    found: float


def main() -> None:
    """Measure and print."""
    args = arguments()
    paths = sorted(args.folder.rglob("*.pdf"))
    goals: list[Goal] = []
    print(f"{machine()}\n\nMedians of {args.rounds} rounds (least-most), {CORES} cores.\n", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        if "pdfium" in args.only:
            for what, files in corpora(paths, args.pages, Path(folder)).items():
                goals += pdfium_section(what, files, args.rounds)
        if "docling" in args.only:
            goals += docling_section(paths, args.rounds)
        if "ocr" in args.only:
            ocr_section(scan(Path(folder)))
    rows = [[g.what, f"{g.least:.2f}", f"{g.found:.2f}", verdict(g)] for g in goals]
    print(table("Goals", ["", "at least", "found", ""], rows))
    print("load after:", *(f"{value:.2f}" for value in os.getloadavg()))
    sys.exit(any(goal.found < goal.least for goal in goals))


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=SAMPLE)
    parser.add_argument(
        "--only", nargs="+", choices=["pdfium", "docling", "ocr"], default=["pdfium", "docling"]
    )
    parser.add_argument("--rounds", type=int, help="turns of each loop (5)")
    parser.add_argument("--pages", type=int, help="pages of each PDFium corpus (2000)")
    parser.add_argument("--quick", action="store_true", help="60 pages, one round")
    args = parser.parse_args()
    args.rounds = args.rounds or (1 if args.quick else 5)
    args.pages = args.pages or (60 if args.quick else 2000)
    return args


def corpora(paths: Sequence[Path], pages: int, folder: Path) -> dict[str, list[Path]]:
    """The files as they are, as often as makes so many pages (a comment makes each copy another file), and a
    few long ones of the same pages."""
    small: list[Path] = []
    for path in cycle(paths):
        if pages <= 0:
            break
        small.append(folder / f"{len(small)}.pdf")
        small[-1].write_bytes(path.read_bytes() + b"\n%% copy %d\n" % len(small))
        with pdfium.PdfDocument(path) as document:
            pages -= len(document)
    long = []
    for number in range(LONG_FILES):
        long.append(folder / f"long-{number}.pdf")
        with pdfium.PdfDocument.new() as joined:
            for path in small[number::LONG_FILES]:
                with pdfium.PdfDocument(path) as part:
                    joined.import_pages(part)
            joined.save(long[-1])
    return {"files as they are": small, f"{LONG_FILES} long files": long}


def in_turns(
    turns: Mapping[tuple[str, int], Sequence[Path]], rounds: int
) -> dict[tuple[str, int], list[Cost]]:
    """Each loop with its workers, one after another, as often as there are rounds."""
    found: dict[tuple[str, int], list[Cost]] = {turn: [] for turn in turns}
    for _ in range(rounds):
        for (name, workers), files in turns.items():
            found[name, workers].append(measure(name, files, workers))
    return found


def pdfium_section(what: str, files: Sequence[Path], rounds: int) -> list[Goal]:
    """Print pages a second of one corpus, with one worker and with one for each core."""
    names = ("bare text", "bare PDFium", "fathoms PDFium")
    found = in_turns({(name, workers): files for workers in (1, CORES) for name in names}, rounds)
    speed = {turn: [cost.pages / cost.wall for cost in costs] for turn, costs in found.items()}
    rows = []
    for (name, workers), costs in found.items():
        against = [spread(ratios(speed[name, workers], speed[bare, workers])) for bare in names[:2]]
        cpu = spread([1000 * cost.cpu / cost.pages for cost in costs])
        memory = f"{max(cost.peak for cost in costs):.0f}"
        rows.append([name, str(workers), spread(speed[name, workers], ".0f"), *against, cpu, memory])
    heads = ["", "workers", "pages a second", "x bare text", "x bare PDFium", "CPU ms a page", "peak MB"]
    title = f"PDFium, {what}: {len(files)} files, {found[names[0], 1][0].pages} pages"
    print(table(title, heads, rows), flush=True)
    goals = [
        Goal(
            f"PDFium, {what}, workers: {workers}, pages a second over bare PDFium's",
            0.8,
            median(ratios(speed[names[2], workers], speed[names[1], workers])),
        )
        for workers in dict.fromkeys((1, CORES))
    ]
    gain = {name: ratios(speed[name, CORES], speed[name, 1]) for name in names[1:]}
    print(
        f"From 1 to {CORES} workers: " + "; ".join(f"{name} x {spread(gain[name])}" for name in gain) + "\n"
    )
    linear = median(ratios(gain[names[2]], gain[names[1]]))
    return [*goals, Goal(f"PDFium, {what}, gain of {CORES} workers over bare PDFium's", 0.9, linear)]


def docling_section(paths: Sequence[Path], rounds: int) -> list[Goal]:
    """Print CPU seconds a page, without those for loading libraries and models."""
    costs = [docling_by_turns(paths) for _ in range(rounds)]
    bare, fathoms = ([cost[at] for cost in costs] for at in range(2))
    found = ratios(bare, fathoms)
    rows = [
        ["bare Docling", spread(bare, ".3f"), "1"],
        ["fathoms Docling", spread(fathoms, ".3f"), spread(found)],
    ]
    title = f"Docling, {len(paths)} files, without OCR, one thread"
    print(table(title, ["", "CPU s a page", "x bare, pages a second"], rows), flush=True)
    return [Goal("Docling, pages per CPU second over bare Docling's", 0.95, median(found))]


def ocr_section(path: Path) -> None:
    """Print what one scanned page costs with EasyOCR, loading included."""
    costs = {name: measure(name, [path]) for name in ("bare OCR", "fathoms OCR")}
    rows = [[name, f"{cost.cpu:.0f}", f"{cost.wall:.0f}", f"{cost.peak:.0f}"] for name, cost in costs.items()]
    print(table("One page by EasyOCR, with loading", ["", "CPU s", "s", "peak MB"], rows), flush=True)


def scan(folder: Path) -> Path:
    """A scanned page as a file of its own."""
    source, number = SCAN
    with pdfium.PdfDocument.new() as page:
        with pdfium.PdfDocument(source) as document:
            page.import_pages(document, [number - 1])
        page.save(folder / "scan.pdf")
    return folder / "scan.pdf"


def ratios(of: Sequence[float], over: Sequence[float]) -> list[float]:
    """Round by round."""
    return [one / other for one, other in zip(of, over, strict=True)]


def verdict(goal: Goal) -> str:
    """Whether it was met."""
    missing = 1 - goal.found / goal.least
    return "met" if missing <= 0 else f"missed by {percent(missing)}"


if __name__ == "__main__":
    main()
