"""Measures what the embedding of pages by their pictures takes, beside the bare Sentence Transformers.

    python benchmarks/pages [--size full] [--device cuda] [--batch 1 4 16] [--dpi 150 300] [--rounds 3]

Makes a ColQwen2 of random weights in bfloat16 (the released size, 2,209,182,336 parameters, or a small one),
renders the pages of the sample corpus, and measures:

- speed: seconds a page with `kind: multi-vector`, and with `encode_document` of Sentence Transformers, for
  the same loaded model and files, one after the other in every round; their ratio; the most memory of a GPU.
- parts: what a page takes before the model sees it.
- questions: questions a second, by both.
- float32: the speed in that precision, and how far the vectors of bfloat16 are from it.
- worker: the process in which runs embed.
- memory, on a GPU: its memory is filled until a batch does not fit. Prints the batches that were tried, and
  how far the vectors are from those of whole batches.

Ends with 1 if those are far, or if the ratio at the largest batch is over 1.2.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pypdfium2 as pdfium

sys.path.insert(0, str(Path(__file__).parent))
import model as made_model
from memory import difference, halve

from fathoms.ingest.workers.pdfium_images import LEVEL
from fathoms.models import MultiVectorEmbedder
from fathoms.models.embed import process
from fathoms.models.weights.hub import best_device, library

T = TypeVar("T")
GOAL = 1.2
SECTIONS = ("speed", "parts", "questions", "float32", "worker", "memory")
SAMPLE = Path(__file__).parents[2] / "data" / "sample"


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """The seconds that a call takes, and its result."""
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def rendered(folder: Path, dpi: int) -> list[Path]:
    """The pages of the sample corpus as PNG files, as fathoms renders them."""
    folder.mkdir()
    paths = []
    for path in sorted(SAMPLE.glob("*.pdf")):
        with pdfium.PdfDocument(path) as document:
            for number in range(len(document)):
                paths.append(folder / f"{path.stem}-{number + 1}.png")
                document[number].render(scale=dpi / 72).to_pil().convert("RGB").save(
                    paths[-1], compress_level=LEVEL
                )
    return paths


def texts() -> list[str]:
    """The texts of all pages."""
    found = []
    for path in sorted(SAMPLE.glob("*.pdf")):
        with pdfium.PdfDocument(path) as document:
            found += [page.get_textpage().get_text_range() for page in document]
    return found


def questions() -> list[str]:
    """The questions of the sample corpus."""
    rows = json.loads((SAMPLE / "questions.json").read_text())
    rows = rows if isinstance(rows, list) else [row for part in rows.values() for row in part]
    return [row["question"] for row in rows]


def opened(paths: Sequence[Path]) -> list[Any]:
    """Pictures as the library takes them."""
    from PIL import Image

    return [Image.open(path).convert("RGB") for path in paths]


class Bench:
    """The model, the pages at each resolution, and what was measured, which is also printed."""

    def __init__(self, options: argparse.Namespace, work: Path) -> None:
        self.options = options
        self.device: str = options.device or best_device()
        self.folder: Path = options.model or work / "model"
        words = [*texts(), *questions()]
        seconds, self.parameters = timed(
            lambda: made_model.make(self.folder, options.size, words, self.device)
        )
        result = {dpi: timed(partial(rendered, work / f"pages-{dpi}", dpi)) for dpi in options.dpi}
        self.pages = {dpi: paths for dpi, (_, paths) in result.items()}
        self.rendering = {dpi: took / len(paths) for dpi, (took, paths) in result.items()}
        self.kept: dict[str, Any] = {
            "machine": machine(self.device),
            "parameters": self.parameters,
            "made_s": round(seconds, 1),
        }
        print(json.dumps(self.kept["machine"]))
        print(f"{self.parameters:,} parameters, made and saved in {seconds:.0f} s", flush=True)

    def embedder(self, dtype: str = "auto", batch: int = 4) -> MultiVectorEmbedder:
        """The embedder of fathoms."""
        return MultiVectorEmbedder(
            model=str(self.folder), device=self.options.device, dtype=dtype, batch_size=batch
        )

    def keep(self, table: str, **row: Any) -> None:
        """Note a row of a table, and print it."""
        row = {name: round(value, 5) if isinstance(value, float) else value for name, value in row.items()}
        self.kept.setdefault(table, []).append(row)
        print(f"{table}: " + ", ".join(f"{name} {value}" for name, value in row.items()), flush=True)
        if self.options.json:
            self.options.json.write_text(json.dumps(self.kept, indent=1))

    def speed(self, dtype: str, dpi: int, batch: int) -> float:
        """Measure seconds a page of both, and return their ratio."""
        embedder, paths = self.embedder(dtype, batch), self.pages[dpi]
        embedder.embed_pages(paths[:batch])  # loads the model, and warms up
        loaded = embedder._model()
        encode = partial(loaded.encode_document, show_progress_bar=False, convert_to_numpy=True)
        found: dict[str, list[float]] = {"fathoms": [], "bare": []}
        peak = Peak(self.device)
        for _ in range(self.options.rounds):
            found["fathoms"].append(timed(lambda: embedder.embed_pages(paths))[0])
            found["bare"].append(timed(lambda: encode(opened(paths), batch_size=batch))[0])
        of_page = {name: statistics.median(seconds) / len(paths) for name, seconds in found.items()}
        ratio = statistics.median(
            ours / theirs for ours, theirs in zip(found["fathoms"], found["bare"], strict=True)
        )
        self.keep(
            "speed",
            dtype=str(next(loaded.parameters()).dtype),
            dpi=dpi,
            batch=batch,
            pages=len(paths),
            fathoms_s_a_page=of_page["fathoms"],
            bare_s_a_page=of_page["bare"],
            ratio=ratio,
            least_s_a_page=min(found["fathoms"]) / len(paths),
            **peak.read(),
        )
        return ratio

    def parts(self, dpi: int, batch: int) -> None:
        """Measure what a page takes before the model sees it: its file is opened, and patches are made."""
        loaded, paths = self.embedder(batch=batch)._model(), self.pages[dpi]
        seconds, pictures = timed(lambda: opened(paths))
        parts = [pictures[at : at + batch] for at in range(0, len(pictures), batch)]
        prepared = timed(lambda: [loaded.preprocess(part, task="document") for part in parts])[0]
        self.keep(
            "parts",
            dpi=dpi,
            pixels=pictures[0].size,
            render_s_a_page=self.rendering[dpi],
            open_s_a_page=seconds / len(paths),
            preprocess_s_a_page=prepared / len(paths),
        )

    def in_worker(self, dpi: int, batch: int) -> None:
        """Measure the worker process that runs use, after its start."""
        embedder, paths = self.embedder(batch=batch), self.pages[dpi]
        started = timed(lambda: process.check(embedder))[0]
        process.embed_pages(embedder, paths[:batch])
        seconds = [timed(lambda: process.embed_pages(embedder, paths))[0] for _ in range(self.options.rounds)]
        there = process.embed_pages(embedder, paths[:batch])
        here = embedder.embed_pages(paths[:batch])
        self.keep(
            "worker",
            start_s=started,
            batch=batch,
            s_a_page=statistics.median(seconds) / len(paths),
            largest_difference=difference(here, there),
        )

    def measure_questions(self, batch: int) -> None:
        """Measure questions."""
        embedder, texts = self.embedder(batch=batch), questions()
        found = embedder.embed_questions(texts)
        tries = [timed(lambda: embedder.embed_questions(texts))[0] for _ in range(self.options.rounds)]
        encode = partial(embedder._model().encode_query, show_progress_bar=False, convert_to_numpy=True)
        bare = [timed(lambda: encode(texts, batch_size=batch))[0] for _ in range(self.options.rounds)]
        self.keep(
            "questions",
            batch=batch,
            questions=len(texts),
            vectors=statistics.mean(map(len, found)),
            fathoms_a_s=len(texts) / statistics.median(tries),
            bare_a_s=len(texts) / statistics.median(bare),
        )

    def precision(self, dpi: int) -> None:
        """Compare the vectors of bfloat16 in several batches with those of float32."""
        paths = self.pages[dpi][:8]
        exact = self.embedder("float32", 1).embed_pages(paths)
        self.keep("precision", what="vectors", shape=exact[0].shape, finite=bool(np.isfinite(exact[0]).all()))
        for dtype, batch in (("float32", 4), ("auto", 1), ("auto", 4), ("auto", 8)):
            found = self.embedder(dtype, batch).embed_pages(paths)
            self.keep(
                "precision",
                dtype=dtype,
                batch=batch,
                largest_difference=difference(found, exact),
                least_cosine=cosine(found, exact),
            )


class Peak:
    """The most memory of the GPU that torch has taken since this was made, in GB; nothing on a CPU."""

    def __init__(self, device: str) -> None:
        import torch

        self.cuda = torch.cuda if device.startswith("cuda") else None
        if self.cuda:
            self.cuda.reset_peak_memory_stats()

    def read(self) -> dict[str, float]:
        """What tensors took, and what torch reserved for them."""
        if not self.cuda:
            return {}
        found = {"peak": self.cuda.max_memory_allocated(), "reserved": self.cuda.max_memory_reserved()}
        return {f"{name}_gb": size / 1e9 for name, size in found.items()}


def cosine(one: Sequence[Any], other: Sequence[Any]) -> float:
    """The least cosine of a vector and its counterpart."""
    return min(
        float(((a * b).sum(axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)).min())
        for a, b in zip(one, other, strict=True)
    )


def machine(device: str) -> dict[str, Any]:
    """What the figures depend on."""
    import sentence_transformers
    import torch
    import transformers

    name = torch.cuda.get_device_name() if device.startswith("cuda") else platform.processor()
    return {
        "device": device,
        "name": name,
        "cpus": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "sentence_transformers": sentence_transformers.__version__,
    }


def main() -> int:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--size", choices=made_model.SIZES, default="full")
    parser.add_argument("--device", help="the best one of the machine by default")
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--dpi", type=int, nargs="+", default=[150, 300])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", type=Path, help="a folder with room for the model (4.4 GB)")
    parser.add_argument("--model", type=Path, help="a folder to keep the model in")
    parser.add_argument("--json", type=Path, help="a file for the figures")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS)
    options = parser.parse_args()
    importing = timed(library)[0]
    with tempfile.TemporaryDirectory(dir=options.work) as folder:
        bench = Bench(options, Path(folder))
        loading = timed(lambda: bench.embedder().check())[0]
        bench.keep("start", import_s=importing, load_s=loading)
        return 0 if measure(bench, options) else 1


def measure(bench: Bench, options: argparse.Namespace) -> bool:
    """Measure the sections that are wanted, and return whether the goals are met."""
    dpi, batches, met = options.dpi[0], options.batch, True
    if "speed" in options.only:
        met = [bench.speed("auto", dpi, batch) for batch in batches][-1] <= GOAL
        for other in options.dpi[1:]:
            bench.speed("auto", other, 4)
    if "parts" in options.only:
        for each in options.dpi:
            bench.parts(each, 4)
    if "questions" in options.only:
        for batch in sorted({4, batches[-1]}):
            bench.measure_questions(batch)
    if "float32" in options.only:
        bench.speed("float32", dpi, 4)
        bench.precision(dpi)
    if "worker" in options.only:
        bench.in_worker(dpi, 4)
    if "memory" in options.only and bench.device.startswith("cuda"):
        met &= halve(bench, dpi, batches[-1])
    return met


if __name__ == "__main__":
    sys.exit(main())
