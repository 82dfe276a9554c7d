"""Docling: layout, tables and OCR. The parser of the FATHOMS-RAG paper's second pipeline."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from fathoms.errors import MissingExtraError
from fathoms.ingest.docling.options import (
    CdlaLayout,
    DoclingLayout,
    EasyOcr,
    GeometricTables,
    Layout,
    Ocr,
    Stage,
    TableFormer,
    Tables,
)
from fathoms.ingest.parsers.base import ElementKind, PdfParser
from fathoms.ingest.parsers.reading import check_source, to_document
from fathoms.safety.limits import MOST_AT_ONCE
from fathoms.types import Document

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OPENCV_FOR_THREADS_NUM")


class Docling(PdfParser):
    """Each page as Docling's Markdown, with its tables, pictures, formulas and code as elements.

    The defaults are the paper's: every page by EasyOCR at scale 3, tables by TableFormer with cell
    matching, Markdown without the text inside figures; layout and table weights come from the hub.
    Documents are converted in as many lasting processes as there are workers, each with a converter of its
    own. Where a document takes its process down or hangs, it is tried again page by page, and the pages
    that fail again are left empty and named in its warnings.
    """

    kind: Literal["docling"] = "docling"
    packages: ClassVar[tuple[str, ...]] = (
        "docling-slim",
        "docling-core",
        "docling-parse",
        "docling-ibm-models",
        "easyocr",
        "torch",
    )
    extra: ClassVar[str | None] = "docling"
    native: ClassVar[str | None] = "docling"
    finds: ClassVar[frozenset[ElementKind]] = frozenset({"table", "picture", "formula", "code"})
    neutral: ClassVar[frozenset[str]] = PdfParser.neutral | {"page_timeout", "threads", "device"}
    export: ClassVar[frozenset[str]] = frozenset({"picture_text"})
    """The options that only matter once a PDF is converted: they are in no fingerprint of the conversion."""

    ocr: Ocr = EasyOcr()
    """How text is read from images, or `{kind: none}`."""
    layout: Layout = DoclingLayout()
    """What finds the blocks of a page."""
    tables: Tables = TableFormer()
    """What finds rows and columns."""
    picture_text: bool = False
    """Keep the text inside figures, which Docling's Markdown drops by default (and the paper's with it)."""
    timeout: float = Field(default=14_400, gt=0, le=864_000)
    """Seconds that one PDF may take, and again that long page by page."""
    page_timeout: float = Field(default=600, gt=0, le=86_400)
    """Seconds in which a page must be done: a document of which none is for so long hangs."""
    memory_mb: int = Field(default=8192, ge=64, le=1_048_576)
    """MiB of address space that a process may take beyond libraries and weights; not limited on a GPU."""
    threads: int | None = Field(default=None, ge=1, le=MOST_AT_ONCE)
    """Threads of each process; by default the CPUs are shared out among the workers."""
    device: str = "auto"
    """Where the models run: auto, cpu, cuda, cuda:1, mps."""

    @property
    def stages(self) -> dict[str, Stage]:
        """The options of each stage, by its key."""
        return {"ocr": self.ocr, "layout": self.layout, "tables": self.tables}

    @property
    def needs_hub(self) -> bool:
        """Whether weights come from outside when they are not yet on this machine."""
        downloads = isinstance(self.ocr, EasyOcr) and self.ocr.weights is None
        return downloads or isinstance(self.layout, DoclingLayout) or isinstance(self.tables, TableFormer)

    def require(self) -> None:
        """Raise MissingExtraError, MissingWeightsError or ConfigError for what is not here.

        Whether the hub's weights can be had is only known when the first process loads them.
        """
        packages = ["docling", "docling_core", "docling_parse"]
        packages += ["easyocr"] if isinstance(self.ocr, EasyOcr) else []
        packages += ["onnxruntime"] if isinstance(self.layout, CdlaLayout) else []
        for package in packages:
            if find_spec(package) is None:
                raise MissingExtraError(package, "docling", "ingest kind 'docling'")
        for stage in self.stages.values():
            stage.settings()

    def identity(self) -> dict[str, Any]:
        """The weights count by their hash, not by their name or place."""
        hashes = {name: stage.weights_hash() for name, stage in self.stages.items()}
        found = {**super().identity(), "weights": {name: known for name, known in hashes.items() if known}}
        for name in found["weights"]:
            del found["options"][name]["weights"]
        return found

    def native_identity(self) -> dict[str, Any]:
        """Without the options of the export: another `picture_text` converts nothing again."""
        found = self.identity()
        options = {name: value for name, value in found["options"].items() if name not in self.export}
        return {**found, "options": options}

    def settings(self, threads: int) -> dict[str, Any]:
        """What a process is told before its first file, as plain data."""
        return {
            **{name: stage.settings() for name, stage in self.stages.items()},
            "picture_text": self.picture_text,
            "plugins": isinstance(self.layout, CdlaLayout) or isinstance(self.tables, GeometricTables),
            "memory_mb": self.memory_mb,
            "threads": threads,
            "device": self.device,
        }

    def environment(self, threads: int) -> dict[str, str]:
        """The environment of a process: bounded threads, quiet libraries, no hub where none is needed."""
        bounds = dict.fromkeys(THREAD_VARIABLES, str(threads))
        offline = {} if self.needs_hub else {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
        return {
            **os.environ,
            **bounds,
            **offline,
            "TOKENIZERS_PARALLELISM": "false",
            "PYTHONWARNINGS": "ignore",
        }

    def parse(self, path: Path) -> Document:
        """Convert a PDF in this process, with no limits; the converter is made anew for every call."""
        self.require()
        check_source(path)
        from fathoms.ingest.docling.convert import Converter
        from fathoms.ingest.docling.export import lost
        from fathoms.models.cpus import available_cpus

        converter = Converter(self.settings(self.threads or available_cpus()))
        answer = converter.read(path, 1, self.max_pages, lambda done, total: None)
        answer["reading"].get("warnings", []).extend(lost(answer["failed"]))
        document = to_document(path, answer["reading"], self.max_pages)
        return document.model_copy(update={"native": answer["native"]})

    def from_native(self, path: Path, sha256: str, native: str) -> Document:
        """The document of a conversion that was kept; needs docling-core and no model."""
        from fathoms.ingest.docling.export import unpack

        reading = unpack(native).reading(self.picture_text)
        document = to_document(path, reading, self.max_pages, sha256)
        return document.model_copy(update={"native": native})
