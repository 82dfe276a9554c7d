"""The configuration of the Docling parser's stages: OCR, layout analysis and table structure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from fathoms.component import Component, Loads
from fathoms.errors import ConfigError
from fathoms.models.weights.assets import ASSETS
from fathoms.models.weights.weights import WEIGHTS, Weights, digests, files, find, locate
from fathoms.safety.inputs import expanded


class Stage(Component):
    """The options of one stage of the conversion."""

    inert: ClassVar[bool] = True

    def settings(self) -> dict[str, object]:
        """Return the options as plain data for the child process, with weights resolved to paths.

        Raises MissingWeightsError, ChecksumError or ConfigError for weights that cannot be used.
        """
        return self.model_dump(mode="json")

    def weights_hash(self) -> dict[str, str]:
        """Return the sha256 of each weights file by name; empty if the library downloads its own weights."""
        return {}


class EasyOcr(Stage):
    """Text recognition with EasyOCR: the CRAFT model detects words, a CRNN model reads them."""

    loads: ClassVar[Mapping[str, Loads]] = {"weights": WEIGHTS}

    kind: Literal["easyocr"] = "easyocr"
    full_page: bool = True
    """Run OCR on every page and discard the text of the PDF, as in the paper. If false, OCR is run only on
    parts without text in the PDF: scanned pages, and figures that are bitmaps."""
    languages: tuple[str, ...] = Field(default=("en",), min_length=1)
    """EasyOCR's language codes; the languages must share a recognition model."""
    scale: float = Field(default=3.0, gt=0, le=10)
    """Resolution at which pages are rendered for OCR, in pixels per point; 3 is 216 dpi. Time and memory grow
    with its square."""
    weights: Weights | None = None
    """An asset, or a folder with EasyOCR's model files. By default EasyOCR downloads its models at first
    use."""

    def settings(self) -> dict[str, object]:
        """Return the options with the weights as the path of their folder, `None` for EasyOCR's own."""
        return {**super().settings(), "weights": None if self.weights is None else str(self.folder())}

    def weights_hash(self) -> dict[str, str]:
        """Return the sha256 of each model file; empty for EasyOCR's own, which depend on its version."""
        if self.weights is None:
            return {}
        if self.weights in ASSETS:
            return digests(self.weights)
        models = sorted(self.folder().glob("*.pth"))
        return {name: digest for model in models for name, digest in digests(str(model)).items()}

    def folder(self) -> Path:
        """Return the folder of the weights.

        Raises MissingWeightsError for an asset that is not on this machine, ChecksumError if its files differ
        from the pinned ones, and ConfigError for a path that is not a folder.
        """
        name = str(self.weights)
        if name in ASSETS:
            files(name, rehash=True)  # EasyOCR unpickles these files, which can run arbitrary code
            return find(name).folder
        folder = expanded(Path(name)).absolute()
        if not folder.is_dir():
            raise ConfigError(f"ingest.ocr.weights: {name} is not a folder; give one with EasyOCR's files")
        return folder


class NoOcr(Stage):
    """No OCR: only the text that the PDF contains is used."""

    kind: Literal["none"] = "none"


class DoclingLayout(Stage):
    """Docling's default layout model, downloaded from the Hugging Face hub at first use."""

    kind: Literal["docling"] = "docling"


class CdlaLayout(Stage):
    """A small layout model with ten classes, run with ONNX Runtime in place of Docling's; it needs no hub."""

    loads: ClassVar[Mapping[str, Loads]] = {"weights": WEIGHTS}

    kind: Literal["cdla"] = "cdla"
    weights: Weights = "layout-cdla"
    """An asset, or the path of an `.onnx` file."""

    def settings(self) -> dict[str, object]:
        """Return the options with the weights as an absolute path."""
        return {**super().settings(), "weights": str(locate(self.weights).absolute())}

    def weights_hash(self) -> dict[str, str]:
        """Return the sha256 of the model file."""
        return digests(self.weights)


class TableFormer(Stage):
    """Docling's TableFormer model of rows and columns, downloaded from the Hugging Face hub at first use."""

    kind: Literal["tableformer"] = "tableformer"
    cell_matching: bool = True
    """Match the predicted cells with the words on the page. If false, the text of a cell is what lies within
    the box that the model predicts for it."""
    mode: Literal["accurate", "fast"] = "accurate"
    """Which of the two models to use: `accurate` is the larger one, `fast` the smaller one."""


class GeometricTables(Stage):
    """Rows and columns derived from ruling lines and word positions; needs no weights."""

    kind: Literal["geometric"] = "geometric"


class NoTables(Stage):
    """No table structure: tables are detected as regions, but rows and columns are not."""

    kind: Literal["none"] = "none"


Ocr = Annotated[EasyOcr | NoOcr, Field(discriminator="kind")]
Layout = Annotated[DoclingLayout | CdlaLayout, Field(discriminator="kind")]
Tables = Annotated[TableFormer | GeometricTables | NoTables, Field(discriminator="kind")]
