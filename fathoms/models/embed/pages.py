"""What embedders of page pictures share: their interface, their options, batches that fit into the memory,
and the key under which the vectors of a page are cached.

Such a model maps the picture of a page and the text of a question into the same space. The result for each is
a matrix of one or more vectors: a model of late interaction gives one vector for each patch of the page and
each token of the question, other models give one vector for either.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from pydantic import Field

from fathoms.component import Component
from fathoms.errors import ConfigError, MissingExtraError, ModelError
from fathoms.models.cpus import available_cpus
from fathoms.models.weights.hub import HubModel, folder_of, lacks_memory, library, load, release_memory
from fathoms.safety.option_limits import MOST_TEXTS
from fathoms.text.fingerprints import fingerprint, flat_fingerprint

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL import Image

    Vectors = NDArray[np.float32]
    Picture = Image.Image

T = TypeVar("T")
R = TypeVar("R")
Dtype = Literal["auto", "float32", "bfloat16", "float16"]


class EmbedsPages(Component):
    """A model that embeds pictures of pages and texts of questions into one space.

    Every page and every question gets a float32 matrix of shape (vectors, width); `width` is the same for
    all, and the number of vectors may differ.
    """

    if TYPE_CHECKING:  # known of a class, or a property of its options

        @property
        def many(self) -> bool:
            """Whether a page has more than one vector, so that pages are compared by MaxSim."""

    @abstractmethod
    def check(self) -> None:
        """Raise an error if a requirement (package, weights, server) is missing; called before a run."""

    @abstractmethod
    def check_presence(self) -> None:
        """Raise the errors of a package, a folder or a key that is missing, without loading a model."""

    @abstractmethod
    def embed_pages(self, pictures: Sequence[Path]) -> list[Vectors]:
        """Return the vectors of each picture of a page, in the given order."""

    @abstractmethod
    def embed_questions(self, texts: Sequence[str]) -> list[Vectors]:
        """Return the vectors of each question, in the given order."""


class HubPageModel(HubModel, EmbedsPages):
    """Base class of the models of Sentence Transformers that embed pictures of pages."""

    packages: ClassVar[tuple[str, ...]] = ("sentence-transformers", "transformers", "pillow")

    batch_size: int = Field(default=4, ge=1, le=MOST_TEXTS)
    """Number of pages, or of questions, that the model processes at a time. A batch that does not fit into
    the memory of the device is halved until it does."""
    dtype: Dtype = "auto"
    """Precision of the computation. `auto` is bfloat16 on a GPU that computes in it, and float32 elsewhere.
    Vectors that were made with `auto` are cached under the same key on every device; name the precision where
    differences of its size matter."""
    query_prompt: str | None = None
    """Text put before every question. The model's own prompt if not given; no prompt if empty."""

    def check_presence(self) -> None:
        """Raise the errors of a package or a folder that is missing, without loading the model, which takes
        several seconds and is not needed where all vectors are in the cache."""
        if find_spec("sentence_transformers") is None:
            raise MissingExtraError("sentence-transformers", "sentence-transformers", "this model")
        folder_of(self.model)

    def embed_pages(self, pictures: Sequence[Path]) -> list[Vectors]:
        """Return the vectors of each picture, float32 of shape (vectors, width), in the given order.

        Raises ModelError for a picture that alone does not fit into the memory of the device.
        """
        from PIL import Image

        def pixels(at: int) -> int:
            with Image.open(pictures[at]) as picture:  # reads only the head of the file
                return picture.width * picture.height

        # pages of like size need the least padding, and a batch that is too large shows at the first
        order = sorted(range(len(pictures)), key=pixels, reverse=True)
        with ThreadPoolExecutor(available_cpus()) as threads:
            opened: dict[int, Future[Picture]] = {}

            def run(part: Sequence[int]) -> list[Vectors]:
                # the files of the next batch are read while the model has this one
                for at in range(part[0], min(part[0] + 2 * len(part), len(order))):
                    if at not in opened:
                        opened[at] = threads.submit(_opened, pictures[order[at]])
                found = self._encoded(self._model().encode_document, [opened[at].result() for at in part])
                for at in part:
                    del opened[at]
                return found

            most = FITS.get(self, self.batch_size)
            vectors = in_batches(range(len(order)), run, most, lacks_memory, partial(FITS.__setitem__, self))
        by_page = dict(zip(order, vectors, strict=True))
        return [by_page[at] for at in range(len(pictures))]

    def embed_questions(self, texts: Sequence[str]) -> list[Vectors]:
        """Return the vectors of each question, float32 of shape (vectors, width), in the given order."""

        def run(part: Sequence[str]) -> list[Vectors]:
            return self._encoded(self._model().encode_query, list(part), prompt=self.query_prompt)

        vectors = in_batches(texts, run, self.batch_size, lacks_memory)
        release_memory()  # of pages, which come before; the model that answers may need it
        return vectors

    def runs_on(self) -> str:
        """Return the device and the precision of the loaded model, such as `cpu, float32` or
        `NVIDIA H100 80GB HBM3, bfloat16`."""
        import torch

        weights = next(self._model().parameters())
        device, precision = weights.device, str(weights.dtype).removeprefix("torch.")
        name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
        return f"{name}, {precision}"

    @abstractmethod
    def _encoded(self, encode: Callable[..., Any], inputs: list[Any], **options: Any) -> list[Vectors]:
        """Embed one batch with a method of the loaded model."""


FITS: dict[HubPageModel, int] = {}
"""The size of the batches that fitted, of models with which one did not: the next pages begin with it."""


def _opened(path: Path) -> Picture:
    """Return the picture in a file, in RGB."""
    from PIL import Image

    with Image.open(path) as picture:
        return picture.convert("RGB")


def in_batches(
    items: Sequence[T],
    run: Callable[[Sequence[T]], list[R]],
    most: int,
    lacks_memory: Callable[[BaseException], bool],
    on_fewer: Callable[[int], object] = lambda most: None,
) -> list[R]:
    """Return the results of `run` for all items, which is called with at most `most` of them at a time.

    A batch for which `run` raises an error that `lacks_memory` recognises is run again in halves, and so are
    all that follow; `on_fewer` gets how many there are in these. Raises ModelError if a single item does
    not fit.
    """
    found: list[R] = []
    while len(found) < len(items):
        part = items[len(found) : len(found) + most]
        try:
            found += run(part)
        except Exception as error:
            if not lacks_memory(error):
                raise
            if len(part) == 1:
                raise ModelError(
                    "a single page does not fit into the memory of the device: stop what else uses it, lower"
                    " 'dpi', set 'dtype' to bfloat16, or choose another 'device'"
                ) from error
            most = len(part) // 2
            on_fewer(most)
    return found


def load_page_model(kind: str, model: str, revision: str | None, device: str | None, dtype: Dtype) -> Any:
    """Load a model by a class of Sentence Transformers; raises ConfigError if it does not embed both pictures
    and texts, and the errors of `load`."""
    folder_of(model)  # before the library is imported, which takes seconds
    package = library()
    if not hasattr(package, "MultiVectorEncoder"):  # earlier versions load some of these models, differently
        raise ConfigError(
            "embed: this kind needs sentence-transformers 6 or newer, and"
            f" {package.__version__} is installed: pip install --upgrade sentence-transformers"
        )
    options = {"dtype": _precision(device) if dtype == "auto" else dtype}
    loaded = load(kind, model, revision, device=device, model_kwargs=options)
    lacking = [name for name in ("image", "text") if name not in loaded.modalities]
    if lacking:
        noun = {"image": "pictures", "text": "texts"}[lacking[0]]
        raise ConfigError(f"{model} embeds no {noun}: retrieval by page images needs a model of both")
    return loaded


def _precision(device: str | None) -> str:
    """Return the precision for `dtype: auto` on a device, the best available one if not given."""
    import torch

    on_gpu = torch.cuda.is_available() if device is None else device.startswith("cuda")
    return "bfloat16" if on_gpu and torch.cuda.is_bf16_supported() else "float32"


def is_late_interaction(model: str, revision: str | None) -> bool:
    """Whether a model on this machine was saved as one of late interaction by the transformers library."""
    path = _file_of(model, "config.json", revision)
    names = json.loads(Path(path).read_text()).get("architectures") if path else None
    return any(str(name).endswith("ForRetrieval") for name in names or ())


def was_saved_by_library(model: str, revision: str | None) -> bool:
    """Whether a model on this machine was saved by Sentence Transformers, with all its layers."""
    return _file_of(model, "modules.json", revision) is not None


def _file_of(model: str, name: str, revision: str | None) -> str | None:
    """Return the path of a file of a model that is on this machine; `None` if it has no such file."""
    place = str(folder_of(model) or model)
    library()  # repairs torchvision before the import
    from sentence_transformers.util import load_file_path

    found = load_file_path(place, name, revision=revision, local_files_only=True)
    return None if found is None else str(found)


def page_keys(embedder: EmbedsPages, pages: Iterable[tuple[str, int]], dpi: int, *about: object) -> list[str]:
    """Return the keys under which the vectors of pages are cached.

    Each is made of the model with its settings, the sha256 of the document and the number of the page (from
    1), which `pages` states, and of the resolution in dots per inch. `about` is what else the vectors depend
    on, such as the version of the renderer.
    """
    shared = fingerprint("page vectors", embedder.identity(), dpi, *about)
    return [flat_fingerprint(shared, sha256, page) for sha256, page in pages]
