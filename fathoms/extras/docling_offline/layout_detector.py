"""Detects the regions of a page image with PicoDet, a small object detector, run with ONNX Runtime.

At each point of four grids, PicoDet (Yu et al., "PP-PicoDet", 2021) predicts a score for every class and, as
in generalized focal loss (Li et al., 2020), a distribution over the distance from the point to each side of
the box.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from fathoms.errors import ConfigError, MissingExtraError
from fathoms.extras.docling_offline.boxes import Box

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL.Image import Image

    Floats = NDArray[np.float32]

WIDTH, HEIGHT = 608, 800
"""The size in pixels of the model's input; pages are scaled to it without keeping their aspect ratio."""
STRIDES = (8, 16, 32, 64)
"""The spacing of each grid in pixels, which is also the unit of its predicted distances."""
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Mean and standard deviation of the red, green and blue values of ImageNet, on a scale from 0 to 1."""
SAME = 0.5
"""Two boxes of one class with a larger intersection over union count as the same region."""


class Region(NamedTuple):
    """A detected region of a page with its class label and a score from 0 to 1."""

    label: str
    score: float
    box: Box


class Detector:
    """A loaded detection model; safe to use from several threads."""

    def __init__(self, path: str, threads: int) -> None:
        try:
            import onnxruntime
        except ModuleNotFoundError as error:
            raise MissingExtraError("onnxruntime", "docling", "the layout model") from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.log_severity_level = 3
        try:
            self._session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # ONNX Runtime has no base class of its own for errors
            raise ConfigError(f"{path} could not be loaded: {error}") from error
        self._input = self._session.get_inputs()[0].name
        self.classes = tuple(self._session.get_modelmeta().custom_metadata_map["character"].split("\n"))

    def detect(self, image: Image, page: Box, least: float) -> list[Region]:
        """Return the regions with a score of at least `least`, best first, in the coordinates of `page`."""
        outputs = self._session.run(None, {self._input: pixels(image)})
        scores, distances = outputs[: len(STRIDES)], outputs[len(STRIDES) :]
        found: list[Region] = []
        for stride, score, distance in zip(STRIDES, scores, distances, strict=True):
            found += self._decode(stride, score[0], distance[0], page, least)
        return suppress(found)

    def _decode(
        self, stride: int, scores: Floats, distances: Floats, page: Box, least: float
    ) -> list[Region]:
        """Return the regions of one grid. `scores` has the shape (places, classes), `distances` the shape
        (places, 4 * bins)."""
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
    """Return an image as model input: shape (1, 3, height, width), normalised with ImageNet's statistics."""
    import numpy as np
    from PIL.Image import Resampling

    scaled = image.convert("RGB").resize((WIDTH, HEIGHT), Resampling.BILINEAR)
    mean, deviation = np.array(MEAN, dtype=np.float32), np.array(DEVIATION, dtype=np.float32)
    colours: Floats = (np.asarray(scaled, dtype=np.float32) / np.float32(255) - mean) / deviation
    return colours.transpose(2, 0, 1)[None]


def expected(logits: Floats) -> Floats:
    """Return the mean of each distribution over 0, 1, 2, ..., whose logits are along the last axis."""
    import numpy as np

    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    mean: Floats = (weights * np.arange(logits.shape[-1])).sum(axis=-1) / weights.sum(axis=-1)
    return mean


def suppress(regions: list[Region]) -> list[Region]:
    """Return the regions, best first, without duplicates: non-maximum suppression per class."""
    selected: list[Region] = []
    for region in sorted(regions, key=lambda region: -region.score):
        if not any(region.label == other.label and iou(region.box, other.box) > SAME for other in selected):
            selected.append(region)
    return selected


def iou(one: Box, other: Box) -> float:
    """Return the intersection over union of two boxes, from 0 to 1."""
    shared = one.shared(other)
    return shared / (one.area + other.area - shared) if shared else 0.0


@lru_cache(maxsize=2)
def load(path: str, threads: int) -> Detector:
    """Return the detector with the weights at `path`; it is loaded once and cached."""
    return Detector(path, threads)
