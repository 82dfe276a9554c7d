"""Any LLM or embedding class of LlamaIndex, used as it is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from fathoms.config import Component, fingerprint, import_target, package_version
from fathoms.errors import ConfigError, MissingExtraError
from fathoms.models.chat.llamaindex_replies import chat, embeddings, unit_rows
from fathoms.models.options import Options, resolved, secret_values, without_secrets
from fathoms.models.prices import Priced
from fathoms.safety.limits import MOST_AT_ONCE
from fathoms.safety.masking import Mask
from fathoms.types import Message, Prompt, Reply

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class _FromLlamaIndex(Component):
    """What both adapters share: a class by its import path, and what its constructor takes."""

    packages: ClassVar[tuple[str, ...]] = ("llama-index-core",)

    target: str
    """The class, as `package.module:Class`."""
    model: str = ""
    """Goes to the constructor as `model`, unless it is empty."""
    options: Options = Field(default_factory=dict)
    """Everything else that the constructor takes. `${NAME}` in a text is replaced by that environment
    variable when the client is made, and only there; keys and passwords must be given so."""

    def identity(self) -> dict[str, Any]:
        """With the version of the class's own package, and what environment variables say (not secrets)."""
        own = super().identity()
        own["versions"][distribution(self.target)] = package_version(distribution(self.target))
        return {**own, "resolved": fingerprint(without_secrets(self.options))}

    def check(self) -> None:
        """Raise MissingExtraError or ConfigError for a class or an environment variable that is not here."""
        _class(self.target)
        resolved(self.options)

    def _mask(self) -> Mask:
        """What hides the secrets among the options."""
        return Mask(secret_values(self.options))

    def _made(self, scope: object = None) -> Any:
        """The client, made once a scope."""
        options = {**({"model": self.model} if self.model else {}), **self.options}
        return _make(self.target, json.dumps(options, sort_keys=True), scope)


class LlamaIndexLLM(Priced, _FromLlamaIndex):
    """`kind: llamaindex`: for example `target: llama_index.llms.openai_like:OpenAILike`."""

    neutral: ClassVar[frozenset[str]] = frozenset({"max_concurrency"})

    kind: Literal["llamaindex"] = "llamaindex"
    max_concurrency: int = Field(default=4, ge=1, le=MOST_AT_ONCE)
    """Requests at once."""

    @property
    def context_window(self) -> None:
        """Not known: LlamaIndex makes up a number for models that it does not know."""

    @property
    def max_tokens(self) -> int | None:
        """The longest reply, as `options` say."""
        return self.options.get("max_tokens")

    async def reply(self, prompt: Prompt) -> Reply:
        """Ask the model; whatever the client raises comes out as ModelError."""
        client = self._made(asyncio.get_running_loop())
        return await chat(client, prompt, self.target, self._mask())

    def check_images(self) -> None:
        """Not known before the call."""

    @property
    def file_limits(self) -> None:
        """PDFs are not attached: their pages can be shown as images or text."""

    def count_tokens(self, messages: Sequence[Message]) -> None:
        """Not known before the call: the server's template and tokenizer are its own."""

    @property
    def counting_waits(self) -> bool:
        """There is nothing to ask."""
        return False


class LlamaIndexEmbedder(_FromLlamaIndex):
    """`kind: llamaindex`: for example `target: llama_index.embeddings.openai_like:OpenAILikeEmbedding`."""

    revision: ClassVar[int] = 2

    kind: Literal["llamaindex"] = "llamaindex"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of documents, shape (n, d); (0, 0) for no text, as the width is not known."""

        def ask(sent: list[str]) -> Any:
            client, mask = self._made(), self._mask()
            return embeddings(client, "get_text_embedding_batch", sent, self.target, mask)

        return unit_rows(texts, ask, self.target)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of questions, shape (n, d): the class may put them differently."""

        def ask(sent: list[str]) -> Any:
            client, mask = self._made(), self._mask()
            return [embeddings(client, "get_query_embedding", text, self.target, mask) for text in sent]

        return unit_rows(texts, ask, self.target)


@lru_cache(maxsize=8)
def _make(target: str, options: str, scope: object) -> Any:
    """An instance of the class. Its connections belong to one event loop: that is the `scope`."""
    try:
        return _class(target)(**resolved(json.loads(options)))
    except (TypeError, ValueError) as error:  # which may show what it was given
        told = Mask(secret_values(json.loads(options))).text(str(error))
        raise ConfigError(f"{target} does not take these options: {told}") from None


def _class(target: str) -> Any:
    """The class, or the command that installs it."""
    try:
        return import_target(target)
    except ConfigError as error:
        missing = error.__cause__
        if not isinstance(missing, ModuleNotFoundError):
            raise
        if missing.name in {"llama_index", "llama_index.core"}:
            raise MissingExtraError("llama-index-core", "llamaindex", f"'{target}'") from error
        raise ConfigError(f"'{target}' is not installed: pip install {distribution(target)}") from error


def distribution(target: str) -> str:
    """The name under which an integration of LlamaIndex is published."""
    parts = target.partition(":")[0].split(".")
    length = 1 if parts[0] != "llama_index" else 2 if parts[1:2] == ["core"] else 3
    return "-".join(parts[:length]).replace("_", "-")
