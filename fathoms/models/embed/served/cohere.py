"""Embedding models of Cohere, and of servers with its Embed API."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from fathoms.errors import ModelError
from fathoms.models.chat.completion import count
from fathoms.models.embed.served.served_model import Answer, Batch, ServedPageModel
from fathoms.models.options import Address, VariableName

_ONE_PICTURE = "-v3"
"""In the name of a model of the generation before, which takes one picture a request, as `images`."""
_LARGEST = 2_458_624


class CoherePages(ServedPageModel):
    """`kind: cohere`: a model of Cohere that embeds pictures and texts, such as `embed-v4.0`, by its API
    `/v2/embed`. vLLM has the same API: set `base_url` to its address with `/v2`."""

    path: ClassVar[str] = "embed"
    most_inputs: ClassVar[int] = 96
    picture_bytes: ClassVar[int | None] = 5_000_000

    kind: Literal["cohere"] = "cohere"
    base_url: Address = "https://api.cohere.com/v2"
    """Address of the API, up to and with its version."""
    model: str = Field(default="embed-v4.0", min_length=1)
    """Name of the model."""
    api_key_env: VariableName | None = "COHERE_API_KEY"
    """The environment variable that holds the key; null for a server that needs none."""
    max_pixels: int | None = Field(default=_LARGEST, ge=28 * 28, le=2**31)
    """Pictures with more pixels are made smaller before they are sent. The default is the size to which
    `embed-v4.0` would do so."""

    def most_of(self, batch: Batch) -> int:
        """Return the most inputs of a request."""
        return 1 if batch.pictures and self._takes_one else super().most_of(batch)

    @property
    def _takes_one(self) -> bool:
        """Whether the model takes one picture in a request, in a field of its own."""
        return _ONE_PICTURE in self.model

    def body(self, batch: Batch) -> Answer:
        """Return the body of the request for a batch."""
        shared: Answer = {"model": self.model, "embedding_types": ["float"]}
        if self.dimension is not None:
            shared["output_dimension"] = self.dimension
        if batch.texts:
            return {**shared, "input_type": "search_query", "texts": list(batch.texts)}
        if self._takes_one:
            return {**shared, "input_type": "image", "images": [each.url for each in batch.pictures]}
        inputs = [
            {"content": [{"type": "image_url", "image_url": {"url": each.url}}]} for each in batch.pictures
        ]
        return {**shared, "input_type": "search_document", "inputs": inputs}

    def vectors_in(self, answer: Answer) -> list[Any]:
        """Return the vectors of a reply."""
        found = answer.get("embeddings")
        vectors = found.get("float") if isinstance(found, dict) else None
        if not isinstance(vectors, list):
            raise ModelError(f"{self.base_url}: the answer contains no vectors under 'embeddings.float'")
        return vectors

    def tokens_in(self, answer: Answer) -> int | None:
        """Return the billed tokens of a reply, of texts and of pictures; `None` for a model that bills
        pictures by their number."""
        billed = [count(answer, "meta", "billed_units", name) for name in ("input_tokens", "image_tokens")]
        known = [tokens for tokens in billed if tokens is not None]
        return sum(known) if known else None
