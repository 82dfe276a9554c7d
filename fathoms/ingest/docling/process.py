"""The parent's side of a long-lived child process that converts documents with Docling."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathoms.errors import ConfigError, FathomsError, ModelError
from fathoms.executors import OnPage
from fathoms.ingest.docling.options import EasyOcr
from fathoms.pdf.child import death, memory_advice, time_advice
from fathoms.pdf.raw import RawDocument
from fathoms.safety.children import ChildEndedError, Children

if TYPE_CHECKING:
    from fathoms.ingest.docling.parser import Docling

WORKER = "fathoms.ingest.docling.worker"
START = 600
"""Time limit in seconds for loading the libraries and local weights."""
DOWNLOAD = 7200
"""Time limit in seconds for the same where weights may have to be downloaded first."""

NO_MEMORY = ("bad_alloc", "MemoryError", "allocate", "Resource temporarily unavailable")
"""Parts of library error messages that mean a lack of memory; the last appears when no thread can start."""

FROM_HUB = ("huggingface_hub.errors.", "httpx.")
FROM_DOWNLOAD = ("urllib.error.",)
FROM_LANGUAGE = ("docling.exceptions.OcrLanguage",)
"""Beginnings of the names of the exceptions that a missing hub, download or OCR language causes."""


class BreakdownError(Exception):
    """A conversion failed as a whole; `reason` is one of DocumentError's, `detail` a sentence for the user.

    `pages` is the number of pages to convert. `None` means that a retry page by page makes no sense: the
    number is not known, or the converter reported that the file itself cannot be converted.
    """

    def __init__(self, reason: str, detail: str, pages: int | None) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail
        self.pages = pages


class Converted:
    """The answer to a request; its fields are those of `convert.Answer`."""

    def __init__(self, message: dict[str, Any]) -> None:
        self.raw: RawDocument = message["raw"]
        self.native: str = message["native"]
        self.failed = {int(number): str(reason) for number, reason in message["failed"].items()}


class DoclingProcess:
    """A child process with its own Docling converter; the constructor waits until its models are loaded.

    The constructor raises ConfigError or ModelError (see `unusable`) if the converter cannot be built.
    """

    def __init__(self, parser: Docling, children: Children, threads: int) -> None:
        self._parser = parser
        self.child = children.start(WORKER, stderr="log", env=parser.environment(threads))
        self.child.send(parser.settings(threads))
        try:
            message, _ = self.child.receive(DOWNLOAD if parser.needs_hub else START)
            problem = message.get("unusable")
        except TimeoutError:
            problem = {"classes": [], "said": "did not start in time"}
        except ChildEndedError as ended:
            problem = {"classes": [], "said": explain(parser, *death(parser, ended))[1]}
        if problem is not None:
            self.child.end()
            raise unusable(parser, problem["classes"], problem["said"])

    def convert(self, path: Path, first: int, last: int, seconds: float, on_page: OnPage) -> Converted:
        """Convert the pages from `first` to `last` of a file within `seconds`.

        Raises BreakdownError if the file cannot be converted, the process dies or the time is up. In the last
        two cases the process has ended.
        """
        parser, pages = self._parser, None
        deadline = time.monotonic() + seconds
        self.child.send({"path": str(path.absolute()), "first": first, "last": last})
        while True:
            left = deadline - time.monotonic()
            try:
                message, _ = self.child.receive(min(left, parser.page_timeout))
            except TimeoutError:
                self.child.end()
                advice = f"finished no page within {parser.page_timeout:g} s"
                advice += "; raise page_timeout, or leave it out"
                if left < parser.page_timeout:
                    advice = time_advice(seconds)
                raise BreakdownError("timeout", advice, pages) from None
            except ChildEndedError as ended:
                self.child.end()
                raise BreakdownError(*explain(parser, *death(parser, ended)), pages) from None
            if "page" in message:
                done, pages = message["page"]
                on_page(done, pages)
            elif "error" in message:
                raise BreakdownError(*explain(parser, *message["error"]), None)
            else:
                return Converted(message)


def explain(parser: Docling, reason: str, detail: str) -> tuple[str, str]:
    """Return the reason and the sentence, replaced by `memory` and advice if the text hints at low memory."""
    if not detail or any(sign in detail for sign in NO_MEMORY):
        return "memory", memory_advice(parser)
    return reason, detail


def unusable(parser: Docling, classes: Sequence[str], said: str) -> FathomsError:
    """Return the error for a converter that cannot be built: ConfigError for wrong options, else ModelError.

    `classes` are the qualified class names, bases included, of the exception and of its causes; `said` is its
    message. The exception itself was raised in a child process.
    """

    def raised(prefixes: tuple[str, ...]) -> bool:
        return any(name.startswith(prefixes) for name in classes)

    ocr = parser.ocr
    if raised(FROM_HUB):
        return ModelError(
            "ingest kind 'docling': the weights of Docling's layout and table models are not on this machine"
            " and the hub cannot be reached; connect once, or set 'layout: {kind: cdla}' and"
            " 'tables: {kind: geometric}' and run 'fathoms models pull layout-cdla'"
        )
    if raised(FROM_DOWNLOAD):
        return ModelError(
            "ingest kind 'docling': EasyOCR's weights are not on this machine and cannot be downloaded;"
            " connect once, or set 'ocr: {kind: easyocr, weights: easyocr-en}' and run"
            " 'fathoms models pull easyocr-en'"
        )
    if isinstance(ocr, EasyOcr) and raised(FROM_LANGUAGE):
        return ConfigError(f"ingest.ocr.languages: EasyOCR does not know {list(ocr.languages)}: {said}")
    if isinstance(ocr, EasyOcr) and ocr.weights is not None and "downloads disabled" in said:
        return ConfigError(
            f"ingest.ocr.weights: '{ocr.weights}' lacks what {list(ocr.languages)} needs: {said}"
        )
    return ModelError(f"ingest kind 'docling': the converter could not be created: {said}")
