"""Turns an exception from building the Docling converter into an error that tells the user what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fathoms.errors import ConfigError, FathomsError, ModelError
from fathoms.ingest.docling.options import EasyOcr

if TYPE_CHECKING:
    from fathoms.ingest.docling.parser import Docling

HUB = ("huggingface_hub.errors.", "httpx.")
DOWNLOAD = ("urllib.error.",)
LANGUAGE = ("docling.exceptions.OcrLanguage",)


def unusable(parser: Docling, classes: Sequence[str], said: str) -> FathomsError:
    """Return the error for a converter that cannot be built: ConfigError for wrong options, else ModelError.

    `classes` are the qualified class names, bases included, of the exception and of its causes; `said` is its
    message. The exception itself was raised in a child process.
    """
    ocr = parser.ocr
    if _any(classes, HUB):
        return ModelError(
            "ingest kind 'docling': the weights of Docling's layout and table models are not on this machine"
            " and the hub cannot be reached; connect once, or set 'layout: {kind: cdla}' and"
            " 'tables: {kind: geometric}' and run 'fathoms models pull layout-cdla'"
        )
    if _any(classes, DOWNLOAD):
        return ModelError(
            "ingest kind 'docling': EasyOCR's weights are not on this machine and cannot be downloaded;"
            " connect once, or set 'ocr: {kind: easyocr, weights: easyocr-en}' and run"
            " 'fathoms models pull easyocr-en'"
        )
    if isinstance(ocr, EasyOcr) and _any(classes, LANGUAGE):
        return ConfigError(f"ingest.ocr.languages: EasyOCR does not know {list(ocr.languages)}: {said}")
    if isinstance(ocr, EasyOcr) and ocr.weights is not None and "downloads disabled" in said:
        return ConfigError(
            f"ingest.ocr.weights: '{ocr.weights}' lacks what {list(ocr.languages)} needs: {said}"
        )
    return ModelError(f"ingest kind 'docling': the converter cannot be made: {said}")


def _any(classes: Sequence[str], prefixes: tuple[str, ...]) -> bool:
    """Return whether one of the qualified class names begins with one of the prefixes."""
    return any(name.startswith(prefixes) for name in classes)
