"""Page pictures as single vectors: models that embed images and texts, such as CLIP, SigLIP, GME and vdr."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from fathoms.errors import ConfigError
from fathoms.models.embed.pages import Dtype, HubPageModel, is_late_interaction, load_page_model
from fathoms.models.embed.vectors import normalised

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PADDED = ("siglip", "siglip2")
"""Model types whose vector of a text is that of its last position, filled up to the full length. With the
library's own filling, up to the longest text of a batch, the vector would depend on the other texts."""


class ImageTextEmbedder(HubPageModel):
    """`kind: image-text`: one L2-normalised vector for a page and one for a question (Radford et al., CLIP,
    2021), by the class SentenceTransformer of Sentence Transformers.

    Code that comes with a model is not run.
    """

    many: ClassVar[bool] = False

    kind: Literal["image-text"] = "image-text"
    model: str
    """ORGANISATION/NAME on the Hugging Face hub, or a folder as a path (`./NAME`): a model of images and
    texts, such as `google/siglip2-base-patch16-512`."""

    def _encoded(
        self, encode: Callable[..., Any], inputs: list[Any], **options: Any
    ) -> list[NDArray[np.float32]]:
        """Embed one batch with a method of the loaded model."""
        import numpy as np

        if self._model()[0].model.config.model_type in _PADDED:
            options["processing_kwargs"] = {"text": {"padding": "max_length"}}
        vectors = encode(
            inputs, batch_size=len(inputs), show_progress_bar=False, convert_to_numpy=True, **options
        )
        return list(normalised(np.asarray(vectors, dtype=np.float32))[:, None, :])

    def _model(self) -> Any:
        """Return the loaded model; the first call loads it."""
        return _load(self.model, self.hub_revision, self.device, self.dtype)


@lru_cache(maxsize=1)
def _load(model: str, revision: str | None, device: str | None, dtype: Dtype) -> Any:
    """Load a model; raises ConfigError if it is one of late interaction."""
    _refuse_late_interaction(model, revision)  # before the library imports everything in search of a class
    try:
        return load_page_model("SentenceTransformer", model, revision, device, dtype)
    finally:
        _refuse_late_interaction(model, revision)  # a model of the hub is on this machine only now


def _refuse_late_interaction(model: str, revision: str | None) -> None:
    """Raise ConfigError for a model that gives many vectors for a page."""
    if is_late_interaction(model, revision):
        raise ConfigError(
            f"{model} is a model of late interaction, which gives many vectors for a page: use"
            " embed: {kind: multi-vector}"
        )
