"""Scores answers, and ingests documents, on one machine and on a Ray cluster of three raylets.

One of them is killed half way through the documents.

    python benchmarks/cluster [--documents 2000] [--pages 5] [--answers 10000] [--work DIR]

The cluster runs in a network namespace of its own, with one processor per raylet, so its workers and those of
the one machine share the same processors: the times show what the cluster costs, not what it gains. It prints
Markdown, and ends with 1 if a document is missing, or a byte of the documents, chunks, vectors or scores
differs.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks" / "runner")]

from bench import table  # noqa: E402 - of the other benchmark
from measuring import machine  # noqa: E402

from fathoms.scoring import score_run  # noqa: E402
from tests.extras.cluster.test_scoring_on_cluster import run_in  # noqa: E402
from tests.package.test_scoring import files  # noqa: E402
from tests.support.away import Away  # noqa: E402
from tests.support.project import Project, write_pdf, write_project  # noqa: E402
from tests.support.ray_cluster import RayCluster, cached  # noqa: E402

CONFIG = """\
name: cluster
data: {questions: questions.json, documents: pdfs}
chunk: {kind: sentence, size: 400, overlap: 50, unit: characters}
embed: {kind: lexical}
retrieve: {kind: dense}
generate: {kind: scripted}
"""
WORDS = ["gauge", "weir", "river", "level", "night", "water", "bridge", "flood", "board", "metres", "report"]


def main() -> None:
    """Make the documents, ingest them twice and compare."""
    args = arguments()
    with tempfile.TemporaryDirectory(dir=args.work) as folder:
        project = write_project(Path(folder))
        project.write("cluster.yaml", CONFIG)
        write_documents(project.path / "pdfs", args.documents, args.pages)
        cluster = RayCluster(machines=3)
        if cluster.why_not is not None:
            sys.exit(cluster.why_not)
        try:
            scored = score(cluster, Path(folder), args.answers)
            rows = [
                ingest(cluster, project, "local", None),
                ingest(cluster, project, "ray", args.documents // 2),
            ]
        finally:
            cluster.close()
        same = cached(project.path / "cache-local") == cached(project.path / "cache-ray")
    print(f"{machine()}\n")
    if scored:
        heads = ("executor", "answers", "all, s", "bytes")
        print(table("Scoring on one machine and on a cluster", heads, scored))
    heads = ("executor", "documents", "failures", "pages", "chunks", "parse, s", "chunk, s", "all, s")
    print(table("One machine and a cluster", heads, rows))
    print(f"the bytes are {'the same' if same else 'NOT THE SAME'}")
    same = same and all(row[-1] == "the same" for row in scored)
    sys.exit(int(not same or rows[0][1:5] != rows[1][1:5]))


def score(cluster: RayCluster, folder: Path, answers: int) -> list[list[str]]:
    """Score a run with so many answers twice; returns the rows of the table."""
    if not answers:
        return []
    run, rows = run_in(folder, answers, metrics=["rouge-l", "bleu", "retrieval"]), []
    expected: dict[str, bytes] = {}
    away, before = Metered(3), time.process_time()
    score_run(run, executor=away)
    away.close()
    command = time.process_time() - before - away.seconds
    spent = f"{away.seconds:.1f} of workers, {command:.1f} of the command"
    print(f"\nCPU seconds to score {answers} answers: {spent}\n")
    for executor in ("local", "ray"):
        started = time.perf_counter()
        line = ["score", str(run.path), "--executor", executor, "--address", cluster.address]
        done = cluster.wait(cluster.start(line, folder, {}))
        seconds = time.perf_counter() - started
        assert done.returncode == 0, done.stderr
        expected, result = expected or files(run), files(run)
        same = "the same" if result == expected else "NOT THE SAME"
        rows.append([f"`{executor}`", str(answers), f"{seconds:.1f}", same])
    return rows


class Metered(Away):
    """A worker in this process; `seconds` of its processor went into the work itself."""

    seconds = 0.0

    def do(self, *given: Any) -> Any:
        before = time.process_time()
        try:
            return super().do(*given)
        finally:
            self.seconds += time.process_time() - before


def ingest(cluster: RayCluster, project: Project, executor: str, kill_after: int | None) -> list[str]:
    """Ingest all documents; a raylet is killed once so many are in the cache. Returns a row of the table."""
    cache = project.path / f"cache-{executor}"
    line = ["ingest", "cluster.yaml", "--json", "--executor", executor]
    line += ["--set", f"execution.address={cluster.address}"]
    started = time.perf_counter()
    command = cluster.start(line, project.path, {"FATHOMS_CACHE_DIR": str(cache)})
    if kill_after is not None:
        while parsed(cache) < kill_after:
            assert not cluster.has_ended(command), cluster.wait(command).stderr
            time.sleep(0.2)
        cluster.kill_node()
    done = cluster.wait(command)
    seconds = time.perf_counter() - started
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    times = [f"{found['times'][stage]['seconds']:.1f}" for stage in ("parse", "chunk")]
    counts = [found["documents"], len(found["failures"]), found["pages"], found["chunks"]]
    return [f"`{executor}`", *map(str, counts), *times, f"{seconds:.1f}"]


def parsed(cache: Path) -> int:
    """The number of documents that a cache holds by now."""
    try:
        with closing(sqlite3.connect(cache / "cache.sqlite")) as database:
            return int(database.execute("SELECT count(*) FROM sealed WHERE kind = 'document'").fetchone()[0])
    except sqlite3.OperationalError:  # it is not there yet
        return 0


def write_documents(folder: Path, number: int, most: int) -> None:
    """Write distinct PDFs of 1 to `most` pages."""
    chance = random.Random(27)
    for at in range(number):
        pages = [" ".join(chance.choices(WORDS, k=14)) for _ in range(1 + at % most)]
        write_pdf(folder / f"d{at:05}.pdf", [f"{at}: {text}" for text in pages])


def arguments() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--pages", type=int, default=5)
    parser.add_argument("--answers", type=int, default=10_000)
    parser.add_argument("--work", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
