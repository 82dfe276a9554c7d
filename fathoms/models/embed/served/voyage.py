"""Embedding models of Voyage AI."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from fathoms.models.chat.completion import count
from fathoms.models.embed.served.replies import by_index
from fathoms.models.embed.served.served_model import Answer, Batch, ServedPageModel
from fathoms.models.options import Address, VariableName


class VoyagePages(ServedPageModel):
    """`kind: voyage`: a model of Voyage AI that embeds pictures and texts, by its API
    `/v1/multimodalembeddings`."""

    path: ClassVar[str] = "multimodalembeddings"
    most_inputs: ClassVar[int] = 1000
    most_tokens: ClassVar[int | None] = 320_000
    pixels_a_token: ClassVar[int] = 560
    picture_bytes: ClassVar[int | None] = 20_000_000

    kind: Literal["voyage"] = "voyage"
    base_url: Address = "https://api.voyageai.com/v1"
    """Address of the API, up to and with its version."""
    model: str = Field(default="voyage-multimodal-3.5", min_length=1)
    """Name of the model."""
    api_key_env: VariableName | None = "VOYAGE_API_KEY"
    """The environment variable that holds the key; null for a server that needs none."""
    max_pixels: int | None = Field(default=16_000_000, ge=28 * 28, le=2**31)
    """Pictures with more pixels are made smaller before they are sent. The default is the most that the API
    accepts."""

    def body(self, batch: Batch) -> Answer:
        """Return the body of the request for a batch."""
        contents: list[Answer] = [{"type": "text", "text": text} for text in batch.texts]
        contents += [{"type": "image_base64", "image_base64": each.url} for each in batch.pictures]
        body: Answer = {
            "model": self.model,
            "inputs": [{"content": [content]} for content in contents],
            "input_type": "query" if batch.texts else "document",
            "truncation": False,  # it would leave out a whole picture without saying so
        }
        return body if self.dimension is None else {**body, "output_dimension": self.dimension}

    def vectors_in(self, answer: Answer) -> list[Any]:
        """Return the vectors of a reply."""
        return by_index(answer, self.base_url, "embedding")

    def tokens_in(self, answer: Answer) -> int | None:
        """Return the tokens of a reply, of which a picture takes one for 560 pixels."""
        return count(answer, "usage", "total_tokens")
