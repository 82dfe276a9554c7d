"""The configuration of the Docling parser's stages: OCR, layout analysis and table structure."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from fathoms.component import Component, Loads
from fathoms.errors import ConfigError
from fathoms.models.weights.assets import ASSETS
from fathoms.models.weights.weights import WEIGHTS, Weights, digests, files, find, locate
from fathoms.safety.inputs import expanded


class Stage(Component):
    """The options of one stage of the conversion."""

    inert: ClassVar[bool] = True
    provided_as: ClassVar[str | None] = None
    """The name under which an extra provides the model, as one of Docling's plugins; `None` for Docling's own
    models."""

    def settings(self) -> dict[str, object]:
        """Return the options as plain data for the child process, with weights resolved to paths.

        Raises MissingWeightsError, ChecksumError or ConfigError for weights that cannot be used.
        """
        return self.model_dump(mode="json")

    def weights_hash(self) -> dict[str, str]:
        """Return the sha256 of each weights file by name; empty if the library downloads its own weights."""
        return {}

    def to_download(self) -> tuple[str, ...]:
        """Return the weights that the library would download at its first use, because they are not on this
        machine."""
        return ()


_RECOGNISERS = {
    **{"th": "thai_g1", "ch_tra": "zh_tra_g1", "ch_sim": "zh_sim_g2", "ja": "japanese_g2"},
    **{"ko": "korean_g2", "ta": "tamil_g1", "te": "telugu_g2", "kn": "kannada_g2"},
}
"""EasyOCR's recognition models of single languages, and below of groups, in the order in which it chooses."""
_RECOGNISERS_OF_GROUPS = {
    "bengali": "bengali_g1",
    "arabic": "arabic_g1",
    "devanagari": "devanagari_g1",
    "cyrillic": "cyrillic_g2",
    "latin": "latin_g2",
}


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

    def to_download(self) -> tuple[str, ...]:
        """Return the files of EasyOCR that are not in its own folder."""
        return tuple(f"EasyOCR's {name}" for name in self._lacking()) if self.weights is None else ()

    def require_languages(self) -> None:
        """Raise ConfigError if the given weights have not all that the languages need."""
        if self.weights is not None and (lacking := self._lacking()):
            raise ConfigError(
                f"ingest.ocr: {', '.join(self.languages)} needs {' and '.join(lacking)}, which"
                f" {self.weights} does not have: give a folder with EasyOCR's files of these languages, or"
                " leave 'weights' out, so that EasyOCR downloads them"
            )

    def _lacking(self) -> list[str]:
        """Return the names of the files that the languages need and the folder does not have."""
        spec = find_spec("easyocr")
        if spec is None or spec.origin is None:
            return []
        # the package itself would import torch; this file of it holds only names
        known = run_path(str(Path(spec.origin).with_name("config.py")))
        models = {
            name: each for group in known["recognition_models"].values() for name, each in group.items()
        }
        chosen = self._recogniser(known)
        wanted = [known["detection_models"]["craft"]["filename"]]
        wanted += [models[chosen]["filename"]] if chosen in models else []
        folder = Path(known["MODULE_PATH"], "model") if self.weights is None else self.folder()
        return [name for name in wanted if not (folder / name).is_file()]

    def _recogniser(self, known: Mapping[str, Any]) -> str | None:
        """Return the name of the recognition model that EasyOCR chooses for the languages; `None` for codes
        that are not EasyOCR's, which Docling translates."""
        languages = set(self.languages)
        if languages == {"en"}:
            return "english_g2"
        if found := next((name for code, name in _RECOGNISERS.items() if code in languages), None):
            return found
        groups = _RECOGNISERS_OF_GROUPS.items()
        return next((name for group, name in groups if languages & set(known[f"{group}_lang_list"])), None)

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


def _not_in_hub_cache(name: str) -> tuple[str, ...]:
    """Return the name of a model of Docling if it is neither in the hub's cache nor in the folder that
    Docling is given by its environment variable."""
    from huggingface_hub.constants import HF_HUB_CACHE

    folder = name.replace("/", "--")
    given = os.environ.get("DOCLING_ARTIFACTS_PATH")
    snapshots = Path(given, folder) if given else Path(HF_HUB_CACHE, f"models--{folder}", "snapshots")
    return () if snapshots.is_dir() and any(snapshots.iterdir()) else (name,)


class DoclingLayout(Stage):
    """Docling's default layout model, downloaded from the Hugging Face hub at first use."""

    kind: Literal["docling"] = "docling"

    def to_download(self) -> tuple[str, ...]:
        """Return the name of the model on the hub, unless the hub's cache has it."""
        return _not_in_hub_cache("docling-project/docling-layout-heron")


class CdlaLayout(Stage):
    """A small layout model with ten classes, run with ONNX Runtime in place of Docling's; it needs no hub."""

    loads: ClassVar[Mapping[str, Loads]] = {"weights": WEIGHTS}

    kind: Literal["cdla"] = "cdla"
    provided_as: ClassVar[str] = "ingest.layout kind 'cdla'"
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

    def to_download(self) -> tuple[str, ...]:
        """Return the name of both models on the hub, unless the hub's cache has them."""
        return _not_in_hub_cache("docling-project/docling-models")


class GeometricTables(Stage):
    """Rows and columns derived from ruling lines and word positions; needs no weights."""

    kind: Literal["geometric"] = "geometric"
    provided_as: ClassVar[str] = "ingest.tables kind 'geometric'"


class NoTables(Stage):
    """No table structure: tables are detected as regions, but rows and columns are not."""

    kind: Literal["none"] = "none"


Ocr = Annotated[EasyOcr | NoOcr, Field(discriminator="kind")]
Layout = Annotated[DoclingLayout | CdlaLayout, Field(discriminator="kind")]
Tables = Annotated[TableFormer | GeometricTables | NoTables, Field(discriminator="kind")]
