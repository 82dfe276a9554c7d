"""What the index of vectors of a corpus costs to build, to search, and to extend.

    python benchmarks/search/index.py [--rows 10000 100000 1000000] [--texts DIR] [--work DIR]

Of each size, these are done one after the other, each by a process of its own: the vectors of a new corpus
are stored and listed (`build`), its tables of LanceDB are made (`ivf`), one question is searched for exactly
(`one`), many are searched for exactly and approximately (`search`), and 1 % of documents are added, spread
over all (`add`). Prints seconds, CPU seconds (user and system of the process), the most memory of its own
(RssAnon of Linux, which leaves out mapped files), and the bytes of all files; what the embedding of made
vectors takes is left out of the CPU. Ends with 1 if what is found after adding differs by a byte from what
exact search finds in the vectors of both in memory, up to 100,000 rows.

The vectors are made: 384 numbers; each is the sum of four random directions whose axes have falling weights,
one for all, one of a topic (a thousand chunks), one of a document (ten chunks) and one of its own. Questions
are chunks with a direction of their own. With `--texts`, the text files below a folder are cut into chunks of
500 characters and embedded by MiniLM; questions are sentences of these, so recall is that of real text. What
the two have in common is printed: the mean cosine of two chunks, and that of a question and its nearest and
tenth nearest chunk.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathoms.models import LexicalEmbedder, OnnxEmbedder
from fathoms.pipeline.preparation import Preparation
from fathoms.pipeline.vector_index import TextsOf, VectorIndexer
from fathoms.retrieve.approximation import recall
from fathoms.retrieve.ivf import IvfStore
from fathoms.retrieve.numpy_store import exact_search
from fathoms.runs.cache import Cache
from fathoms.text.fingerprints import fingerprint

Floats = NDArray[np.float32]
Corpus = dict[str, list[str]]
WIDTH, CHUNKS, TOPIC, K = 384, 10, 100, 10
"""Numbers in a vector, chunks of a document, documents of a topic, and the k of recall."""
GROUPS = (8, 32, 128)
LARGEST_COMPARED = 101_000
WEIGHTS = np.arange(1, WIDTH + 1, dtype=np.float32) ** -0.5
WEIGHTS /= np.linalg.norm(WEIGHTS)
spent = 0.0  # CPU seconds for made vectors


@lru_cache(maxsize=4096)
def direction(*seed: int) -> Floats:
    """A random direction."""
    return np.random.default_rng(seed).standard_normal(WIDTH, dtype=np.float32) * WEIGHTS


def vector_of(text: str) -> Floats:
    """The vector of a text `TOPIC DOCUMENT CHUNK`, or of a question with one more number."""
    topic, document, chunk, *question = map(int, text.split())
    parts = 0.3 * direction(0) + direction(1, topic) + 0.7 * direction(2, document)
    own = np.random.default_rng((3, document, chunk)).standard_normal(WIDTH, dtype=np.float32) * WEIGHTS
    parts += 0.8 * own + sum(0.8 * direction(4, number) for number in question)
    return parts / np.linalg.norm(parts)


class NumberEmbedder(LexicalEmbedder):
    """Makes vectors of the numbers in a text."""

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return a vector of each text."""
        global spent
        started = time.process_time()
        found = np.stack([vector_of(text) for text in texts])
        spent += time.process_time() - started
        return found

    embed_queries = embed


def numbered(rows: int, more: int) -> Corpus:
    """A corpus of so many chunks, and `more` of each hundred documents besides."""
    found: Corpus = {}
    for number in range(rows // CHUNKS):
        for own in (number, *(10_000_000 + number for _ in range(more if number % 100 == 50 else 0))):
            name = f"{number:08} {'new' if own != number else ''}"
            found[name] = [f"{number // TOPIC} {own} {chunk}" for chunk in range(CHUNKS)]
    return found


def of_files(folder: Path, rows: int, more: int) -> Corpus:
    """The chunks of text files, as many as `rows`; a hundredth of the files is left out unless `more`."""
    found: Corpus = {}
    count = 0
    for number, path in enumerate(sorted(folder.rglob("*"))):
        if path.suffix not in (".txt", ".md", ".rst") or not path.is_file() or count >= rows:
            continue
        text = re.sub(r"\s+", " ", path.read_text(encoding="utf-8", errors="replace"))
        pieces = [text[at : at + 500] for at in range(0, len(text), 500)][: rows - count]
        count += len(pieces)
        if more or number % 100:
            found[str(path)] = pieces
    return found


class Case:
    """A corpus of one size in a folder."""

    def __init__(self, rows: int, texts: Path | None, folder: Path, questions: int, least: int) -> None:
        self.rows, self.texts, self.folder, self.number, self.least = rows, texts, folder, questions, least
        self.embedder = NumberEmbedder() if texts is None else OnnxEmbedder(model="minilm-l6-v2")
        self.cache = Cache(folder)
        self.corpora: dict[int, Corpus] = {}

    def corpus(self, more: int = 0) -> Corpus:
        """The corpus, with 1 % more documents where `more` is 1."""
        if more not in self.corpora:
            corpus = (
                numbered(self.rows, more) if self.texts is None else of_files(self.texts, self.rows, more)
            )
            self.corpora[more] = corpus
        return self.corpora[more]

    def vectors(self, more: int = 0) -> Any:
        """The index of the corpus, made as far as it is missing."""
        found, about = self.corpus(more), (self.rows, str(self.texts), more)
        indexer = VectorIndexer(self.embedder, Preparation(self.cache))

        def documents() -> list[TextsOf]:
            return [
                TextsOf(fingerprint(name, texts), len(texts), lambda texts=texts: texts)
                for name, texts in found.items()
            ]

        return indexer.index(fingerprint(about), [len(texts) for texts in found.values()], documents)

    def queries(self) -> Floats:
        """The vectors of the questions, about chunks that are spread over the corpus."""
        texts = [text for own in self.corpus().values() for text in own if len(text) > 4]
        some = texts[:: max(1, len(texts) // self.number)][: self.number]
        if self.texts is None:
            return np.stack([vector_of(f"{text} {number}") for number, text in enumerate(some)])
        return self.embedder.embed_queries([text[150:250] for text in some])


def build(case: Case) -> dict[str, Any]:
    return {"rows": len(case.vectors())}


def ivf(case: Case) -> dict[str, Any]:
    vectors = case.vectors()
    IvfStore(least=case.least).search(case.folder, vectors, np.ones((1, WIDTH), np.float32), 1)
    return {"bytes": IvfStore().nbytes(vectors)}


def one(case: Case) -> dict[str, Any]:
    found = exact_search(case.vectors(), case.queries()[:1], K)
    return {"best": found[0][0][1]}


def search(case: Case) -> dict[str, Any]:
    vectors, queries = case.vectors(), case.queries()
    figures: dict[str, Any] = {}
    exact, figures["exact"] = each(lambda some: exact_search(vectors, some, K), queries)
    _, figures["exact one by one"] = each(lambda some: exact_search(vectors, some, K), queries[:20], 1)
    IvfStore(least=case.least).search(case.folder, vectors, queries[:1], K)
    for groups in GROUPS:
        store = IvfStore(groups=groups, least=case.least)
        found, took = each(lambda some, store=store: store.search(case.folder, vectors, some, K), queries)
        ours, theirs = ([[at for at, _ in row] for row in rows] for rows in (found, exact))
        figures[f"ivf {groups}"] = {**took, "recall": recall(ours, theirs, K)}
        if groups == GROUPS[-1]:
            figures["ivf one by one"] = each(
                lambda some, store=store: store.search(case.folder, vectors, some, K), queries[:20], 1
            )[1]
    largest = max(vectors.segments, key=lambda segment: len(segment.vectors)).vectors
    spread = largest[:: max(1, len(largest) // 2_000)]
    figures["cosine of two chunks"] = float(np.mean(spread[::2] @ spread[1::2].T))
    figures["nearest"] = float(np.mean([row[0][1] for row in exact]))
    figures["tenth"] = float(np.mean([row[-1][1] for row in exact]))
    return figures


def each(
    work: Callable[[Floats], list[Any]], queries: Floats, at_once: int | None = None
) -> tuple[list[Any], dict[str, float]]:
    """Search for queries, all or some at once; returns what is found, and milliseconds a query."""
    found, started, cpu = [], time.perf_counter(), time.process_time()
    for start in range(0, len(queries), at_once or len(queries)):
        found += work(queries[start : start + (at_once or len(queries))])
    took = time.perf_counter() - started, time.process_time() - cpu
    return found, {"ms": 1000 * took[0] / len(queries), "cpu ms": 1000 * took[1] / len(queries)}


def add(case: Case) -> dict[str, Any]:
    vectors = case.vectors(1)
    return {"rows": len(vectors), "segments": len(vectors.segments)}


def compare(case: Case) -> dict[str, Any]:
    """Whether the extended index gives the same bytes as all vectors in memory."""
    vectors, queries = case.vectors(1), case.queries()
    whole = np.concatenate([case.embedder.embed(texts) for texts in case.corpus(1).values() if texts])
    same = exact_search(vectors, queries, K) == exact_search(whole, queries, K, block=5_000)
    return {"same": same}


PHASES = {phase.__name__: phase for phase in (build, ivf, one, search, add, compare)}


def phase(name: str, case: Case) -> dict[str, Any]:
    """Do one thing in this process, and say what it took."""
    most, ended = [0], threading.Event()

    def watch() -> None:
        while not ended.wait(0.02):
            status = Path("/proc/self/status").read_text()
            most[0] = max(most[0], int(re.search(r"RssAnon:\s+(\d+)", status)[1]))  # type: ignore[index]

    thread = threading.Thread(target=watch)
    thread.start()
    case.corpus(int(name in ("add", "compare")))
    before, started = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    figures = PHASES[name](case)
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF)
    ended.set()
    thread.join()
    case.cache.close()
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime - spent
    return {**figures, "s": seconds, "cpu s": cpu, "MB": most[0] / 1000, "load": os.getloadavg()[0]}


def phases(case: list[str], names: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Do everything with one size, each in a process of its own."""
    for name in names:
        command = [sys.executable, __file__, "--phase", name, *case]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        yield name, json.loads(done.stdout)


def size(folder: Path, pattern: str) -> float:
    """The megabytes of all files of a folder that fit a pattern."""
    return sum(path.stat().st_size for path in folder.glob(pattern) if path.is_file()) / 1e6


def main() -> int:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--least", type=int, default=20_000)
    parser.add_argument("--phase", choices=PHASES)
    options = parser.parse_args()
    if options.phase:
        case = Case(options.rows[0], options.texts, options.work, options.questions, options.least)
        print(json.dumps(phase(options.phase, case)))
        return 0
    good = True
    for rows in options.rows:
        folder = Path(tempfile.mkdtemp(dir=options.work))
        try:
            case = ["--rows", str(rows), "--work", str(folder), "--questions", str(options.questions)]
            case += [
                "--least",
                str(options.least),
                *(["--texts", str(options.texts)] if options.texts else []),
            ]
            compared = not options.texts and rows <= LARGEST_COMPARED
            for name, figures in phases(case, [each for each in PHASES if each != "compare" or compared]):
                shown = {
                    key: round(value, 4) if isinstance(value, float) else value
                    for key, value in figures.items()
                }
                print(f"{rows} {name}: {json.dumps(shown)}", flush=True)
                good &= figures.get("same", True)
                if name == "add":
                    vectors, whole = size(folder, "indexes/*/vectors.npy"), size(folder, "indexes/**/*")
                    sqlite = size(folder, "cache.sqlite*")
                    print(
                        f"{rows} MB: vectors {vectors:.0f}, tables {whole - vectors:.0f}, cache {sqlite:.0f}"
                    )
        finally:
            shutil.rmtree(folder)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
