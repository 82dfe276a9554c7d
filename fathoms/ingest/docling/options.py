"""The options of Docling's stages: OCR, layout, tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from fathoms.config import Component
from fathoms.errors import ConfigError
from fathoms.models.weights.assets import ASSETS
from fathoms.models.weights.weights import Weights, digests, find, locate, verified
from fathoms.safety.inputs import expanded


class Stage(BaseModel):
    """The options of one stage: frozen, and no others."""

    model_config = Component.model_config

    def settings(self) -> dict[str, object]:
        """The options as the child process takes them; raises for weights that are not here."""
        return self.model_dump(mode="json")

    def weights_hash(self) -> dict[str, str]:
        """The sha256 of every file of weights, where they are files of ours."""
        return {}


class EasyOcr(Stage):
    """Text recognition by EasyOCR: CRAFT finds the words, a CRNN reads them."""

    kind: Literal["easyocr"] = "easyocr"
    full_page: bool = True
    """Read every page from its image and throw the PDF's own text away, as the paper did. Without it only
    what has no text in the PDF is read: scans, and figures that are images."""
    languages: tuple[str, ...] = Field(default=("en",), min_length=1)
    """EasyOCR's codes of the languages; they must share a recognition model."""
    scale: float = Field(default=3.0, gt=0, le=10)
    """Pixels a point at which a page is rendered: 3 is 216 dpi. Time and memory grow with its square."""
    weights: Weights | None = None
    """An asset or a folder with EasyOCR's files; if not given, EasyOCR downloads its own at first use."""

    def settings(self) -> dict[str, object]:
        """With the folder of the weights."""
        return {**super().settings(), "weights": None if self.weights is None else str(self.folder())}

    def weights_hash(self) -> dict[str, str]:
        """Of each model in the folder; EasyOCR's own download goes by EasyOCR's version."""
        if self.weights is None:
            return {}
        if self.weights in ASSETS:
            return digests(self.weights)
        models = sorted(self.folder().glob("*.pth"))
        return {name: digest for model in models for name, digest in digests(str(model)).items()}

    def folder(self) -> Path:
        """Where the weights are.

        Raises MissingWeightsError, ChecksumError for other files than were pinned, or ConfigError where there
        is no folder.
        """
        name = str(self.weights)
        if name in ASSETS:
            verified(name)  # EasyOCR unpickles them, which can run anything
            return find(name).folder
        folder = expanded(Path(name)).absolute()
        if not folder.is_dir():
            raise ConfigError(f"ingest.ocr.weights: {name} is no folder; give one with EasyOCR's files")
        return folder


class NoOcr(Stage):
    """The PDF's own text and nothing else."""

    kind: Literal["none"] = "none"


class DoclingLayout(Stage):
    """Docling's default layout model, from the hub at first use."""

    kind: Literal["docling"] = "docling"


class CdlaLayout(Stage):
    """A small layout model of ten classes by ONNX Runtime, in Docling's place for one; needs no hub."""

    kind: Literal["cdla"] = "cdla"
    weights: Weights = "layout-cdla"
    """An asset, or the path of the .onnx file."""

    def settings(self) -> dict[str, object]:
        """With the path of the weights."""
        return {**super().settings(), "weights": str(locate(self.weights).absolute())}

    def weights_hash(self) -> dict[str, str]:
        """Of the model."""
        return digests(self.weights)


class TableFormer(Stage):
    """Docling's own model of rows and columns, from the hub at first use."""

    kind: Literal["tableformer"] = "tableformer"
    cell_matching: bool = True
    """Take the words of a cell from the page, not from where the model saw one."""
    mode: Literal["accurate", "fast"] = "accurate"
    """The larger or the smaller model."""


class GeometricTables(Stage):
    """Rows and columns from ruling lines and from where the words stand; needs no weights."""

    kind: Literal["geometric"] = "geometric"


class NoTables(Stage):
    """Tables are found and kept as a region, without rows and columns."""

    kind: Literal["none"] = "none"


Ocr = Annotated[EasyOcr | NoOcr, Field(discriminator="kind")]
Layout = Annotated[DoclingLayout | CdlaLayout, Field(discriminator="kind")]
Tables = Annotated[TableFormer | GeometricTables | NoTables, Field(discriminator="kind")]
