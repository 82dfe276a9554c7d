"""Adapters for any LLM class and any embedding class of LlamaIndex."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from fathoms.component import Component, Loads, package_version
from fathoms.config import import_target
from fathoms.errors import ConfigError, MissingExtraError
from fathoms.models.chat.chat_component import ChatComponent
from fathoms.models.chat.llamaindex_replies import chat, embeddings, unit_rows
from fathoms.models.options import Options, resolved, secret_values, without_secrets
from fathoms.models.protocols import TextEmbedder
from fathoms.safety.masking import Mask
from fathoms.safety.option_limits import MOST_AT_ONCE
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Prompt, Reply

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class _FromLlamaIndex(Component):
    """The options of both adapters: the import path of a class and the arguments of its constructor."""

    packages: ClassVar[tuple[str, ...]] = ("llama-index-core",)

    loads: ClassVar[Mapping[str, Loads]] = {"target": Loads("code")}

    target: str
    """The class, as `package.module:Class`."""
    model: str = ""
    """Passed to the constructor as `model`, unless it is empty."""
    options: Options = Field(default_factory=dict)
    """Further keyword arguments of the constructor. `${NAME}` in a text is replaced by that environment
    variable when the client is created, and is stored unreplaced. Keys and passwords must be given this
    way."""

    def identity(self) -> dict[str, Any]:
        """Extend the identity by the version of the package of the class, and by the values of environment
        variables in the options, except secrets."""
        own = super().identity()
        own["versions"][distribution(self.target)] = package_version(distribution(self.target))
        return {**own, "resolved": fingerprint(without_secrets(self.options))}

    def check(self) -> None:
        """Raise MissingExtraError or ConfigError if the class cannot be imported or a variable is not set."""
        _class(self.target)
        resolved(self.options)

    def _mask(self) -> Mask:
        """Return a mask that hides the secrets in the options."""
        return Mask(secret_values(self.options))

    def _client(self, scope: object = None) -> Any:
        """Return the client, created once per `scope`."""
        options = {**({"model": self.model} if self.model else {}), **self.options}
        return _make(self.target, json.dumps(options, sort_keys=True), scope)


class LlamaIndexLLM(ChatComponent, _FromLlamaIndex):
    """`kind: llamaindex`: an LLM class, for example `target: llama_index.llms.openai_like:OpenAILike`."""

    neutral: ClassVar[frozenset[str]] = frozenset({"max_concurrency"})

    kind: Literal["llamaindex"] = "llamaindex"
    max_concurrency: int = Field(default=4, ge=1, le=MOST_AT_ONCE)
    """Maximum number of requests at a time."""

    @property
    def context_window(self) -> None:
        """Always `None`, because LlamaIndex reports an invented number for models that it does not know."""

    @property
    def max_tokens(self) -> int | None:
        """Maximum length of a reply in tokens, if `max_tokens` is among the options."""
        return self.options.get("max_tokens")

    async def reply(self, prompt: Prompt) -> Reply:
        """Send the prompt and return the reply; every exception of the client is raised as ModelError."""
        client = self._client(asyncio.get_running_loop())
        return await chat(client, prompt, self.target, self._mask())


class LlamaIndexEmbedder(_FromLlamaIndex, TextEmbedder):
    """`kind: llamaindex`: an embedding class, for example
    `target: llama_index.embeddings.openai_like:OpenAILikeEmbedding`."""

    revision: ClassVar[int] = 2

    kind: Literal["llamaindex"] = "llamaindex"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors of documents, shape (n, d); shape (0, 0) for no texts, as d is not known
        then."""

        def ask(sent: list[str]) -> Any:
            client, mask = self._client(), self._mask()
            return embeddings(client, "get_text_embedding_batch", sent, self.target, mask)

        return unit_rows(texts, ask, self.target)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors of questions, shape (n, d), which may be embedded differently from
        documents."""

        def ask(sent: list[str]) -> Any:
            client, mask = self._client(), self._mask()
            return [embeddings(client, "get_query_embedding", text, self.target, mask) for text in sent]

        return unit_rows(texts, ask, self.target)


@lru_cache(maxsize=8)
def _make(target: str, options: str, scope: object) -> Any:
    """Create an instance of the class with options in JSON; raises ConfigError if it rejects them. `scope` is
    the event loop that the connections belong to, so that each loop gets its own cached instance."""
    try:
        return _class(target)(**resolved(json.loads(options)))
    except (TypeError, ValueError) as error:  # the message may repeat the options, secrets included
        problem = Mask(secret_values(json.loads(options))).text(str(error))
        raise ConfigError(f"{target} does not take these options: {problem}") from None


def _class(target: str) -> Any:
    """Import the class; raises MissingExtraError or ConfigError with the command that installs its
    package."""
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
    """Return the name of the package that a class is published in, by the naming rules of LlamaIndex."""
    parts = target.partition(":")[0].split(".")
    length = 1 if parts[0] != "llama_index" else 2 if parts[1:2] == ["core"] else 3
    return "-".join(parts[:length]).replace("_", "-")
