"""Keeps a process that converts with Docling from importing and making what its settings do not use.

Docling imports all that any of its stages may need. With `layout: {kind: cdla}`, geometric tables and no OCR,
a process now starts in 1.4 s of CPU in place of 2.9 s, and holds 255 MiB in place of 470: it imports neither
torch nor transformers nor SciPy (Docling 2.143). The change holds for the whole process, so it is made only
where nobody else uses Docling.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

_MODULES: dict[str, ModuleType | None] = sys.modules  # type: ignore[assignment]
"""The imported modules. `None` says that a module cannot be imported."""


def import_what_is_used(settings: dict[str, Any]) -> None:
    """Import Docling as far as a converter with these settings needs it."""
    _one_table_model()
    missing = ["transformers"]  # Docling takes one class of it, for options of models that write
    if settings["ocr"]["kind"] == "none":
        missing.append("scipy")  # only OCR uses it
    if not uses_torch(settings):
        missing.append("torch")  # Docling asks it whether this is a Mac
        _no_speech()
        _MODULES.setdefault("torchvision", None)  # importing it would import torch
    with _absent(missing):
        import_module("docling.models.base_ocr_model")  # and with it all of Docling's options


def uses_torch(settings: dict[str, Any]) -> bool:
    """Return whether one of the models of these settings runs in torch."""
    return bool(settings["ocr"]["kind"] != "none") or _docling_models(settings)


def _docling_models(settings: dict[str, Any]) -> bool:
    """Return whether Docling's own model of layout or tables is used."""
    return bool(settings["layout"]["kind"] == "docling" or settings["tables"]["kind"] == "tableformer")


@contextmanager
def no_random_weights(settings: dict[str, Any]) -> Iterator[None]:
    """Build the models of EasyOCR without drawing the random weights that those of its files replace.

    EasyOCR builds a whole VGG-16, whose last layers it throws away, and has torch draw 138 million numbers
    for it (1 s of CPU, 360 MiB). It refuses files that lack a weight. Docling's own models may not, so
    nothing changes where they are used.
    """
    if settings["ocr"]["kind"] == "none" or _docling_models(settings):
        yield
        return
    from torch.nn import init

    drawing = {name: getattr(init, name) for name in ("normal_", "kaiming_normal_", "kaiming_uniform_")}
    for name in drawing:
        setattr(init, name, lambda tensor, *_, **__: tensor)
    try:
        yield
    finally:
        for name, function in drawing.items():
            setattr(init, name, function)


def _one_table_model() -> None:
    """Make Docling import TableFormer alone of its three table models.

    Docling imports all of them, whichever is used. The other two, which fathoms does not offer, import most
    of transformers and torchvision.
    """
    from docling.models.plugins import defaults

    def table_structure_engines() -> dict[str, list[Any]]:
        from docling.models.stages.table_structure.table_structure_model import TableStructureModel

        return {"table_structure_engines": [TableStructureModel]}

    defaults.table_structure_engines = table_structure_engines


def _no_speech() -> None:
    """Put an empty module in place of Docling's model for speech, which imports torch."""
    speech = ModuleType("docling.pipeline.asr_transformers")
    speech.TransformersAsrDecoder = None  # type: ignore[attr-defined]
    _MODULES.setdefault(speech.__name__, speech)


@contextmanager
def _absent(packages: Iterable[str]) -> Iterator[None]:
    """Let imports of these packages fail meanwhile, as if they were not installed, which Docling allows.

    A package that is imported already stays.
    """
    hidden = [package for package in packages if package not in _MODULES]
    _MODULES.update(dict.fromkeys(hidden))
    try:
        yield
    finally:
        for package in hidden:
            del _MODULES[package]
