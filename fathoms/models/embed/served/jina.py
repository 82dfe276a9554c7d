"""Embedding models of Jina AI."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from fathoms.models.chat.completion import count
from fathoms.models.embed.served.replies import by_index
from fathoms.models.embed.served.served_model import Answer, Batch, ServedPageModel
from fathoms.models.options import Address, VariableName
from fathoms.safety.option_limits import MOST_TEXTS

_ONLY_QUESTIONS = "jina-clip"
"""The beginning of the name of models that have a task for questions and none for documents."""


class JinaPages(ServedPageModel):
    """`kind: jina`: a model of Jina AI that embeds pictures and texts, such as `jina-embeddings-v4`, by its
    API `/v1/embeddings`."""

    path: ClassVar[str] = "embeddings"
    most_inputs: ClassVar[int] = 512

    kind: Literal["jina"] = "jina"
    base_url: Address = "https://api.jina.ai/v1"
    """Address of the API, up to and with its version."""
    model: str = Field(default="jina-embeddings-v4", min_length=1)
    """Name of the model."""
    api_key_env: VariableName | None = "JINA_API_KEY"
    """The environment variable that holds the key; null for a server that needs none."""
    batch_size: int = Field(default=8, ge=1, le=MOST_TEXTS)
    """Maximum number of pages, or of questions, in one request. The many vectors of a page take about a
    megabyte of a reply, which may have 16."""
    multi_vector: bool = False
    """Whether to have one vector for each patch and word, for late interaction, which `jina-embeddings-v4`
    offers; one vector for a page otherwise."""

    @property
    def many(self) -> bool:
        """Whether a page has more than one vector."""
        return self.multi_vector

    def body(self, batch: Batch) -> Answer:
        """Return the body of the request for a batch."""
        inputs = [{"text": text} for text in batch.texts]
        inputs += [{"image": each.base64} for each in batch.pictures]
        body: Answer = {"model": self.model, "input": inputs, "embedding_type": "float"}
        if batch.texts or not self.model.startswith(_ONLY_QUESTIONS):
            body["task"] = "retrieval.query" if batch.texts else "retrieval.passage"
        if self.multi_vector:
            body["return_multivector"] = True
        return body if self.dimension is None else {**body, "dimensions": self.dimension}

    def vectors_in(self, answer: Answer) -> list[Any]:
        """Return the vectors of a reply. Clients of the API read many vectors from either field."""
        return by_index(answer, self.base_url, *(["embeddings"] if self.many else []), "embedding")

    def tokens_in(self, answer: Answer) -> int | None:
        """Return the tokens of a reply."""
        return count(answer, "usage", "total_tokens")
