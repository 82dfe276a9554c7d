"""Makes torchvision importable if its compiled operators do not match the installed torch."""

from __future__ import annotations

import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# The import of torchvision fails if these operators do not exist. Nothing that fathoms uses calls them.
_OPERATORS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)


@cache
def repair() -> Any:
    """Declare the operators that torchvision needs at its import, if torchvision cannot load them itself.

    A torchvision built for CUDA cannot load its operators beside a CPU-only torch, and every library that
    imports it (transformers, EasyOCR, Docling) then fails with "operator torchvision::nms does not exist".
    Call this before such an import. It does nothing if torchvision works, was imported before, or is not
    installed. The declarations exist as long as the returned object, which the cache of this function keeps.
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
    """Return whether torch can load the compiled operators of the package."""
    import torch

    for path in sorted(package.glob("_C*")):
        try:
            torch.ops.load_library(path)
        except (ImportError, OSError):
            continue
        return True
    return False
