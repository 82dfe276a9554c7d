"""Finding the regions of a page image with PicoDet, a small detector, by ONNX Runtime.

PicoDet (Yu et al., PP-PicoDet, 2021) gives at each place of four grids a score for every class and, as in
generalized focal loss (Li et al., 2020), a distribution over the distance from there to each side of the box.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from fathoms.errors import ConfigError, MissingExtraError
from fathoms.ingest.docling.offline.boxes import Box

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL.Image import Image

    Floats = NDArray[np.float32]

WIDTH, HEIGHT = 608, 800
"""The size, in pixels, that a page is scaled to, whatever its shape."""
STRIDES = (8, 16, 32, 64)
"""Pixels from one place to the next, of each grid; the distances count in these."""
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Of the red, green and blue of ImageNet, 0 to 1."""
SAME = 0.5
"""The intersection over union from which on two boxes of one class are the same region."""


class Region(NamedTuple):
    """A part of a page and what it is, with a score from 0 to 1."""

    label: str
    score: float
    box: Box


class Detector:
    """A loaded model; safe for threads."""

    def __init__(self, path: str, threads: int) -> None:
        runtime = _runtime()
        options = runtime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.log_severity_level = 3
        try:
            self._session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # ONNX Runtime has no base class of its own for errors
            raise ConfigError(f"{path} could not be loaded: {error}") from error
        self._input = self._session.get_inputs()[0].name
        self.classes = tuple(self._session.get_modelmeta().custom_metadata_map["character"].split("\n"))

    def detect(self, image: Image, page: Box, least: float) -> list[Region]:
        """The regions of a page with at least that score, best first, in the coordinates of `page`."""
        outputs = self._session.run(None, {self._input: pixels(image)})
        scores, distances = outputs[: len(STRIDES)], outputs[len(STRIDES) :]
        found: list[Region] = []
        for stride, score, distance in zip(STRIDES, scores, distances, strict=True):
            found += self._decode(stride, score[0], distance[0], page, least)
        return suppress(found)

    def _decode(
        self, stride: int, scores: Floats, distances: Floats, page: Box, least: float
    ) -> list[Region]:
        """The boxes of one grid, of shapes (places, classes) and (places, 4 * bins)."""
        import numpy as np

        places = np.flatnonzero(scores.max(axis=1) >= least)
        across = -(-WIDTH // stride)
        x, y = (places % across + 0.5) * stride, (places // across + 0.5) * stride
        sides = stride * expected(distances.reshape(len(distances), 4, -1)[places])
        corners = np.stack([x - sides[:, 0], y - sides[:, 1], x + sides[:, 2], y + sides[:, 3]], axis=1)
        scale = [page.width / WIDTH, page.height / HEIGHT] * 2
        corners = np.clip(corners * scale, 0, [page.width, page.height] * 2)
        return [
            Region(
                self.classes[int(scores[place].argmax())], float(scores[place].max()), Box(*map(float, box))
            )
            for place, box in zip(places, corners, strict=True)
        ]


def pixels(image: Image) -> Floats:
    """An image as the model takes it: (1, 3, height, width), each colour with mean 0 and deviation 1."""
    import numpy as np
    from PIL.Image import Resampling

    scaled = image.convert("RGB").resize((WIDTH, HEIGHT), Resampling.BILINEAR)
    mean, deviation = np.array(MEAN, dtype=np.float32), np.array(DEVIATION, dtype=np.float32)
    colours: Floats = (np.asarray(scaled, dtype=np.float32) / np.float32(255) - mean) / deviation
    return colours.transpose(2, 0, 1)[None]


def expected(logits: Floats) -> Floats:
    """The mean of each distribution over 0, 1, 2, ... that is given by its logits, along the last axis."""
    import numpy as np

    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    mean: Floats = (weights * np.arange(logits.shape[-1])).sum(axis=-1) / weights.sum(axis=-1)
    return mean


def suppress(regions: list[Region]) -> list[Region]:
    """The regions, best first, without those that repeat a better one of their class."""
    kept: list[Region] = []
    for region in sorted(regions, key=lambda region: -region.score):
        if not any(region.label == other.label and iou(region.box, other.box) > SAME for other in kept):
            kept.append(region)
    return kept


def iou(one: Box, other: Box) -> float:
    """Intersection over union, 0 to 1."""
    shared = one.shared(other)
    return shared / (one.area + other.area - shared) if shared else 0.0


@lru_cache(maxsize=2)
def load(path: str, threads: int) -> Detector:
    """The detector with these weights, loaded once."""
    return Detector(path, threads)


def _runtime() -> Any:
    """ONNX Runtime, or the command that installs it."""
    try:
        import onnxruntime
    except ModuleNotFoundError as error:
        raise MissingExtraError("onnxruntime", "docling", "the layout model") from error
    return onnxruntime
