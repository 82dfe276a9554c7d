"""The Docling parser (layout, tables, OCR), used by the second pipeline of the FATHOMS-RAG paper."""

from __future__ import annotations

import os
import socket
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from fathoms import hooks
from fathoms.errors import MissingExtraError, MissingWeightsError, ServerError
from fathoms.ingest.docling.options import (
    CdlaLayout,
    DoclingLayout,
    EasyOcr,
    Layout,
    Ocr,
    Stage,
    TableFormer,
    Tables,
)
from fathoms.pdf.parser import ElementKind, PdfParser
from fathoms.pdf.raw import to_document
from fathoms.safety.option_limits import MOST_AT_ONCE
from fathoms.types import OFFICE, PDF, Document

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OPENCV_FOR_THREADS_NUM")
"""Environment variables that bound the threads of the libraries in a child process."""
FORMAT_PACKAGES = {
    ".docx": ("docx", "python-docx"),
    ".htm": ("bs4", "beautifulsoup4"),
    ".html": ("bs4", "beautifulsoup4"),
    ".pptx": ("pptx", "python-pptx"),
}
"""The module and the package with which Docling reads a format that is not PDF, by suffix."""


class Docling(PdfParser):
    """Converts each page to Markdown with Docling; tables, pictures, formulas and code are also elements.

    The defaults are those of the paper: EasyOCR on every page at scale 3, TableFormer with cell matching, and
    Markdown without the text inside figures. Layout and table weights are downloaded from the Hugging Face
    hub. Documents are converted in long-lived worker processes, one per worker, each with its own converter.
    If a document crashes its process or hangs, its pages are converted one by one; pages that fail again are
    left empty and are named in the document's warnings.

    DOCX, PPTX and HTML files are read too, without a model: neither OCR nor layout analysis applies to them.
    The slides of a PPTX file are its pages; the text of a DOCX or HTML file is all on page 1.
    """

    inert: ClassVar[bool] = True
    kind: Literal["docling"] = "docling"
    revision: ClassVar[int] = 3
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
    reads: ClassVar[frozenset[str]] = OFFICE | {PDF}
    finds: ClassVar[frozenset[ElementKind]] = frozenset({"table", "picture", "formula", "code"})
    gives_boxes: ClassVar[bool] = True
    neutral: ClassVar[frozenset[str]] = PdfParser.neutral | {"page_timeout", "threads", "device"}
    export: ClassVar[frozenset[str]] = frozenset({"picture_text"})
    """Options that matter only after the conversion; changing them does not convert cached PDFs again."""

    ocr: Ocr = EasyOcr()
    """How text is recognised in images; `{kind: none}` turns OCR off."""
    layout: Layout = DoclingLayout()
    """The model that finds the blocks of a page: text, headings, tables, pictures."""
    tables: Tables = TableFormer()
    """The method that finds the rows and columns of tables."""
    picture_text: bool = False
    """Keep the text inside figures. Docling's Markdown drops it by default, and so did the paper."""
    timeout: float = Field(default=14_400, gt=0, le=864_000)
    """Time limit for one PDF in seconds. If the PDF has to be repeated page by page, all these pages together
    have the same limit again."""
    page_timeout: float = Field(default=600, gt=0, le=86_400)
    """Longest time in seconds without a completed page. After it, the conversion counts as hanging."""
    memory_mb: int = Field(default=8192, ge=64, le=1_048_576)
    """Memory limit in MiB: the address space that a process may take beyond its libraries and weights. There
    is no limit if a CUDA GPU is available."""
    threads: int | None = Field(default=None, ge=1, le=MOST_AT_ONCE)
    """Threads per process. By default the CPUs are divided among the workers."""
    device: str = "auto"
    """The device that runs the models: `auto`, `cpu`, `cuda`, `cuda:1` or `mps`."""

    @property
    def stages(self) -> dict[str, Stage]:
        """The options of each stage, by its configuration key."""
        return {"ocr": self.ocr, "layout": self.layout, "tables": self.tables}

    @property
    def needs_hub(self) -> bool:
        """Whether the stages use weights that the libraries download if they are not on this machine."""
        downloads = isinstance(self.ocr, EasyOcr) and self.ocr.weights is None
        return downloads or isinstance(self.layout, DoclingLayout) or isinstance(self.tables, TableFormer)

    def require(self) -> None:
        """Raise an error for a package or weights that are missing on this machine.

        Raises MissingExtraError for a package, UsageError for models whose extra was deleted, and
        MissingWeightsError, ChecksumError or ConfigError for weights. Weights that the libraries download are
        not checked here, because documents in the cache need none: `require_downloads` does.
        """
        packages = ["docling", "docling_core", "docling_parse"]
        packages += ["easyocr"] if isinstance(self.ocr, EasyOcr) else []
        packages += ["onnxruntime"] if isinstance(self.layout, CdlaLayout) else []
        for package in packages:
            if find_spec(package) is None:
                raise MissingExtraError(package, "docling", "ingest kind 'docling'")
        for stage in self.stages.values():
            if stage.provided_as is not None:
                hooks.require(stage.provided_as)
        missing: list[str] = []
        for stage in self.stages.values():
            try:
                stage.settings()
            except MissingWeightsError as error:
                missing += error.assets
        if missing:
            raise MissingWeightsError(*missing)
        if isinstance(self.ocr, EasyOcr):
            self.ocr.require_languages()

    def require_downloads(self) -> str:
        """Return which weights the libraries will download at their first use; raises ServerError, which
        names all of them, where that cannot be done."""
        from fathoms.models.weights.hub import ask_hub

        wanted = [(key, name) for key, stage in self.stages.items() for name in stage.to_download()]
        named = ", ".join(f"{name} ({key})" for key, name in wanted)
        try:
            for _, name in wanted:
                if name.startswith("EasyOCR"):
                    _require_easyocr_server()
                else:
                    ask_hub(name, None)
        except (ServerError, OSError) as error:
            raise ServerError(
                f"these weights are not on this machine and cannot be downloaded: {named} ({error});"
                " without a network, run 'fathoms models pull easyocr-en layout-cdla' and set ingest:"
                " {kind: docling, ocr: {kind: easyocr, weights: easyocr-en}, layout: {kind: cdla}, tables:"
                " {kind: geometric}}"
            ) from error
        return f"will be downloaded at first use: {named}" if wanted else ""

    def check_file(self, path: Path) -> None:
        """Raise DocumentError for a file that certainly cannot be read, and MissingExtraError if the package
        that reads its format is not installed."""
        super().check_file(path)
        module, package = FORMAT_PACKAGES.get(path.suffix.lower(), ("docling", "docling"))
        if find_spec(module) is None:
            raise MissingExtraError(package, "docling", f"{path.name} with ingest kind 'docling'")

    def identity(self) -> dict[str, Any]:
        """Return what the results depend on; weights are identified by their hash, not by name or path."""
        hashes = {name: stage.weights_hash() for name, stage in self.stages.items()}
        found = {**super().identity(), "weights": {name: known for name, known in hashes.items() if known}}
        for name in found["weights"]:
            del found["options"][name]["weights"]
        return found

    def native_identity(self) -> dict[str, Any]:
        """Return what the conversion depends on: `identity` without the options listed in `export`."""
        found = self.identity()
        options = {name: value for name, value in found["options"].items() if name not in self.export}
        return {**found, "options": options}

    def settings(self, threads: int) -> dict[str, Any]:
        """Return the settings that a process receives at its start, as plain data."""
        return {
            **{name: stage.settings() for name, stage in self.stages.items()},
            "picture_text": self.picture_text,
            "plugins": any(stage.provided_as for stage in self.stages.values()),
            "memory_mb": self.memory_mb,
            "threads": threads,
            "device": self.device,
        }

    def environment(self, threads: int) -> dict[str, str]:
        """Return the environment of a process.

        It limits threads, silences warnings, and keeps the libraries offline if no hub is needed.
        """
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
        """Convert a PDF in this process, without limits on time and memory.

        Slow for several files: every call builds a new converter. Raises what `require` raises, and
        RefusedError for a PDF that cannot be opened.
        """
        self.require()
        self.check_file(path)
        from fathoms.ingest.docling.convert import Converter
        from fathoms.ingest.docling.export import lost
        from fathoms.models.cpus import available_cpus

        converter = Converter(self.settings(self.threads or available_cpus()))
        answer = converter.read(path, 1, self.max_pages, lambda done, total: None)
        answer["raw"].get("warnings", []).extend(lost(answer["failed"]))
        document = to_document(path, answer["raw"], self.max_pages)
        return document.model_copy(update={"native": answer["native"]})

    def from_native(self, path: Path, sha256: str, native: str) -> Document:
        """Build a document from a cached conversion; this needs docling-core but no model."""
        from fathoms.ingest.docling.export import unpack

        raw = unpack(native).raw(self.picture_text)
        document = to_document(path, raw, self.max_pages, sha256)
        return document.model_copy(update={"native": native})


def _require_easyocr_server() -> None:
    """Raise OSError if the server of EasyOCR's files, or the proxy before it, takes no connection."""
    from urllib.parse import urlsplit
    from urllib.request import getproxies

    server = urlsplit(getproxies().get("https", "https://github.com"))
    socket.create_connection((server.hostname or "", server.port or 443), timeout=5).close()
