"""Embeddings by Sentence Transformers: any model of theirs, by torch, on a CPU or a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from fathoms.models.embed.vectors import normalised
from fathoms.models.weights.hub import HubModel, load
from fathoms.safety.limits import MOST_TOKENS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class SentenceTransformersEmbedder(HubModel):
    """`kind: sentence-transformers`: a bi-encoder, its vectors always L2-normalised.

    Questions and documents get the prompts that the model was saved with, unless the options say others.
    No code that comes with a model is run.
    """

    kind: Literal["sentence-transformers"] = "sentence-transformers"
    model: str = "minilm-l6-v2-torch"
    """A folder, the name of an asset, or ORGANISATION/NAME on the hub."""
    query_prompt: str | None = None
    """Stands before every question; the model's own `query` prompt if not given, none if empty."""
    document_prompt: str | None = None
    """Stands before every other text; the model's own `document` prompt if not given, none if empty."""
    max_tokens: int | None = Field(default=None, ge=2, le=MOST_TOKENS)
    """A longer text is cut here; where the model says, if not given."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of documents, shape (n, dimension)."""
        return self._encoded(self._model().encode_document, texts, self.document_prompt)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of questions, shape (n, dimension)."""
        return self._encoded(self._model().encode_query, texts, self.query_prompt)

    def _encoded(self, encode: Any, texts: Sequence[str], prompt: str | None) -> NDArray[np.float32]:
        """What one of the model's two methods gives, as unit vectors."""
        import numpy as np

        if not texts:  # the libraries' versions differ in how they are asked for the width: a text tells it
            return self._encoded(encode, [""], prompt)[:0]
        vectors = encode(list(texts), prompt=prompt, batch_size=self.batch_size, show_progress_bar=False)
        return normalised(np.asarray(vectors, dtype=np.float32))

    def _model(self) -> Any:
        """The loaded model; the first call loads it."""
        return _load(self.model, self.hub_revision, self.device, self.max_tokens)


@lru_cache(maxsize=2)
def _load(model: str, revision: str | None, device: str | None, max_tokens: int | None) -> Any:
    """The model of these settings."""
    loaded = load("SentenceTransformer", model, revision, device=device)
    if max_tokens is not None:
        loaded.max_seq_length = max_tokens
    return loaded
