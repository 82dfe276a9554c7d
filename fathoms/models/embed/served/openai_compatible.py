"""Embedding models of servers that extend OpenAI's embeddings API to pictures, as vLLM and Infinity do."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from fathoms.models.chat.completion import count
from fathoms.models.embed.served.replies import by_index
from fathoms.models.embed.served.served_model import Answer, Batch, ServedPageModel

Content = list[dict[str, Any]]


class OpenAICompatiblePages(ServedPageModel):
    """`kind: openai-compatible`: a model of images and texts of a server with OpenAI's embeddings API, which
    has no pictures itself; servers extend it in two ways."""

    path: ClassVar[str] = "embeddings"

    kind: Literal["openai-compatible"] = "openai-compatible"
    form: Literal["messages", "input"] = "messages"
    """`messages` sends a chat with one picture or question in each request, as vLLM takes it. `input` sends
    data URLs in the place of texts and `modality: image` beside them, as Infinity takes it."""
    multi_vector: bool = False
    """Whether the model is one of late interaction, such as ColQwen3, for which the server returns a list of
    vectors. vLLM has another API for them, `/pooling` beside `/v1`, which is then asked."""
    system: str | None = None
    """System message before every page and question, for models that were trained with one; only with `form:
    messages`."""
    page_text: str | None = None
    """Text after the picture of a page, such as `Represent the given image.`; only with `form: messages`."""
    query_prefix: str = ""
    """Text put before every question."""

    @property
    def endpoint(self) -> str:
        """The address of the requests: that of vLLM's pooling API for chats with many vectors."""
        if self.form == "messages" and self.multi_vector:
            return f"{self.base_url.removesuffix('/v1')}/pooling"
        return super().endpoint

    @property
    def many(self) -> bool:
        """Whether a page has more than one vector."""
        return self.multi_vector

    def most_of(self, batch: Batch) -> int:
        """Return the most inputs of a request: one for a chat."""
        return 1 if self.form == "messages" else super().most_of(batch)

    def check_presence(self) -> None:
        """Check the server; raises ServerError if there is none or it has no such model, or the key is
        refused, and ConfigError if a variable is not set."""
        self.require_model()

    def body(self, batch: Batch) -> Answer:
        """Return the body of the request for a batch."""
        texts = [f"{self.query_prefix}{text}" for text in batch.texts]
        body: Answer = {"model": self.model, "encoding_format": "float"}
        if self.dimension is not None:
            body["dimensions"] = self.dimension
        if self.form == "messages":
            content = [*map(_text, texts)]
            content += [{"type": "image_url", "image_url": {"url": each.url}} for each in batch.pictures]
            if batch.pictures and self.page_text is not None:
                content.append(_text(self.page_text))
            return {**body, "messages": self._messages(content)}
        if batch.texts:
            return {**body, "input": texts}
        return {**body, "input": [each.url for each in batch.pictures], "modality": "image"}

    def _messages(self, content: Content) -> list[Answer]:
        """Return the chat that is embedded."""
        system = [] if self.system is None else [{"role": "system", "content": [_text(self.system)]}]
        return [*system, {"role": "user", "content": content}]

    def vectors_in(self, answer: Answer) -> list[Any]:
        """Return the vectors of a reply."""
        return by_index(answer, self.base_url, *(["data"] if self.many else []), "embedding")

    def tokens_in(self, answer: Answer) -> int | None:
        """Return the tokens of a reply."""
        return count(answer, "usage", "prompt_tokens")


def _text(text: str) -> dict[str, Any]:
    """Return a text as a part of a message."""
    return {"type": "text", "text": text}
