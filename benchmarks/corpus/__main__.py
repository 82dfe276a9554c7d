"""A large corpus, and one question after it: how long both take, and how many files a run writes.

    python benchmarks/corpus --work DIR [--documents 800] [--pages 10] [--rounds 3]

Makes distinct PDFs of random words, ingests them with `chunk: page` and an embedder without weights, so that
the corpus costs what parsing and storing it costs, and then runs one question, by dense search and by BM25.
The runs share the parsed documents; the first one stores them. Prints seconds by the clock and of CPU, files
per run and the load of the machine, and ends with 1 if a later run takes more than 2 s or writes 100 files or
more.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from reportlab.pdfgen.canvas import Canvas

ROOT = Path(__file__).parents[2]
SECONDS, FILES = 2.0, 100
CONFIG = """\
name: {name}
data: {{questions: questions.jsonl, documents: documents}}
chunk: {{kind: page}}
embed: {{kind: lexical, dimension: 384}}
retrieve: {{kind: {name}, top_k: 5}}
generate: {{kind: scripted}}
"""


def make(folder: Path, documents: int, pages: int) -> None:
    """Write the PDFs, a question about each, and the configurations; nothing if they are there."""
    drawn = random.Random(1)
    letters = "abcdefghijklmnoprstuvw"
    words = ["".join(drawn.choices(letters, k=drawn.randint(3, 9))) for _ in range(20_000)]
    (folder / "documents").mkdir(parents=True, exist_ok=True)
    rows = []
    for number in range(documents):
        path = folder / "documents" / f"{number:06d}.pdf"
        canvas = Canvas(str(path), invariant=True)
        for _ in range(pages):
            lines = [" ".join(drawn.choices(words, k=10)) for _ in range(28)]
            text = canvas.beginText(50, 800)
            text.textLines(lines)
            canvas.drawText(text)
            canvas.showPage()
        canvas.save()
        evidence = [{"document": path.name, "page": pages}]
        rows.append({"question": f"What is {lines[3]}?", "answers": [[lines[5]]], "evidence": evidence})
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    for name in ("dense", "bm25"):
        (folder / f"{name}.yaml").write_text(CONFIG.format(name=name))


def fathoms(folder: Path, *arguments: str) -> tuple[float, float]:
    """Run a command; returns its seconds by the clock, and those of CPU with its children."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "FATHOMS_CACHE_DIR": str(folder / "cache")}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "fathoms", *arguments],
        cwd=folder,
        env=env,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def files(folder: Path) -> set[Path]:
    """Return the files of all runs, and those that they share."""
    return {path for path in (folder / "runs").rglob("*") if path.is_file()}


def main() -> int:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True, help="a folder, whose content is replaced")
    parser.add_argument("--documents", type=int, default=800)
    parser.add_argument("--pages", type=int, default=10, help="pages of a document")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    folder = options.work.resolve() / "corpus"
    shutil.rmtree(folder, ignore_errors=True)
    make(folder, options.documents, options.pages)
    print(f"{options.documents} PDFs of {options.pages} pages; load {os.getloadavg()[0]:.1f}")
    wall, cpu = fathoms(folder, "ingest", "dense.yaml")
    pages = options.documents * options.pages
    print(f"ingest: {wall:.1f} s, {cpu:.1f} s of CPU, {cpu / pages * 1000:.2f} ms of CPU a page")
    missed = False
    for name in ("dense", "bm25"):
        first = fathoms(folder, "run", f"{name}.yaml", "--limit", "1")
        later, written = [], 0
        for _ in range(options.rounds):
            before = files(folder)
            later.append(fathoms(folder, "run", f"{name}.yaml", "--limit", "1"))
            written = max(written, len(files(folder) - before))
        seconds, used = (statistics.median(one[part] for one in later) for part in (0, 1))
        missed |= seconds > SECONDS or written >= FILES
        print(
            f"one question, {name}: first {first[0]:.2f} s, later {seconds:.2f} s ({used:.2f} s of CPU; goal"
            f" {SECONDS:g} s), {written} files (goal under {FILES})"
        )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
