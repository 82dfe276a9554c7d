"""Models of any server with OpenAI's API, such as vLLM, llama-server and LM Studio."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from fathoms.component import Component, Loads
from fathoms.config import import_target
from fathoms.errors import ConfigError, MissingExtraError, ModelError, NoAnswerError, ServerError, suggest
from fathoms.models.chat.chat_component import ChatComponent
from fathoms.models.chat.closed_errors import Sender
from fathoms.models.chat.completion import Completion, chat_messages
from fathoms.models.chat.counting import counted, counts_nothing
from fathoms.models.chat.cuts import prompt_cut
from fathoms.models.chat.forms import response_format
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
from fathoms.models.prices import on_this_machine
from fathoms.models.protocols import TextEmbedder
from fathoms.models.wire import Request, exchange
from fathoms.safety.masking import Mask
from fathoms.safety.option_limits import LONGEST_WAIT, MOST_AT_ONCE, MOST_TEXTS, MOST_TOKENS
from fathoms.safety.transport import fetch, shared_client
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Message, Prompt, Reply

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_EMBEDDING = "llama_index.embeddings.openai_like:OpenAILikeEmbedding"
_CHECK_SECONDS = 10
_NO_KEY = "none"  # without a key, OpenAI's client would send the user's OPENAI_API_KEY to this server


class FromServer(Component):
    """The options of adapters to a server: the model, its server, and the environment variable of the key."""

    neutral: ClassVar[frozenset[str]] = frozenset(
        {"base_url", "api_key_env", "request_timeout", "max_concurrency", "batch_size"}
    )

    loads: ClassVar[Mapping[str, Loads]] = {"base_url": Loads("server"), "api_key_env": Loads("variable")}

    base_url: Address
    """Address of the server with the path of its API, usually `/v1`, for example http://127.0.0.1:8000/v1."""
    model: str = Field(min_length=1)
    """Name of the model, as the server lists it under `/models`."""
    api_key_env: VariableName | None = None
    """The environment variable that holds the key; no key is sent if not given."""
    request_timeout: float = Field(default=300, gt=0, le=LONGEST_WAIT)
    """Seconds without any data from the server after which a request fails."""
    extra_body: Options = Field(default_factory=dict)
    """Further fields in the body of every request, such as vLLM's `chat_template_kwargs`. `${NAME}` in a text
    is replaced by that environment variable when the request is sent, and is stored unreplaced."""

    def identity(self) -> dict[str, Any]:
        """Extend the identity by the values of environment variables in `extra_body`, except secrets."""
        return {**super().identity(), "resolved": fingerprint(without_secrets(self.extra_body))}

    def require_model(self) -> dict[str, Any]:
        """Return the server's entry of the model, empty if the server lists no models. Raises ConfigError if
        an environment variable is not set, ServerError if there is no server or no such model."""
        resolved(self.extra_body)
        listed = self._listed()
        found = {str(row.get("id")): row for row in listed}
        if found and self.model not in found:
            meant = self.sender().masked(suggest(self.model, found))
            raise ServerError(f"{self.base_url} has no model '{self.model}'{meant}")
        return found.get(self.model, {})

    def _listed(self) -> list[dict[str, Any]]:
        """Return the entries of the models that the server lists; some servers list none."""
        seconds = min(_CHECK_SECONDS, self.request_timeout)
        try:
            answer = fetch("GET", f"{self.base_url}/models", headers=self.headers(), seconds=seconds)
        except NoAnswerError as error:
            raise ServerError(f"no server at {self.base_url}: start it, or set base_url ({error})") from error
        except ModelError as error:
            raise ServerError(f"{self.base_url}/models: {error}") from error
        if answer.status in (401, 403):
            raise ServerError(f"{self.base_url} refuses the key: {self.sender().advice}")
        if answer.status != 200:
            raise ServerError(
                f"{self.base_url}/models answers with status {answer.status}:"
                " check that base_url is the path of its API, which usually ends in /v1"
            )
        try:
            listed = answer.json().get("data") or []
        except (ValueError, AttributeError) as error:
            raise ServerError(f"{self.base_url}/models does not answer with a list") from error
        if not (isinstance(listed, list) and all(isinstance(row, dict) for row in listed)):
            raise ServerError(f"{self.base_url}/models does not answer with a list of models")
        return listed

    def sender(self) -> Sender:
        """Return what error messages need to know about the caller, and the secrets to mask."""
        secrets = tuple(secret_values(self.extra_body))
        return Sender(self.base_url, self.api_key_env, self._key() or "", self.request_timeout, secrets)

    def _key(self) -> str | None:
        """Return the key, `None` if there is none; raises ConfigError if its variable is not set."""
        if self.api_key_env is None:
            return None
        return env_key(self.api_key_env)

    def headers(self) -> dict[str, str]:
        """Return the HTTP header with the key, if there is one."""
        key = self._key()
        return {"Authorization": f"Bearer {key}"} if key else {}


class OpenAICompatibleLLM(ChatComponent, FromServer):
    """`kind: openai-compatible`: a chat model of a server with OpenAI's API."""

    neutral: ClassVar[frozenset[str]] = FromServer.neutral | {"stream", "limit_name"}

    kind: Literal["openai-compatible"] = "openai-compatible"
    n_ctx: int | None = Field(default=None, ge=64, le=MOST_TOKENS)
    """Context window in tokens, prompt and reply together, with which the server was started. If the server
    counts tokens (vLLM, llama-server), prompts are shortened to fit. If not given, prompts are not
    shortened."""
    max_tokens: int = Field(default=512, ge=1, le=MOST_TOKENS)
    """Maximum length of a reply in tokens."""
    limit_name: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """Name under which the server is sent `max_tokens`: Azure's and OpenAI's reasoning models only take
    `max_completion_tokens`, most other servers only `max_tokens`."""
    temperature: float = Field(default=0.0, ge=0, le=100)
    """Sampling temperature; 0 always takes the most likely token."""
    top_p: float | None = Field(default=None, gt=0, le=1)
    """Probability mass of nucleus sampling; the server's default if not given."""
    seed: int | None = Field(default=None, ge=0, le=2**63 - 1)
    """Random seed of the sampling; chosen by the server if not given."""
    stream: bool = True
    """Whether to request the reply as a stream, so that the time to the first token is measured. Set it to
    false for servers that cannot stream."""
    max_concurrency: int = Field(default=4, ge=1, le=MOST_AT_ONCE)
    """Maximum number of requests at a time."""

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine and takes no key; one with a key may be a gateway to a
        vendor."""
        return on_this_machine(self.base_url) and self.api_key_env is None

    @property
    def context_window(self) -> int | None:
        """Maximum number of tokens of prompt and reply together; `None` if not configured."""
        return self.n_ctx

    def check(self) -> None:
        """Check the server, and raise an error before a run.

        Raises ServerError if there is no server or no such model, or the key is refused; ConfigError if a
        variable is not set or `n_ctx` exceeds the context of the server.
        """
        longest = self.require_model().get("max_model_len")  # only vLLM reports this
        if self.n_ctx is not None and isinstance(longest, int) and self.n_ctx > longest:
            raise ConfigError(f"n_ctx is {self.n_ctx}, the server was started with {longest}")

    async def reply(self, prompt: Prompt) -> Reply:
        """Send the prompt and return the reply; raises ModelError."""
        sender = self.sender()
        request = Request(f"{self.base_url}/chat/completions", self._body(prompt), sender, self.headers())
        completion = Completion(sender)
        is_whole = await exchange(request, completion.hear)
        reply = completion.reply(is_whole=is_whole)
        return reply.model_copy(update={"prompt_cut": prompt_cut(prompt, reply.usage, self.n_ctx)})

    def _body(self, prompt: Prompt) -> dict[str, Any]:
        """Return the body of a request."""
        own = {"top_p": self.top_p, "seed": self.seed}
        return {
            "model": self.model,
            "messages": chat_messages(prompt.messages),
            self.limit_name: self.max_tokens,
            "temperature": self.temperature,
            **{name: value for name, value in own.items() if value is not None},
            **({"stream": True, "stream_options": {"include_usage": True}} if self.stream else {}),
            **response_format(prompt.form),
            **resolved(self.extra_body),
        }

    def count_tokens(self, messages: Sequence[Message]) -> int | None:
        """Ask the server for the number of tokens; `None` if it does not count, or there are images or
        files."""
        if any(message.images or message.files for message in messages):
            return None
        body = {**resolved(self.extra_body), "model": self.model, "messages": chat_messages(messages)}
        return counted(self.sender(), self.headers(), body, self.request_timeout)

    @property
    def counting_waits(self) -> bool:
        """True unless the server is known not to count tokens."""
        return not counts_nothing(self.base_url)


class OpenAICompatibleEmbedder(FromServer, TextEmbedder):
    """`kind: openai-compatible`: an embedding model of a server with OpenAI's API."""

    packages: ClassVar[tuple[str, ...]] = ("llama-index-embeddings-openai-like",)

    kind: Literal["openai-compatible"] = "openai-compatible"
    query_prefix: str = ""
    """Text put before every question, for models that were trained with one."""
    document_prefix: str = ""
    """Text put before every document text."""
    batch_size: int = Field(default=32, ge=1, le=MOST_TEXTS)
    """Maximum number of texts in one request."""

    def check(self) -> None:
        """Check package and server, and raise an error before a run.

        Raises MissingExtraError, ServerError (no server, no such model, a refused key), or ConfigError.
        """
        _import(_EMBEDDING, "llama-index-embeddings-openai-like")
        self.require_model()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors of documents, shape (n, d); shape (0, 0) for no texts, as d is not known
        then."""
        return self._embed(self.document_prefix, texts)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors of questions, shape (n, d)."""
        return self._embed(self.query_prefix, texts)

    def _embed(self, prefix: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed the texts with a prefix, in batches and in the given order."""
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
        mask = Mask(self.sender().secrets)

        def ask(sent: list[str]) -> Any:
            client, prefixed = _embedding_client(settings), [prefix + text for text in sent]
            seconds = self.request_timeout * math.ceil(len(sent) / self.batch_size)
            return embeddings(
                client, "get_text_embedding_batch", prefixed, self.base_url, mask, seconds=seconds
            )

        return unit_rows(texts, ask, self.base_url)


@lru_cache(maxsize=8)
def _embedding_client(settings: str) -> Any:
    """Create LlamaIndex's embedding client with these settings (JSON)."""
    client_class = _import(_EMBEDDING, "llama-index-embeddings-openai-like")
    return client_class(**json.loads(settings), http_client=shared_client())


def _import(target: str, package: str) -> Any:
    """Import a class; raises MissingExtraError if its package is not installed."""
    try:
        return import_target(target)
    except ConfigError as error:
        raise MissingExtraError(package, "openai-compatible", "a server of OpenAI's API") from error
