"""Compares the parser `docling` with a bare Docling script, and measures the gain from a second worker.

    python benchmarks/docling.py            the sample corpus without OCR or hub; takes some minutes
    python benchmarks/docling.py --ocr      also one page by EasyOCR, as a full page at scale 3
    python benchmarks/docling.py DIR        the PDFs of a folder

Every measurement is a process of its own. CPU seconds per page are computed from the difference between
reading all documents three times and once, so that loading libraries and models is not included.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from fathoms.ingest import Docling, parse_all
from fathoms.types import Document

SAMPLE = Path(__file__).parent.parent / "data" / "sample"
OPTIONS: dict[str, Any] = {
    "ocr": {"kind": "none"},
    "layout": {"kind": "cdla"},
    "tables": {"kind": "geometric"},
}
OCR = {"kind": "easyocr", "weights": "easyocr-en", "full_page": True, "scale": 3.0}
SCAN = ("tallowmere-ferry-audit.pdf", 6)


def fathoms(paths: list[Path], workers: int) -> int:
    """Convert as `fathoms ingest` does; the number of pages."""
    found = parse_all(Docling.model_validate(OPTIONS), paths, workers=workers)
    return sum(len(document.pages) for document in found if isinstance(document, Document))


def bare(paths: list[Path], workers: int) -> int:
    """Convert as a script of one's own would: Docling's own backend, Markdown and JSON; the pages."""
    from fathoms.models.weights.hub import repair_torchvision

    repair_torchvision()
    from docling.datamodel.base_models import InputFormat
    from docling.document_converter import DocumentConverter, PdfFormatOption

    from fathoms.ingest.docling.convert import pipeline_options

    options = pipeline_options(Docling.model_validate(OPTIONS).settings(threads=os.cpu_count() or 1))
    converter = DocumentConverter(
        [InputFormat.PDF], {InputFormat.PDF: PdfFormatOption(pipeline_options=options)}
    )
    pages = 0
    for path in paths:
        document = converter.convert(path).document
        document.export_to_markdown()
        json.dumps(document.export_to_dict())
        pages += len(document.pages)
    return pages


def measure_here(how: str, workers: int, paths: list[Path]) -> dict[str, float]:
    """Pages, wall and CPU seconds, and the peak memory of the largest process, in MB."""
    started = time.perf_counter()
    pages = {"fathoms": fathoms, "bare": bare}[how](paths, workers)
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {
        "pages": pages,
        "wall": time.perf_counter() - started,
        "cpu": sum(use.ru_utime + use.ru_stime for use in uses),
        "peak_mb": max(use.ru_maxrss for use in uses) / 1024,
    }


def measure(how: str, workers: int, paths: list[Path], *flags: str) -> dict[str, float]:
    """The same in a process of its own; `-P`, because this file's name is that of a package."""
    command = [
        sys.executable,
        "-P",
        __file__,
        "--one",
        how,
        "--workers",
        str(workers),
        *flags,
        *map(str, paths),
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def report(paths: list[Path], rounds: int) -> None:
    """All measurements without OCR; of each the least of some rounds, taken in turns."""
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")
    runs: dict[tuple[str, int], list[dict[str, float]]] = {}
    for _ in range(rounds):
        for how in ("bare", "fathoms"):
            for times in (1, 3):
                runs.setdefault((how, times), []).append(measure(how, 1, paths * times))
    costs = {}
    for how in ("bare", "fathoms"):
        once, thrice = (min(runs[how, times], key=lambda run: run["cpu"]) for times in (1, 3))
        costs[how] = (thrice["cpu"] - once["cpu"]) / (thrice["pages"] - once["pages"])
        print(f"{how:8} {costs[how]:.3f} CPU s a page, peak {thrice['peak_mb']:,.0f} MB")
        print(f"{'':8} {once['cpu']:.1f} CPU s for {once['pages']:.0f} pages with loading")
    print(f"overhead {costs['fathoms'] / costs['bare'] - 1:+.1%}")
    alone = min(run["wall"] for run in runs["fathoms", 3])
    both = min(measure("fathoms", 2, paths * 3)["wall"] for _ in range(rounds))
    print(f"1 worker {alone:.1f} s, 2 workers {both:.1f} s with loading: {alone / both:.2f} x")
    print(f"load {os.getloadavg()[0]:.1f}")


def report_ocr() -> None:
    """One scanned page by EasyOCR, loading included."""
    import pypdfium2 as pdfium

    with tempfile.TemporaryDirectory() as folder, pdfium.PdfDocument.new() as page:
        path = Path(folder) / "scan.pdf"
        with pdfium.PdfDocument(SAMPLE / SCAN[0]) as source:
            page.import_pages(source, [SCAN[1] - 1])
        page.save(path)
        for how in ("bare", "fathoms"):
            found = measure(how, 1, [path], "--ocr")
            times = f"{found['cpu']:.0f} CPU s, {found['wall']:.0f} s"
            print(f"{how:8} OCR: {times}, peak {found['peak_mb']:,.0f} MB")


def main() -> None:
    """Measure all, or one thing for the process that measures all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--ocr", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", choices=["bare", "fathoms"], help=argparse.SUPPRESS)
    parser.add_argument("--workers", type=int, default=1, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        if given.ocr:
            OPTIONS["ocr"] = OCR
        print(json.dumps(measure_here(given.one, given.workers, given.paths)))
        return
    report(sorted((given.paths[0] if given.paths else SAMPLE).glob("*.pdf")), given.rounds)
    if given.ocr:
        report_ocr()


if __name__ == "__main__":
    main()
