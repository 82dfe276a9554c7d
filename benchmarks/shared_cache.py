"""Measures what a hit in the shared cache costs against one in the cache of the machine, and what it saves.

    python benchmarks/shared_cache.py [--address s3://BUCKET/PREFIX] [--values 300] [--documents 200]

Without an address, a server of S3 (moto) on loopback stands for a bucket, and a folder for a file server;
with one, that place is measured instead of the server.

The first table has milliseconds for one value, by the clock and of this process, and how many times a hit on
the machine that is, for values as large as chunks, as a document, and as the vectors of a page. The second
has the seconds of `fathoms ingest` on documents of ten pages, by the clock and of the processor with all its
processes: by a machine that has to make all, by one that also stores it, by one that finds it in the shared
cache, and by the same once more.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sized
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path
from urllib.request import Request, urlopen

from fathoms.extras.cluster.store import FsspecStore
from fathoms.runs.cache import Cache
from fathoms.runs.sharing import VARIABLE

SIZES = {"chunks, 4 kB": 4_000, "a document, 40 kB": 40_000, "vectors of a page, 400 kB": 400_000}
SIGNED = {"Authorization": "AWS4-HMAC-SHA256 Credential=x/20261126/us-east-1/s3/aws4_request"}
KEYS = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y", "AWS_DEFAULT_REGION": "us-east-1"}
WORDS = ["pump", "valve", "litre", "second", "pressure", "turbine", "ore", "mine", "tower", "door", "field"]
Times = tuple[float, float]


@contextmanager
def bucket() -> Iterator[str]:
    """Run a server of S3 in a process of its own, and name it in the environment; yields an address."""
    code = (
        "from moto.server import ThreadedMotoServer as S; s = S('127.0.0.1', 0, verbose=False); s.start();"
        "print(*s.get_host_and_port(), flush=True); input()"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdout is not None
        host, port = server.stdout.readline().split()
        os.environ.update({**KEYS, "AWS_ENDPOINT_URL_S3": f"http://{host}:{port}"})
        urlopen(Request(f"http://{host}:{port}/bucket", method="PUT", headers=SIGNED), timeout=10).close()
        try:
            yield "s3://bucket/benchmark"
        finally:
            server.terminate()


def timed(do: Callable[[], object], values: Sized) -> Times:
    """Milliseconds for one of the values: by the clock, and of this process."""
    count = len(values)
    wall, cpu = time.perf_counter(), time.process_time()
    do()
    return (time.perf_counter() - wall) * 1e3 / count, (time.process_time() - cpu) * 1e3 / count


def hits(places: dict[str, str], count: int, work: Path) -> None:
    """Print what a hit costs, by size and place."""
    print(f"\n{'value':26} {'hit':34} {'ms clock':>9} {'ms CPU':>8} {'x clock':>8} {'x CPU':>7}")
    for label, size in SIZES.items():
        values = {sha256(f"{label} {n}".encode()).hexdigest()[:32]: os.urandom(size) for n in range(count)}
        rows = on_this_machine(values, work)
        for place, address in places.items():
            rows |= {f"{place}, {how}": took for how, took in elsewhere(values, address).items()}
        one = next(iter(rows.values()))
        for name, (wall, cpu) in rows.items():
            print(f"{label:26} {name:34} {wall:9.2f} {cpu:8.2f} {wall / one[0]:8.1f} {cpu / one[1]:7.1f}")


def on_this_machine(values: dict[str, bytes], work: Path) -> dict[str, Times]:
    """Measure the cache of the machine; its first row is what others are compared with."""
    with closing(Cache(work / "near", alone=True)) as near:
        near.put_many("document", values)
        return {
            "this machine, one by one": timed(lambda: [near.get("document", key) for key in values], values),
            "this machine, all at once": timed(lambda: near.get_many("document", list(values)), values),
        }


def elsewhere(values: dict[str, bytes], address: str) -> dict[str, Times]:
    """Measure a shared cache."""
    store = FsspecStore(address)
    store.check()  # connects
    found = {
        "stored": timed(lambda: (store.put_many("document", values), store.finish()), values),
        "one by one": timed(lambda: [store.get("document", key) for key in values], values),
        "16 at once": timed(lambda: store.get_many("document", list(values)), values),
    }
    if store.counts["taken"] != 2 * len(values):
        raise SystemExit(f"{address}: {store.counts}")
    return found


def write_documents(folder: Path, count: int) -> None:
    """Write documents of ten pages with different texts, and a question about one of them."""
    from reportlab.pdfgen.canvas import Canvas

    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        canvas = Canvas(str(folder / f"d{number}.pdf"), invariant=True)
        for page in range(10):
            for line in range(40):
                at = number * 400 + page * 40 + line
                canvas.drawString(
                    50, 800 - 18 * line, " ".join(WORDS[(at * k) % 11] for k in range(1, 13)) + f" {at}"
                )
            canvas.showPage()
        canvas.save()
    question = '{"A": [{"question": "How much?", "files": ["d0.pdf"], "answers": [["41.5"]]}]}'
    (folder.parent / "questions.json").write_text(question)
    (folder.parent / "config.yaml").write_text(
        "name: shared\ndata: {questions: questions.json, documents: pdfs}\nembed: {kind: lexical}\n"
        "retrieve: {kind: dense, top_k: 5}\ngenerate: {kind: scripted, default: Nobody can say.}\n"
    )


def ingest(folder: Path, machine: str, address: str | None) -> tuple[float, float]:
    """Run `fathoms ingest` with the cache of a machine; returns its seconds and CPU seconds."""
    environment = {**os.environ, "FATHOMS_CACHE_DIR": str(folder / machine), VARIABLE: address or ""}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "fathoms", "ingest", "config.yaml"]
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def corpora(places: dict[str, str], documents: int, work: Path) -> None:
    """Print what ingesting a corpus takes with and without a shared cache."""
    write_documents(work / "pdfs", documents)
    title = f"{documents} documents, {10 * documents} pages"
    print(f"\n{title:45} {'s clock':>9} {'s CPU':>8} {'x clock':>8} {'x CPU':>7}")
    alone = ingest(work, "alone", None)
    rows = [("all made, nothing shared", *alone), ("found on this machine", *ingest(work, "alone", None))]
    for place, address in places.items():
        shared = f"{address}/{documents}"
        rows.append((f"{place}: all made and stored", *ingest(work, f"{place} 1", shared)))
        rows.append((f"{place}: all found in the shared cache", *ingest(work, f"{place} 2", shared)))
        rows.append((f"{place}: the same machine once more", *ingest(work, f"{place} 2", shared)))
    for name, wall, cpu in rows:
        print(f"{name:45} {wall:9.2f} {cpu:8.2f} {wall / alone[0]:8.2f} {cpu / alone[1]:7.2f}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--address", help="a place that is measured in place of the server on loopback")
    parser.add_argument("--values", type=int, default=300)
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--work", type=Path, help="an empty folder for what is written")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
        folder = {"a folder": f"file://{(work / 'shared').absolute()}"}
        if options.address:
            places = {**folder, options.address.partition(":")[0]: options.address}
            hits(places, options.values, work)
            corpora(places, options.documents, work)
            return
        with bucket() as address:
            hits({**folder, "S3 on loopback": address}, options.values, work)
            corpora({**folder, "S3 on loopback": address}, options.documents, work)


if __name__ == "__main__":
    main()
