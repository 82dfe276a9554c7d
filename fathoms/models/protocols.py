"""What every model of a room is asked for, whatever its kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from fathoms.types import Message, Prompt, Reply

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class FileLimits:
    """How much one request may hold: pages of attached PDFs, bytes as they are sent, images; `None` is no
    limit that is known. A file and an image count so many times their bytes (0 where they go apart)."""

    pages: int | None
    size: int | None
    images: int | None = None
    file_weight: float = 1.0
    image_weight: float = 1.0


class ChatModel(Protocol):
    """Answers prompts. `None` stands for what nobody can tell."""

    @property
    def context_window(self) -> int | None:
        """Tokens of prompt and reply together."""

    @property
    def max_tokens(self) -> int | None:
        """The longest reply, in tokens."""

    @property
    def max_concurrency(self) -> int:
        """Requests at once that it is meant for."""

    def identity(self) -> dict[str, Any]:
        """Everything that decides what it says to the same prompt."""

    def check(self) -> None:
        """Raise now what would fail later: a missing package, missing weights, a missing key."""

    def check_images(self) -> None:
        """Raise now where images cannot be seen."""

    @property
    def file_limits(self) -> FileLimits | None:
        """What it takes of attached PDFs, `None` where it takes none."""

    async def reply(self, prompt: Prompt) -> Reply:
        """One answer; raises ModelError where there is none."""

    def count_tokens(self, messages: Sequence[Message]) -> int | None:
        """Tokens of the messages as the model itself counts them."""

    @property
    def counting_waits(self) -> bool:
        """Whether counting asks a server: then it has no place on an event loop."""


class TextEmbedder(Protocol):
    """Turns texts into unit vectors, float32, shape (n, d), in the order given."""

    def identity(self) -> dict[str, Any]:
        """Everything that decides the vector of a text."""

    def check(self) -> None:
        """Raise now what would fail later."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of documents."""

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of questions, which some models put differently."""
