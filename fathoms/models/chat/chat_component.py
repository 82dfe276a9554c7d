"""The base class of chat models, with the answers of `ChatModel` that most of them share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fathoms.errors import ModelError
from fathoms.models.prices import Priced
from fathoms.models.protocols import FileLimits, ImageLimits
from fathoms.types import Message, Prompt, Reply


class ChatComponent(Priced):
    """A chat model in the config: it accepts images as far as is known, but no PDFs, and counts no tokens."""

    if TYPE_CHECKING:  # options of some models, and properties of the others

        @property
        def context_window(self) -> int | None: ...

        @property
        def max_tokens(self) -> int | None: ...

        @property
        def max_concurrency(self) -> int: ...

        def check(self) -> None:
            """Raise an error if a package, the weights or the key is missing; called before a run."""

    @abstractmethod
    async def reply(self, prompt: Prompt) -> Reply:
        """Send the prompt to the model and return its reply; raises ModelError if there is none."""

    def check_images(self) -> None:
        """Do nothing: whether the model accepts images is not known before the call."""

    @property
    def file_limits(self) -> FileLimits | None:
        """`None`: PDFs are not sent as files, but their pages can be sent as images or text."""
        return None

    @property
    def image_limits(self) -> ImageLimits:
        """No limits: images are sent at their size."""
        return ImageLimits()

    def count_tokens(self, messages: Sequence[Message]) -> int | None:
        """Return `None`: the number of tokens is not known before the call."""
        return None

    def image_tokens(self, width: int, height: int) -> int | None:
        """Return the tokens that an image of this size in pixels is expected to take, for estimates; `None`
        if that is not known."""
        return None

    @property
    def counting_waits(self) -> bool:
        """False: no server is asked for counts."""
        return False


def refuse_files(model: str, prompt: Prompt) -> None:
    """Raise ModelError if PDFs are attached to the prompt of a model that reads none."""
    if any(message.files for message in prompt.messages):
        raise ModelError(f"{model} accepts no PDFs: send their pages as images or text")
