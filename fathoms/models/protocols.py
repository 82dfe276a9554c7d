"""The interfaces that every chat model and every embedder of texts implements, whatever its kind."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from fathoms.component import Component
from fathoms.types import Message, Prompt, Reply, Usage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class FileLimits:
    """Limits of one request: pages of attached PDFs, size in bytes as sent, and images. `None` means no known
    limit.

    The size of a file or an image counts `file_weight` or `image_weight` times: 4/3 if it is sent in base64,
    0 if it is not part of the request, such as an uploaded file.
    """

    pages: int | None
    size: int | None
    images: int | None = None
    file_weight: float = 1.0
    image_weight: float = 1.0


@dataclass(frozen=True)
class ImageLimits:
    """Limits of each image of a request. `None` means no known limit.

    `side` is the longest side in pixels, and `side_of_many` that in a request with more than `many` images.
    `size` is the size of an image in bytes as sent.
    """

    side: int | None = None
    many: int | None = None
    side_of_many: int | None = None
    size: int | None = None

    def side_among(self, images: int | None) -> int | None:
        """Return the longest side of an image in a request with so many images, `None` for an unknown
        number."""
        if self.many is not None and (images is None or images > self.many):
            return self.side_of_many
        return self.side


class ChatModel(Protocol):
    """A model that answers prompts. In all its results, `None` means that the value is not known."""

    @property
    def context_window(self) -> int | None:
        """Maximum number of tokens of prompt and reply together."""

    @property
    def max_tokens(self) -> int | None:
        """Maximum length of a reply in tokens."""

    @property
    def max_concurrency(self) -> int:
        """Maximum number of requests at a time."""

    def identity(self) -> dict[str, Any]:
        """Return everything that influences the reply to a given prompt; used in fingerprints."""

    def check(self) -> None:
        """Raise an error if a package, the weights or the key is missing; called before a run."""

    def check_images(self) -> None:
        """Raise an error if the model is known not to accept images; called before a run."""

    @property
    def file_limits(self) -> FileLimits | None:
        """Limits of requests with attached PDFs; `None` if the model does not accept PDFs."""

    @property
    def image_limits(self) -> ImageLimits:
        """Limits of each image of a request; `file_limits` has those of all images together."""

    async def reply(self, prompt: Prompt) -> Reply:
        """Send the prompt to the model and return its reply; raises ModelError if there is none."""

    def count_tokens(self, messages: Sequence[Message]) -> int | None:
        """Count the tokens of the messages with the tokenizer and chat template of the model."""

    def image_tokens(self, width: int, height: int) -> int | None:
        """Return the tokens that an image of this size in pixels is expected to take, for estimates."""

    @property
    def counting_waits(self) -> bool:
        """Whether `count_tokens` may block on a request to a server, so that it must not run on an event
        loop."""

    def cost(self, usage: Usage, named: str | None = None) -> float | None:
        """Return the cost of these tokens in US dollars; `named` is the model name that the server
        reported."""


class TextEmbedder(Component):
    """A model that turns texts into unit vectors: float32, shape (n, d), one row per text in the given
    order."""

    @abstractmethod
    def check(self) -> None:
        """Raise an error if a requirement (package, weights, server) is missing; called before a run."""

    @abstractmethod
    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of documents."""

    @abstractmethod
    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of questions, which some models embed with another prefix than documents."""
