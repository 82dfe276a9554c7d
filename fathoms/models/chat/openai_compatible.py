"""Models of any server that speaks OpenAI's API: vLLM, llama-server, LM Studio."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from fathoms.config import Component, fingerprint, import_target, suggest
from fathoms.errors import ConfigError, MissingExtraError, ModelError, NoAnswerError, ServerError
from fathoms.models.chat.closed_errors import Sender
from fathoms.models.chat.completion import Completion, chat_messages
from fathoms.models.chat.counting import counted, counts_nothing
from fathoms.models.chat.cuts import prompt_cut
from fathoms.models.chat.llamaindex_replies import embeddings, unit_rows
from fathoms.models.options import (
    Address,
    Options,
    VariableName,
    env_key,
    resolved,
    secret_values,
    without_secrets,
)
from fathoms.models.prices import Priced
from fathoms.models.wire import Request, exchange
from fathoms.safety.limits import LONGEST_WAIT, MOST_AT_ONCE, MOST_TEXTS, MOST_TOKENS
from fathoms.safety.masking import Mask
from fathoms.safety.transport import client, fetch
from fathoms.types import Message, Prompt, Reply

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_EMBEDDING = "llama_index.embeddings.openai_like:OpenAILikeEmbedding"
_CHECK_SECONDS = 10
_NO_KEY = "none"  # without one, OpenAI's client would send the user's OPENAI_API_KEY to this server


class _FromServer(Component):
    """What both adapters share: a model by its name, its server, and the variable that holds the key."""

    neutral: ClassVar[frozenset[str]] = frozenset(
        {"base_url", "api_key_env", "request_timeout", "max_concurrency", "batch_size"}
    )

    base_url: Address
    """The server with the path of its API, mostly `/v1`: http://127.0.0.1:8000/v1."""
    model: str = Field(min_length=1)
    """The name that the server lists under `/models`."""
    api_key_env: VariableName | None = None
    """The environment variable that holds the key; no key if not given."""
    request_timeout: float = Field(default=300, gt=0, le=LONGEST_WAIT)
    """Seconds that the server may be silent."""
    extra_body: Options = Field(default_factory=dict)
    """What goes into the body of every request besides, such as vLLM's `chat_template_kwargs`. `${NAME}` in
    a text is replaced by that environment variable when the request is made, and only there."""

    def identity(self) -> dict[str, Any]:
        """With what environment variables say in `extra_body` (not secrets)."""
        return {**super().identity(), "resolved": fingerprint(without_secrets(self.extra_body))}

    def _require_model(self) -> dict[str, Any]:
        """What the server lists of the model; raises ConfigError, ServerError and what to do about it."""
        resolved(self.extra_body)
        listed = self._listed()
        found = {str(row.get("id")): row for row in listed}
        if found and self.model not in found:
            meant = self._sender().masked(suggest(self.model, found))
            raise ServerError(f"{self.base_url} has no model '{self.model}'{meant}")
        return found.get(self.model, {})

    def _listed(self) -> list[dict[str, Any]]:
        """The models of the server; some list none."""
        seconds = min(_CHECK_SECONDS, self.request_timeout)
        try:
            answer = fetch("GET", f"{self.base_url}/models", headers=self._headers(), seconds=seconds)
        except NoAnswerError as error:
            raise ServerError(f"no server at {self.base_url}: start it, or set base_url ({error})") from error
        except ModelError as error:
            raise ServerError(f"{self.base_url}/models: {error}") from error
        if answer.status in (401, 403):
            raise ServerError(f"{self.base_url} refuses the key: {self._sender().advice}")
        if answer.status != 200:
            raise ServerError(
                f"{self.base_url}/models answers with status {answer.status}:"
                " is that the path of its API? it mostly ends in /v1"
            )
        try:
            listed = answer.json().get("data") or []
        except (ValueError, AttributeError) as error:
            raise ServerError(f"{self.base_url}/models answers with something else than a list") from error
        if not (isinstance(listed, list) and all(isinstance(row, dict) for row in listed)):
            raise ServerError(f"{self.base_url}/models answers with something else than a list of models")
        return listed

    def _sender(self) -> Sender:
        """Who asks, for errors."""
        secrets = tuple(secret_values(self.extra_body))
        return Sender(self.base_url, self.api_key_env, self._key() or "", self.request_timeout, secrets)

    def _key(self) -> str | None:
        """The key; raises ConfigError where its variable is not set."""
        if self.api_key_env is None:
            return None
        return env_key(self.api_key_env)

    def _headers(self) -> dict[str, str]:
        """The key as the API takes it."""
        key = self._key()
        return {"Authorization": f"Bearer {key}"} if key else {}


class OpenAICompatibleLLM(Priced, _FromServer):
    """`kind: openai-compatible`: a chat model of a server that speaks OpenAI's API."""

    neutral: ClassVar[frozenset[str]] = _FromServer.neutral | {"stream"}

    kind: Literal["openai-compatible"] = "openai-compatible"
    n_ctx: int | None = Field(default=None, ge=64, le=MOST_TOKENS)
    """Tokens of prompt and reply together, as the server was started. Prompts are packed to fit where it
    counts tokens (vLLM, llama-server). Not known if not given, and nothing is packed then."""
    max_tokens: int = Field(default=512, ge=1, le=MOST_TOKENS)
    """The longest reply, in tokens."""
    temperature: float = Field(default=0.0, ge=0, le=100)
    """0 takes the most likely token."""
    top_p: float | None = Field(default=None, gt=0, le=1)
    """Nucleus sampling; the server's own default if not given."""
    seed: int | None = Field(default=None, ge=0, le=2**63 - 1)
    """Of the sampling; the server's own choice if not given."""
    stream: bool = True
    """Ask for the answer as it is written, so that the time of the first token is known. For servers that
    cannot: off."""
    max_concurrency: int = Field(default=4, ge=1, le=MOST_AT_ONCE)
    """Requests at once."""

    @property
    def context_window(self) -> int | None:
        """Tokens of prompt and reply together."""
        return self.n_ctx

    def check(self) -> None:
        """Raise ServerError (no server, no model, a refused key) or ConfigError."""
        longest = self._require_model().get("max_model_len")  # vLLM says so
        if self.n_ctx is not None and isinstance(longest, int) and self.n_ctx > longest:
            raise ConfigError(f"n_ctx is {self.n_ctx}, the server was started with {longest}")

    def check_images(self) -> None:
        """Not known before the call."""

    @property
    def file_limits(self) -> None:
        """PDFs are not attached: their pages can be shown as images or text."""

    async def reply(self, prompt: Prompt) -> Reply:
        """Ask the model; raises ModelError."""
        sender = self._sender()
        request = Request(f"{self.base_url}/chat/completions", self._body(prompt), sender, self._headers())
        completion = Completion(sender)
        await exchange(request, completion.hear)
        reply = completion.reply()
        return reply.model_copy(update={"prompt_cut": prompt_cut(prompt, reply.usage, self.n_ctx)})

    def _body(self, prompt: Prompt) -> dict[str, Any]:
        """What the server is sent."""
        own = {"top_p": self.top_p, "seed": self.seed}
        return {
            "model": self.model,
            "messages": chat_messages(prompt.messages),
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            **{name: value for name, value in own.items() if value is not None},
            **({"stream": True, "stream_options": {"include_usage": True}} if self.stream else {}),
            **resolved(self.extra_body),
        }

    def count_tokens(self, messages: Sequence[Message]) -> int | None:
        """Tokens of the messages where the server counts them; nobody counts images beforehand."""
        if any(message.images for message in messages):
            return None
        body = {**resolved(self.extra_body), "model": self.model, "messages": chat_messages(messages)}
        return counted(self.base_url, self._headers(), body, self.request_timeout)

    @property
    def counting_waits(self) -> bool:
        """Until the server is known not to count."""
        return not counts_nothing(self.base_url)


class OpenAICompatibleEmbedder(_FromServer):
    """`kind: openai-compatible`: an embedding model of a server that speaks OpenAI's API."""

    packages: ClassVar[tuple[str, ...]] = ("llama-index-embeddings-openai-like",)

    kind: Literal["openai-compatible"] = "openai-compatible"
    query_prefix: str = ""
    """Stands before every question, for models that were trained so."""
    document_prefix: str = ""
    """Stands before every other text."""
    batch_size: int = Field(default=32, ge=1, le=MOST_TEXTS)
    """Texts in one request."""

    def check(self) -> None:
        """Raise MissingExtraError, ServerError (no server, no model, a refused key) or ConfigError."""
        _import(_EMBEDDING, "llama-index-embeddings-openai-like")
        self._require_model()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of documents, shape (n, d); (0, 0) for no text, as the width is not known."""
        return self._embed(self.document_prefix, texts)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of questions, shape (n, d)."""
        return self._embed(self.query_prefix, texts)

    def _embed(self, prefix: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """In batches, in the order given."""
        options = {
            "api_base": self.base_url,
            "api_key": self._key() or _NO_KEY,
            "max_retries": 0,
            "timeout": self.request_timeout,
            "model_name": self.model,
            "embed_batch_size": self.batch_size,
            "additional_kwargs": {"extra_body": resolved(self.extra_body)} if self.extra_body else {},
        }
        settings = json.dumps(options, sort_keys=True)
        mask = Mask(self._sender().secrets)

        def ask(sent: list[str]) -> Any:
            asked, prefixed = _embedding_client(settings), [prefix + text for text in sent]
            seconds = self.request_timeout * math.ceil(len(sent) / self.batch_size)
            return embeddings(
                asked, "get_text_embedding_batch", prefixed, self.base_url, mask, seconds=seconds
            )

        return unit_rows(texts, ask, self.base_url)


@lru_cache(maxsize=8)
def _embedding_client(settings: str) -> Any:
    """LlamaIndex's embedding client of these settings."""
    made = _import(_EMBEDDING, "llama-index-embeddings-openai-like")
    return made(**json.loads(settings), http_client=client())


def _import(target: str, package: str) -> Any:
    """A class, or the command that installs it."""
    try:
        return import_target(target)
    except ConfigError as error:
        raise MissingExtraError(package, "openai-compatible", "a server of OpenAI's API") from error
