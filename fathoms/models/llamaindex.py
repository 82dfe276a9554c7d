"""Any LLM or embedding class of LlamaIndex, used as it is."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from fathoms.config import Component, fingerprint, import_target, package_version
from fathoms.errors import ConfigError, MissingExtraError, ModelError
from fathoms.models.options import Options, resolved, without_secrets
from fathoms.models.reasoning import split_reasoning
from fathoms.models.vectors import normalised
from fathoms.types import Message, Prompt, Reply, Usage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# where the clients of LlamaIndex leave what the server said: OpenAI and alike, Anthropic, Ollama, Google
_PROMPT_TOKENS = (
    "usage.prompt_tokens",
    "usage.input_tokens",
    "prompt_eval_count",
    "usage_metadata.prompt_token_count",
)
_COMPLETION_TOKENS = (
    "usage.completion_tokens",
    "usage.output_tokens",
    "eval_count",
    "usage_metadata.candidates_token_count",
)
_CACHED_TOKENS = (
    "usage.prompt_tokens_details.cached_tokens",
    "usage.cache_read_input_tokens",
    "usage_metadata.cached_content_token_count",
)
_STOP_REASON = ("choices.0.finish_reason", "stop_reason", "done_reason", "finish_reason")
_REASONING = ("choices.0.message.reasoning_content", "choices.0.message.reasoning", "message.thinking")


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
        own["versions"][_distribution(self.target)] = package_version(_distribution(self.target))
        return {**own, "resolved": fingerprint(without_secrets(self.options))}

    def check(self) -> None:
        """Raise MissingExtraError or ConfigError for a class or an environment variable that is not here."""
        _class(self.target)
        resolved(self.options)

    def _made(self, scope: object = None) -> Any:
        """The client, made once a scope."""
        options = {**({"model": self.model} if self.model else {}), **self.options}
        return _make(self.target, json.dumps(options, sort_keys=True), scope)


class LlamaIndexLLM(_FromLlamaIndex):
    """`kind: llamaindex`: for example `target: llama_index.llms.openai_like:OpenAILike`."""

    neutral: ClassVar[frozenset[str]] = frozenset({"max_concurrency"})

    kind: Literal["llamaindex"] = "llamaindex"
    max_concurrency: int = Field(default=4, ge=1)
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
        llm = self._made(asyncio.get_running_loop())
        messages = [_chat_message(message) for message in prompt.messages]
        started = time.perf_counter()
        try:
            response = await llm.achat(messages)
        except Exception as error:  # every client has a tree of errors of its own
            raise ModelError(f"{self.target}: {type(error).__name__}: {error}") from error
        return _reply(response, time.perf_counter() - started)

    def count_tokens(self, messages: Sequence[Message]) -> None:
        """Not known before the call: the server's template and tokenizer are its own."""


class LlamaIndexEmbedder(_FromLlamaIndex):
    """`kind: llamaindex`: for example `target: llama_index.embeddings.openai_like:OpenAILikeEmbedding`."""

    kind: Literal["llamaindex"] = "llamaindex"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of documents, shape (n, d); (0, 0) for no text, as the width is not known."""
        return _matrix(self._called("get_text_embedding_batch", list(texts)) if texts else [])

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of questions, shape (n, d): the class may put them differently."""
        return _matrix([self._called("get_query_embedding", text) for text in texts])

    def _called(self, method: str, argument: Any) -> Any:
        """The result of a method; whatever the client raises comes out as ModelError."""
        client = self._made()
        try:
            return getattr(client, method)(argument)
        except Exception as error:  # every client has a tree of errors of its own
            raise ModelError(f"{self.target}: {type(error).__name__}: {error}") from error


@lru_cache(maxsize=8)
def _make(target: str, options: str, scope: object) -> Any:
    """An instance of the class. Its connections belong to one event loop: that is the `scope`."""
    try:
        return _class(target)(**resolved(json.loads(options)))
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{target} does not take these options: {error}") from error


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
        raise ConfigError(f"'{target}' is not installed: pip install {_distribution(target)}") from error


def _distribution(target: str) -> str:
    """The name under which an integration of LlamaIndex is published."""
    parts = target.partition(":")[0].split(".")
    return "-".join(parts[:3] if parts[0] == "llama_index" else parts[:1]).replace("_", "-")


def _chat_message(message: Message) -> Any:
    """Our message as theirs."""
    from llama_index.core.llms import ChatMessage

    return ChatMessage(role=message.role, content=message.text)


def _reply(response: Any, seconds: float) -> Reply:
    """Their response as our noun; what the server did not say is `None`."""
    thoughts = [block.content for block in response.message.blocks if block.block_type == "thinking"]
    reasoning, text = split_reasoning(response.message.content or "")
    raw, stop = response.raw, _find(response.raw, _STOP_REASON)
    return Reply(
        text=text,
        reasoning=_find(raw, _REASONING) or "\n".join(filter(None, thoughts)) or reasoning,
        stop_reason=None if stop is None else str(stop),
        usage=Usage(
            prompt_tokens=_find(raw, _PROMPT_TOKENS),
            completion_tokens=_find(raw, _COMPLETION_TOKENS),
            cached_tokens=_find(raw, _CACHED_TOKENS),
        ),
        latency=seconds,
    )


def _find(raw: Any, paths: Sequence[str]) -> Any:
    """What stands at the first path that leads anywhere, through mappings, sequences and objects."""
    for path in paths:
        value = raw
        for step in path.split("."):
            value = _step(value, step)
        if value is not None:
            return value
    return None


def _step(value: Any, step: str) -> Any:
    """One step of a path, `None` where it leads nowhere."""
    if isinstance(value, dict):
        return value.get(step)
    if isinstance(value, list):
        return value[int(step)] if step.isdigit() and int(step) < len(value) else None
    return getattr(value, step, None)


def _matrix(rows: Sequence[Sequence[float]]) -> NDArray[np.float32]:
    """Unit rows."""
    import numpy as np

    return normalised(np.array(rows, dtype=np.float32).reshape(len(rows), -1 if rows else 0))
