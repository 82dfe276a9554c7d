"""What a million pages would cost: processor hours and cache, from what few pages cost today.

    python benchmarks/million.py [--pages 400] [--docling 12] [--work DIR]

Each kind of work is done by `fathoms ingest` on few and on more pages, and the difference counts, so that
starting processes and loading models does not. Generated pages (`corpus/generator.py`, about 400 words) serve
for PDFium, MiniLM and page images, and those of the sample corpus for Docling. Processor time is that of all
processes. Prints Markdown. OCR is measured by `parsing --only ocr`, because one page takes minutes.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import pypdfium2

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), *(str(ROOT / "benchmarks" / name) for name in ("runner", "corpus"))]

from bench import table  # noqa: E402 - of the other benchmark
from generator import write_corpus  # noqa: E402
from measuring import machine  # noqa: E402

from fathoms.paths import cache_dir  # noqa: E402

CONFIG = """\
name: million
data: {{questions: questions.jsonl, documents: documents}}
{stages}
generate: {{kind: scripted}}
"""
BM25, DENSE = "retrieve: {kind: bm25}", "embed: {kind: onnx, threads: 1}\nretrieve: {kind: dense}"
PLAIN = "chunk: {kind: page}\n" + BM25
IMAGES = "chunk: {kind: page, image_dpi: 144}\n" + BM25
DOCLING = """\
ingest: {kind: docling, ocr: {kind: none}, layout: {kind: cdla}, tables: {kind: geometric}, threads: 1}
"""


class Cost(NamedTuple):
    """What ingesting took: pages, processor seconds, and bytes of the cache, those of its indexes apart."""

    pages: int
    seconds: float
    size: int
    index: int

    def minus(self, other: Cost) -> Cost:
        """What more pages took than fewer."""
        return Cost(*(mine - its for mine, its in zip(self, other, strict=True)))

    def less(self, part: Cost) -> Cost:
        """The same pages, less what a part of the work takes; each has an index of its own."""
        result = self.size - part.size
        return Cost(self.pages, self.seconds - part.seconds, result, self.index)


def main() -> None:
    """Print the table."""
    args = arguments()
    rows = []
    with tempfile.TemporaryDirectory(dir=args.work) as folder:
        few, many = Path(folder, "few"), Path(folder, "many")
        if args.pages:
            write_corpus(few, args.pages // 10)
            write_corpus(many, args.pages)
            text, vectors = ingested(few, many, BM25), ingested(few, many, DENSE)
            plain, images = ingested(few, many, PLAIN), ingested(few, many, IMAGES)
            rows = [
                row("PDFium: parse, split, BM25", text),
                row("vectors by MiniLM, besides", vectors.less(text)),
                row("page images at 144 dpi, besides", images.less(plain)._replace(index=0)),
            ]
        if args.docling:
            one, two = sample(Path(folder, "one"), 2), sample(Path(folder, "two"), args.docling)
            rows.append(row("Docling without OCR: parse, split, BM25", ingested(one, two, DOCLING + BM25)))
    print(f"{machine()}\n")
    heads = (
        "work",
        "pages",
        "CPU ms a page",
        "cache, kB a page",
        "hours a million pages",
        "GB a million pages",
    )
    print(table("A million pages", heads, rows))


def ingested(few: Path, many: Path, stages: str) -> Cost:
    """What more pages take."""
    return ingest(many, stages).minus(ingest(few, stages))


def ingest(corpus: Path, stages: str) -> Cost:
    """Ingest a corpus into an empty cache."""
    (corpus / "million.yaml").write_text(CONFIG.format(stages=stages))
    with tempfile.TemporaryDirectory(dir=corpus) as cache:
        Path(cache, "models").symlink_to(cache_dir() / "models")
        before = spent()
        line = [sys.executable, "-m", "fathoms", "ingest", "million.yaml"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "FATHOMS_CACHE_DIR": cache}
        done = subprocess.run(line, cwd=corpus, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(done.stderr)
        files = [path for path in Path(cache).rglob("*") if path.is_file() and "models" not in path.parts]
        sizes = {path: path.stat().st_size for path in files}
        index = sum(size for path, size in sizes.items() if "indexes" in path.parts)
        return Cost(pages_of(corpus), spent() - before, sum(sizes.values()) - index, index)


def spent() -> float:
    """The processor seconds of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def pages_of(corpus: Path) -> int:
    """The pages of all documents."""
    found = 0
    for path in (corpus / "documents").glob("*.pdf"):
        with pypdfium2.PdfDocument(path) as document:
            found += len(document)
    return found


def sample(corpus: Path, pages: int) -> Path:
    """Write a document with the first pages of the sample corpus that have text."""
    (corpus / "documents").mkdir(parents=True)
    (corpus / "questions.jsonl").write_text('{"question": "What?", "answers": [["that"]]}\n')
    with pypdfium2.PdfDocument.new() as built:
        for path in sorted((ROOT / "data" / "sample").glob("*.pdf")):
            with pypdfium2.PdfDocument(path) as source:
                if left := min(5, len(source), pages - len(built)):
                    built.import_pages(source, list(range(left)))
        built.save(corpus / "documents" / "sample.pdf")
    return corpus


def row(work: str, cost: Cost) -> list[str]:
    """A row of the table; a million pages of n seconds are n / 0.0036 hours."""
    seconds, size = cost.seconds / cost.pages, (cost.size + cost.index) / cost.pages
    figures = (f"{1000 * seconds:.1f}", f"{size / 1e3:.1f}", f"{seconds / 0.0036:.1f}", f"{size / 1e3:.1f}")
    return [work, str(cost.pages), *figures]


def arguments() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=400)
    parser.add_argument("--docling", type=int, default=12)
    parser.add_argument("--work", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
