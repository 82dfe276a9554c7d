"""Lets torchvision be imported beside a torch that its compiled operators do not fit."""

from __future__ import annotations

import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# What `import torchvision` looks up and so must exist. Nothing that fathoms uses ever calls them.
_OPERATORS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)


@cache
def repair() -> Any:
    """Declare the operators that torchvision asks torch for at its import, where it did not bring them.

    A torchvision built for CUDA beside a CPU torch cannot load its operators, and every library that
    imports it (transformers, EasyOCR, Docling) then fails with "operator torchvision::nms does not
    exist". Call this before such an import; it does nothing where torchvision works, was imported
    before, or is not installed. The declarations live as long as what is returned, which is kept here.
    """
    spec = None if "torchvision" in sys.modules else find_spec("torchvision")
    if spec is None or spec.origin is None or _loads(Path(spec.origin).parent):
        return None
    import torch

    fragment = torch.library.Library("torchvision", "FRAGMENT")
    for schema in _OPERATORS:
        fragment.define(schema)
    return fragment


def _loads(package: Path) -> bool:
    """Whether torch can load the operators that the package brings."""
    import torch

    for path in sorted(package.glob("_C*")):
        try:
            torch.ops.load_library(path)
        except (ImportError, OSError):
            continue
        return True
    return False
