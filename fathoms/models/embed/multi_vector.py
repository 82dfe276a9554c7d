"""Page pictures as many vectors: models of late interaction such as ColPali and ColQwen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from fathoms.errors import ConfigError
from fathoms.models.embed.pages import (
    Dtype,
    HubPageModel,
    is_late_interaction,
    load_page_model,
    was_saved_by_library,
)
from fathoms.models.embed.patches import Patches, Words, patches, words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class MultiVectorEmbedder(HubPageModel):
    """`kind: multi-vector`: one vector for each patch of a page and each token of a question (Faysse et al.,
    ColPali, 2024), by the class MultiVectorEncoder of Sentence Transformers.

    The vectors are those of the library, in the order in which the model gives them. Code that comes with a
    model is not run.
    """

    many: ClassVar[bool] = True

    kind: Literal["multi-vector"] = "multi-vector"
    model: str
    """ORGANISATION/NAME on the Hugging Face hub, or a folder as a path (`./NAME`): a checkpoint in the
    form of the transformers library, such as `vidore/colqwen2-v1.0-hf`, or one that was saved by Sentence
    Transformers."""

    def _encoded(
        self, encode: Callable[..., Any], inputs: list[Any], **options: Any
    ) -> list[NDArray[np.float32]]:
        """Embed one batch with a method of the loaded model."""
        import numpy as np

        matrices = encode(
            inputs, batch_size=len(inputs), show_progress_bar=False, convert_to_numpy=True, **options
        )
        return [np.asarray(vectors, dtype=np.float32) for vectors in matrices]

    def patches(self, sizes: Sequence[tuple[int, int]]) -> list[Patches | None]:
        """Return which vectors of pictures of these widths and heights in pixels stand for which patches;
        `None` where the patches form no grid."""
        return patches(self._model(), sizes)

    def words(self, questions: Sequence[str]) -> list[Words]:
        """Return which vectors of each question stand for its own words."""
        return words(self._model(), questions, self.query_prompt)

    def _model(self) -> Any:
        """Return the loaded model; the first call loads it."""
        return _load(self.model, self.hub_revision, self.device, self.dtype)


@lru_cache(maxsize=1)
def _load(model: str, revision: str | None, device: str | None, dtype: Dtype) -> Any:
    """Load a model; raises ConfigError if it was not trained for late interaction."""
    loaded = load_page_model("MultiVectorEncoder", model, revision, device, dtype)
    if not is_late_interaction(model, revision) and not was_saved_by_library(model, revision):
        raise ConfigError(
            f"{model} was not saved as a model of late interaction, and the library would give it a layer of"
            " random weights: use embed: {kind: image-text}"
        )
    return loaded
