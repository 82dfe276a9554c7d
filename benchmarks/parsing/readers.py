"""The loops that are compared, each measured in a process of its own: the bare parsers, and fathoms.

Run as `python readers.py NAME WORKERS FILE...`, it reads the files and prints what that cost as JSON. As
`python readers.py "Docling by turns" PASSES FILE...`, it prints the CPU seconds a page of bare Docling and of
fathoms.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from subprocess import PIPE, Popen, run
from typing import Any, NamedTuple

BY_TURNS = "Docling by turns"
DOCLING: dict[str, Any] = {
    "threads": 1,  # what `fathoms ingest` takes, which starts a process for every core
    "ocr": {"kind": "none"},
    "layout": {"kind": "cdla"},
    "tables": {"kind": "geometric"},
}
OCR = {"ocr": {"kind": "easyocr", "weights": "easyocr-en", "full_page": True, "scale": 3.0}, "threads": None}


class Cost(NamedTuple):
    """Pages; seconds of the loop by the clock, without imports of this process; CPU seconds in that time,
    with those of its children; the peak memory of the largest process in MB."""

    pages: int
    wall: float
    cpu: float
    peak: float


def bare_text() -> Callable[[Sequence[Path], int], int]:
    """The text of every page, as pypdfium2's own documentation reads it."""
    import pypdfium2 as pdfium

    def read(paths: Sequence[Path], workers: int) -> int:
        return sum(len(_texts(pdfium.PdfDocument(path))) for path in paths)

    return read


def _texts(document: Any) -> list[str]:
    """The text of every page of an open document."""
    found = []
    for page in document:
        found.append(page.get_textpage().get_text_bounded())
        page.close()
    document.close()
    return found


def bare_pdfium() -> Callable[[Sequence[Path], int], int]:
    """What fathoms extracts, by pypdfium2 alone: the text of every page, and its number of pictures."""
    import pypdfium2 as pdfium
    import pypdfium2.raw as raw

    def read(paths: Sequence[Path], workers: int) -> int:
        pages = 0
        for path in paths:
            document, found = pdfium.PdfDocument(path), []
            for page in document:
                text = page.get_textpage().get_text_bounded()
                found.append((text, len(list(page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE])))))
                page.close()
            document.close()
            pages += len(found)
        return pages

    return read


def fathoms_pdfium() -> Callable[[Sequence[Path], int], int]:
    """The parsing of `fathoms ingest`: hashes, children, checks of what may be lost, documents, the cache."""
    from fathoms.ingest import Pdfium
    from fathoms.models import ScriptedModel
    from fathoms.pipeline.pipeline import Pipeline
    from fathoms.retrieve import WholeDocument
    from fathoms.runs.cache import Cache

    def read(paths: Sequence[Path], workers: int) -> int:
        pipeline = Pipeline(ingest=Pdfium(), retrieve=WholeDocument(), generate=ScriptedModel())
        with tempfile.TemporaryDirectory() as folder:
            found = pipeline.prepare(
                {path.name: path for path in paths}, Cache(Path(folder)), workers=workers
            )
        return sum(document.pages for document in found.facts.documents)

    return read


def bare_docling(**more: Any) -> Callable[[Sequence[Path], int], int]:
    """A script of one's own: Docling's own backend with the same options, Markdown and JSON."""
    from fathoms.models.weights.hub import repair_torchvision

    repair_torchvision()
    from docling.datamodel.base_models import InputFormat
    from docling.document_converter import DocumentConverter, PdfFormatOption

    from fathoms.ingest import Docling
    from fathoms.ingest.docling.convert import pipeline_options

    docling = Docling.model_validate(DOCLING | more)
    settings = docling.settings(threads=docling.threads or os.cpu_count() or 1)
    pdf = PdfFormatOption(pipeline_options=pipeline_options(settings))
    converter = DocumentConverter([InputFormat.PDF], {InputFormat.PDF: pdf})

    def read(paths: Sequence[Path], workers: int) -> int:
        pages = 0
        for path in paths:
            document = converter.convert(path).document
            document.export_to_markdown()
            json.dumps(document.export_to_dict())
            pages += len(document.pages)
        return pages

    return read


def fathoms_docling(**more: Any) -> Callable[[Sequence[Path], int], int]:
    """The parser `docling` of fathoms, in its children."""
    from fathoms.ingest import Docling, parse_all
    from fathoms.types import Document

    def read(paths: Sequence[Path], workers: int) -> int:
        found = parse_all(Docling.model_validate(DOCLING | more), paths, workers=workers)
        return sum(len(document.pages) for document in found if isinstance(document, Document))

    return read


READERS: dict[str, Callable[[], Callable[[Sequence[Path], int], int]]] = {
    "bare text": bare_text,
    "bare PDFium": bare_pdfium,
    "fathoms PDFium": fathoms_pdfium,
    "bare OCR": partial(bare_docling, **OCR),
    "fathoms OCR": partial(fathoms_docling, **OCR),
}


def measure(name: str, paths: Sequence[Path], workers: int = 1) -> Cost:
    """Read files in a new process; a bare loop with several workers is as many processes at once, each with
    its share of the files."""
    if name.startswith("bare") and workers > 1:
        with ThreadPoolExecutor(workers) as threads:
            shares = [paths[number::workers] for number in range(workers)]
            costs = list(threads.map(partial(measure, name), shares))
        return Cost(
            sum(cost.pages for cost in costs),
            max(cost.wall for cost in costs),
            sum(cost.cpu for cost in costs),
            max(cost.peak for cost in costs),
        )
    command = [sys.executable, "-P", __file__, name, str(workers), *map(str, paths)]
    with Popen(command, stdout=PIPE, text=True) as process:
        said = process.communicate()[0]
    if process.returncode:
        raise SystemExit(f"{name} ended with {process.returncode}")
    return Cost(*json.loads(said.splitlines()[-1]))


def docling_by_turns(paths: Sequence[Path], passes: int = 2) -> tuple[float, float]:
    """CPU seconds that bare Docling and fathoms take for a page, measured in a new process.

    Both take turns with every file, so that other load on the machine meets both; which is first changes
    with every file. A pass before is not counted, because it loads libraries and models.
    """
    command = [sys.executable, "-P", __file__, BY_TURNS, str(passes), *map(str, paths)]
    bare, fathoms = json.loads(run(command, stdout=PIPE, text=True, check=True).stdout.splitlines()[-1])
    return bare, fathoms


def take_turns(paths: Sequence[Path], passes: int) -> tuple[float, float]:
    """What `docling_by_turns` runs."""
    from fathoms.ingest import Docling
    from fathoms.ingest.docling.pool import DoclingPool
    from fathoms.safety.children import Child, Children

    clocks = [time.CLOCK_PROCESS_CPUTIME_ID]

    class Clocked(Children):
        """Children whose CPU time is read."""

        def start(self, target: str, **options: Any) -> Child:
            child = super().start(target, **options)
            clocks.append(cpu_clock(child.pid))
            return child

    bare, pool = bare_docling(), DoclingPool(Docling.model_validate(DOCLING), Clocked(), 1)

    def by_fathoms(path: Path) -> None:
        pool.read(path)()

    def by_bare(path: Path) -> None:
        pages.append(bare([path], 1))

    def cost(read: Callable[[Path], None], path: Path) -> float:
        known = tuple(clocks)
        before = sum(map(time.clock_gettime, known))
        read(path)
        return sum(map(time.clock_gettime, known)) - before

    pages: list[int] = []
    for path in paths:  # loads libraries and models, also those that only some files need
        by_fathoms(path)
        by_bare(path)
    pages.clear()
    turns, spent = [by_bare, by_fathoms], {by_bare: 0.0, by_fathoms: 0.0}
    for path in [*paths] * passes:
        for read in turns:
            spent[read] += cost(read, path)
        turns.reverse()
    return spent[by_bare] / sum(pages), spent[by_fathoms] / sum(pages)


def cpu_clock(pid: int) -> int:
    """The clock of the CPU time of another process; Linux makes its number of the process id."""
    return ~pid << 3 | 2


def main() -> None:
    """Measure here."""
    name, workers, *names = sys.argv[1:]
    if name == BY_TURNS:
        print(json.dumps(take_turns([Path(each) for each in names], int(workers))))
        return
    read = READERS[name]()
    started, before = time.perf_counter(), os.times()
    pages = read([Path(each) for each in names], int(workers))
    wall = time.perf_counter() - started
    cpu = sum(os.times()[:4]) - sum(before[:4])
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(json.dumps(Cost(pages, wall, cpu, peak / 1024)))


if __name__ == "__main__":
    main()
