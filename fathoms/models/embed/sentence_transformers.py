"""Embeddings with any model of Sentence Transformers, which runs with torch on a CPU or a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from fathoms.models.embed.vectors import normalised
from fathoms.models.protocols import TextEmbedder
from fathoms.models.weights.hub import HubModel, load, within_memory
from fathoms.safety.option_limits import MOST_TOKENS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class SentenceTransformersEmbedder(HubModel, TextEmbedder):
    """`kind: sentence-transformers`: a bi-encoder whose vectors are always L2-normalised.

    Questions and documents get the prompts that are saved with the model, unless the options set others. Code
    that comes with a model is not run.
    """

    kind: Literal["sentence-transformers"] = "sentence-transformers"
    model: str = "minilm-l6-v2-torch"
    """A folder, a name from `fathoms models list`, or ORGANISATION/NAME on the Hugging Face hub."""
    query_prompt: str | None = None
    """Text put before every question. The model's own `query` prompt if not given; no prompt if empty."""
    document_prompt: str | None = None
    """Text put before every document text. The model's own `document` prompt if not given; no prompt if
    empty."""
    max_tokens: int | None = Field(default=None, ge=2, le=MOST_TOKENS)
    """Maximum length of a text in tokens; longer texts are cut. The model's own limit if not given."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors of documents, shape (n, dimension)."""
        return self._encoded(self._model().encode_document, texts, self.document_prompt)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors of questions, shape (n, dimension)."""
        return self._encoded(self._model().encode_query, texts, self.query_prompt)

    def _encoded(self, encode: Any, texts: Sequence[str], prompt: str | None) -> NDArray[np.float32]:
        """Embed texts with one of the two methods of the model and return unit vectors."""
        import numpy as np

        # embed an empty text to get the dimension, because its method has other names in other versions
        if not texts:
            return self._encoded(encode, [""], prompt)[:0]
        with within_memory():
            vectors = encode(list(texts), prompt=prompt, batch_size=self.batch_size, show_progress_bar=False)
        return normalised(np.asarray(vectors, dtype=np.float32))

    def _model(self) -> Any:
        """Return the loaded model; the first call loads it."""
        return _load(self.model, self.hub_revision, self.device, self.max_tokens)


@lru_cache(maxsize=2)
def _load(model: str, revision: str | None, device: str | None, max_tokens: int | None) -> Any:
    """Load a model with these settings."""
    loaded = load("SentenceTransformer", model, revision, device=device)
    if max_tokens is not None:
        loaded.max_seq_length = max_tokens
    return loaded
