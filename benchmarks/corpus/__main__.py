"""Corpora from 1,000 to 100,000 pages: what ingesting them costs a page, and what a run of one question costs
afterwards.

    python benchmarks/corpus --work DIR [--pages 1000,10000,100000] [--retrieve bm25,dense] [--executor ray]
    python benchmarks/corpus --work DIR --pages 20000 --most 1          documents of one page each

Writes distinct PDFs (`generator.py`), and for each size ingests them into an empty cache, with PDFium and
sentence chunks, runs one question twice, and then looks at the run. Prints Markdown: CPU of all processes,
and the peak memory of the command and of its largest child process (the largest resident set that Linux saw,
with the mapped index in it). Ends with 1 if a later run takes more than 5 s of CPU. 100,000 pages need 2 GB
in DIR, which is left empty.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from generator import MOST_PAGES, write_corpus

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks" / "runner")]

from bench import table  # noqa: E402 - of the other benchmark
from measuring import machine  # noqa: E402

SECONDS = 5.0
CONFIG = """\
name: {name}
data: {{questions: questions.jsonl, documents: documents}}
embed: {{kind: lexical, dimension: 384}}
retrieve: {{kind: {name}, top_k: 5}}
generate: {{kind: scripted}}
execution: {execution}
"""
HEADS = (
    "pages",
    "documents",
    "parse and chunk, s",
    "ms a page",
    "index, s",
    "ms a page",
    "nothing new, s",
    "command, MB",
    "its workers, MB",
    "cache, MB",
)
AFTER = ("pages", "first `run`", "later `run`", "its memory, MB", "`ls`", "`score`", "`report`")


@dataclass
class Cost:
    """Of a command with its children: seconds by the clock and of CPU, and the peak memory in MB of the
    command and of its largest child."""

    output: str = ""
    wall: float = 0.0
    cpu: float = 0.0
    command: float = 0.0
    children: dict[int, float] = field(default_factory=dict)

    @property
    def child(self) -> float:
        """The peak memory of the largest child, in MB."""
        return max(self.children.values(), default=0.0)


def fathoms(folder: Path, *arguments: str) -> Cost:
    """Run a command to its end; one that fails ends the benchmark with what it said."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "FATHOMS_CACHE_DIR": str(folder / "cache")}
    found, started = Cost(), time.perf_counter()
    command = [sys.executable, "-m", "fathoms", *arguments]
    with (folder / "said").open("w+") as said:
        process = subprocess.Popen(
            command, cwd=folder, env=env, text=True, stdout=subprocess.PIPE, stderr=said
        )
        ended = threading.Event()
        watching = threading.Thread(target=_watch, args=(process.pid, found, ended))
        watching.start()
        assert process.stdout is not None
        found.output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        ended.set()
        watching.join()
        said.seek(0)
        if process.returncode:
            sys.exit(f"{' '.join(command)}\nended with {process.returncode}:\n{said.read()[-4000:]}")
    found.wall, found.cpu = time.perf_counter() - started, usage.ru_utime + usage.ru_stime
    return found


def _watch(pid: int, found: Cost, ended: threading.Event) -> None:
    """Note the peaks of a process and of its descendants, as long as it runs."""
    while not ended.wait(0.05):
        found.command = max(found.command, _peak(pid))
        for child in _descendants(pid):
            found.children[child] = max(found.children.get(child, 0.0), _peak(child))


def _peak(pid: int) -> float:
    """The largest resident set of a process so far, in MB; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


def _descendants(pid: int) -> list[int]:
    """The processes that a process has started, and those that these have started."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        own = [int(child) for thread in threads for child in (thread / "children").read_text().split()]
    except OSError:
        return []
    return [*own, *(each for child in own for each in _descendants(child))]


def main() -> int:
    """Measure each size, and print the tables."""
    options = arguments()
    work = options.work.resolve() / "corpus"
    print(f"{machine()}; load {os.getloadavg()[0]:.1f}\n", flush=True)
    missed = False
    for name in options.retrieve.split(","):
        ingested, after = [], []
        for pages in map(int, options.pages.split(",")):
            shutil.rmtree(work, ignore_errors=True)
            began = time.process_time()
            written = write_corpus(work, pages, most=options.most)
            print(f"{pages} pages written with {time.process_time() - began:.1f} s of CPU", file=sys.stderr)
            execution = f"{{kind: {options.executor}}}"
            (work / f"{name}.yaml").write_text(CONFIG.format(name=name, execution=execution))
            row, later = measured(work, name, pages, len(written))
            ingested.append(row)
            after.append(later)
            missed |= float(later[2]) > SECONDS
            print("|".join(row), "|".join(later), sep="\n", file=sys.stderr, flush=True)
        shutil.rmtree(work, ignore_errors=True)
        print(table(f"Ingest for `{name}`: seconds of CPU of all processes, peak memory", HEADS, ingested))
        print(table("Afterwards: a run of one question, and commands on it, seconds of CPU", AFTER, after))
    return int(missed)


def measured(work: Path, name: str, pages: int, documents: int) -> tuple[list[str], list[str]]:
    """Measure one size; returns a row of each table."""
    config = f"{name}.yaml"
    # the index is built apart from the rest: gold pages are chunks that need none
    read = fathoms(work, "ingest", config, "--json", "--set", "retrieve={kind: oracle}")
    index, again = (fathoms(work, "ingest", config, "--json") for _ in range(2))
    report = json.loads(index.output)
    assert (report["pages"], report["documents"]) == (pages, documents), report
    size = sum(path.stat().st_size for path in (work / "cache").rglob("*") if path.is_file())
    building = index.cpu - again.cpu
    ingested = [
        f"{pages:,}",
        f"{documents:,}",
        f"{read.cpu:.1f}",
        f"{(read.cpu - again.cpu) / pages * 1000:.2f}",
        f"{building:.1f}",
        f"{building / pages * 1000:.2f}",
        f"{again.cpu:.1f}",
        f"{read.command:.0f}, index {index.command:.0f}",
        f"{read.child:.0f}",
        f"{size / 1e6:.0f}",
    ]
    first, later = (fathoms(work, "run", config, "--limit", "1") for _ in range(2))
    listed, scored, shown = (
        fathoms(work, *each) for each in (("ls",), ("score", "latest"), ("report", "latest"))
    )
    runs = [f"{each.cpu:.2f}" for each in (first, later)]
    looks = [f"{each.cpu:.2f}" for each in (listed, scored, shown)]
    return ingested, [f"{pages:,}", *runs, f"{later.command:.0f}", *looks]


def arguments() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True, help="a folder, in which `corpus` is replaced")
    parser.add_argument("--pages", default="1000,10000,100000", help="sizes, separated by commas")
    parser.add_argument("--most", type=int, default=MOST_PAGES, help="the most pages of a document")
    parser.add_argument("--retrieve", default="bm25", help="bm25, dense or both, separated by a comma")
    parser.add_argument("--executor", default="local", choices=("local", "ray"))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
