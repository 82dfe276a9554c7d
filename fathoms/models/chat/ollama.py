"""Models of an Ollama server: https://github.com/ollama/ollama."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, field_validator

from fathoms.config import Component, fingerprint, import_target
from fathoms.errors import ConfigError, MissingExtraError, ModelError, NoAnswerError, ServerError
from fathoms.models.chat.closed_errors import Sender, quoted
from fathoms.models.chat.cuts import prompt_cut
from fathoms.models.chat.llamaindex_replies import embeddings, unit_rows
from fathoms.models.chat.ollama_chat import OllamaAnswer, chat_message
from fathoms.models.options import Address, Options, http_address, resolved, secret_values, without_secrets
from fathoms.models.prices import Priced
from fathoms.models.wire import Request, exchange
from fathoms.safety.limits import LONGEST_WAIT, MOST_AT_ONCE, MOST_TEXTS, MOST_TOKENS
from fathoms.safety.masking import Mask
from fathoms.safety.transport import IDENTITY, apart, fetch, hook
from fathoms.types import Message, Prompt, Reply

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_CHECK_SECONDS = 10
_LONGEST_DIGEST = 200
_KEEP = 16  # no more tokens than this are kept of a prompt's beginning when Ollama cuts it
_VISION_FAMILIES = {"clip", "mllama"}


class _FromOllama(Component):
    """What both adapters share: a model by its name, and where its server is.

    Fingerprints hold the name alone, for they must be the same while the server is off; the digest of
    what it stood for is kept in the manifest of a run (`served`).
    """

    neutral: ClassVar[frozenset[str]] = frozenset(
        {"base_url", "keep_alive", "request_timeout", "max_concurrency", "batch_size"}
    )

    own_keys: ClassVar[Mapping[str, str]] = {"num_ctx": "n_ctx"}
    """The keys of the adapter, by the options of Ollama that they set."""

    model: str = Field(min_length=1)
    """The name that `ollama list` shows."""
    base_url: Address | None = None
    """The server; `$OLLAMA_HOST`, or else http://127.0.0.1:11434, if not given."""
    keep_alive: str | float | None = None
    """How long the server keeps the model loaded after a request, as `30m`; its own default if not given."""
    request_timeout: float = Field(default=300, gt=0, le=LONGEST_WAIT)
    """Seconds that the server may be silent."""
    options: Options = Field(default_factory=dict)
    """Any other option of Ollama by its own name, such as `num_gpu`; what has a key here stands there.
    `${NAME}` in a text is replaced by that environment variable when the request is made, and only there."""

    @field_validator("options")
    @classmethod
    def _others(cls, options: dict[str, Any]) -> dict[str, Any]:
        """Refuse what has a key here: one of the two would win without a word."""
        for name, key in cls.own_keys.items():
            if name in options:
                raise ValueError(f"'{name}' has no place here: set {key} itself")
        return options

    def identity(self) -> dict[str, Any]:
        """With what environment variables say in `options` (not secrets)."""
        return {**super().identity(), "resolved": fingerprint(without_secrets(self.options))}

    @property
    def address(self) -> str:
        """Where the server is looked for."""
        return self.base_url or server_address()

    @property
    def _who(self) -> str:
        """Who failed, in errors."""
        return f"Ollama at {self.address}"

    def served(self) -> dict[str, Any]:
        """The digest of the model; empty where the server does not say."""
        for model in _models(self.address):
            if model.get("name") in (self.model, f"{self.model}:latest"):
                digest = model.get("digest")
                return {"digest": digest[:_LONGEST_DIGEST]} if isinstance(digest, str) else {}
        return {}

    def _shown(self) -> dict[str, Any]:
        """What the server says about the model; raises ServerError where there is no server, or no model."""
        seconds = min(_CHECK_SECONDS, self.request_timeout)
        try:
            answer = fetch("POST", f"{self.address}/api/show", json={"model": self.model}, seconds=seconds)
        except NoAnswerError as error:
            raise ServerError(
                f"no Ollama server at {self.address}: start it with 'ollama serve',"
                f" or set base_url or OLLAMA_HOST ({error})"
            ) from error
        except ModelError as error:
            raise ServerError(f"the Ollama server at {self.address} failed: {error}") from error
        if answer.status == 404:
            raise ServerError(
                f"the Ollama server at {self.address} has no model '{self.model}':"
                f" run 'ollama pull {self.model}'"
            )
        try:
            shown = answer.json()
        except ValueError:
            shown = None
        told = shown.get("error") if isinstance(shown, dict) else None
        if answer.status != 200 or told:
            said = f": {quoted(str(told))}" if isinstance(told, str) else ""
            raise ServerError(
                f"the Ollama server at {self.address} failed, with status {answer.status}{said}"
            )
        if not isinstance(shown, dict):
            raise ServerError(
                f"no Ollama server at {self.address}: what answers there tells nothing of its models;"
                " set base_url or OLLAMA_HOST"
            )
        return shown

    def _require_context(self, shown: dict[str, Any], n_ctx: int | None) -> None:
        """Raise ConfigError for a context that the model was not made for: servers cut it down silently."""
        told = shown.get("model_info")
        found = told if isinstance(told, dict) else {}
        lengths = [n for key, n in found.items() if key.endswith(".context_length") and isinstance(n, int)]
        if n_ctx is not None and lengths and n_ctx > lengths[0]:
            raise ConfigError(f"n_ctx is {n_ctx}, the longest context of {self.model} is {lengths[0]}")


class OllamaLLM(Priced, _FromOllama):
    """`kind: ollama`: a chat model that `ollama pull` fetched."""

    own_keys: ClassVar[Mapping[str, str]] = {
        "num_ctx": "n_ctx",
        "num_predict": "max_tokens",
        "temperature": "temperature",
        "top_p": "top_p",
        "seed": "seed",
    }

    kind: Literal["ollama"] = "ollama"
    n_ctx: int = Field(default=8192, ge=64, le=MOST_TOKENS)
    """Tokens of prompt and reply together (Ollama's `num_ctx`). The server cuts a longer prompt without a
    word; `Reply.prompt_cut` says so."""
    max_tokens: int = Field(default=512, ge=1, le=MOST_TOKENS)
    """The longest reply, in tokens (`num_predict`)."""
    temperature: float = Field(default=0.0, ge=0, le=100)
    """0 takes the most likely token."""
    top_p: float | None = Field(default=None, gt=0, le=1)
    """Nucleus sampling; the model's own default (mostly 0.9) if not given."""
    seed: int | None = Field(default=None, ge=0, le=2**63 - 1)
    """Of the sampling; a new one every time if not given."""
    think: bool | Literal["low", "medium", "high"] | None = None
    """Whether a thinking model thinks, or how long; its own default if not given."""
    max_concurrency: int = Field(default=1, ge=1, le=MOST_AT_ONCE)
    """Requests at once; the server's `OLLAMA_NUM_PARALLEL` decides how many it really takes."""

    @property
    def context_window(self) -> int:
        """Tokens of prompt and reply together."""
        return self.n_ctx

    def check(self) -> None:
        """Raise MissingExtraError, ServerError (no server, no model) or ConfigError (context,
        thinking, variables)."""
        resolved(self.options)
        shown = self._shown()
        self._require_context(shown, self.n_ctx)
        capabilities = _names(shown.get("capabilities"))
        if self.think and capabilities is not None and "thinking" not in capabilities:
            raise ConfigError(f"{self.model} is no thinking model: leave 'think' out")

    def check_images(self) -> None:
        """Raise ServerError (no server, no model) or ConfigError (a model without sight)."""
        if not _sees(self.address, self.model):
            raise ConfigError(self._sees_nothing())

    @property
    def file_limits(self) -> None:
        """PDFs are not attached: their pages can be shown as images or text."""

    def _sees_nothing(self) -> str:
        """What to say to images for a model without sight."""
        return f"{self.model} sees no images: take a vision model, or chunks without images"

    async def reply(self, prompt: Prompt) -> Reply:
        """Ask the model; raises ModelError, also for an image to a model that sees none: old servers would
        answer as if there were no image."""
        images = any(message.images for message in prompt.messages)
        if images and not await apart(partial(_sees, self.address, self.model)):
            raise ModelError(self._sees_nothing())
        sender = Sender(self._who, None, "", self.request_timeout, tuple(secret_values(self.options)))
        answer = OllamaAnswer(sender)
        await exchange(Request(f"{self.address}/api/chat", self._body(prompt), sender), answer.hear)
        reply = answer.reply()
        return reply.model_copy(update={"prompt_cut": _was_cut(prompt, reply, self.n_ctx)})

    def _body(self, prompt: Prompt) -> dict[str, Any]:
        """What the server is sent."""
        own = {"keep_alive": self.keep_alive, "think": self.think}
        return {
            "model": self.model,
            "messages": [chat_message(message) for message in prompt.messages],
            "stream": True,
            "options": self._sampling(),
            **{name: value for name, value in own.items() if value is not None},
        }

    def count_tokens(self, messages: Sequence[Message]) -> None:
        """Not known before the call: Ollama has no way to ask."""

    @property
    def counting_waits(self) -> bool:
        """There is nothing to ask."""
        return False

    def _sampling(self) -> dict[str, Any]:
        """The options, by Ollama's names."""
        own = {
            "num_ctx": self.n_ctx,
            "num_predict": self.max_tokens,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "seed": self.seed,
        }
        return {**resolved(self.options), **{name: value for name, value in own.items() if value is not None}}


class OllamaEmbedder(_FromOllama):
    """`kind: ollama`: an embedding model that `ollama pull` fetched."""

    packages: ClassVar[tuple[str, ...]] = ("llama-index-embeddings-ollama",)

    kind: Literal["ollama"] = "ollama"
    model: str = Field(default="nomic-embed-text", min_length=1)
    """The name that `ollama list` shows."""
    n_ctx: int | None = Field(default=None, ge=16, le=MOST_TOKENS)
    """Tokens of one text; the server cuts a longer one without a word. The model's own if not given."""
    query_instruction: str | None = None
    """Stands before every question, such as `search_query:`, and a space."""
    text_instruction: str | None = None
    """Stands before every other text, such as `search_document:`, and a space."""
    batch_size: int = Field(default=16, ge=1, le=MOST_TEXTS)
    """Texts in one request."""

    def check(self) -> None:
        """Raise MissingExtraError, ServerError (no server, no model) or ConfigError (context, variables)."""
        _import("llama_index.embeddings.ollama:OllamaEmbedding", "llama-index-embeddings-ollama")
        resolved(self.options)
        self._require_context(self._shown(), self.n_ctx)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of documents, shape (n, d); (0, 0) for no text, as the width is not known."""
        return unit_rows(texts, lambda sent: self._called("get_text_embedding_batch", sent), self._who)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of questions, shape (n, d)."""
        return unit_rows(
            texts, lambda sent: [self._called("get_query_embedding", text) for text in sent], self._who
        )

    def _called(self, method: str, argument: Any) -> Any:
        """What a method of LlamaIndex's client returns."""
        settings = {
            "model_name": self.model,
            "base_url": self.address,
            "embed_batch_size": self.batch_size,
            "query_instruction": self.query_instruction,
            "text_instruction": self.text_instruction,
            "keep_alive": self.keep_alive,
            "ollama_additional_kwargs": resolved(self.options)
            | ({"num_ctx": self.n_ctx} if self.n_ctx else {}),
        }
        client = _embedding_client(json.dumps(settings, sort_keys=True), self.request_timeout)
        batches = math.ceil(len(argument) / self.batch_size) if isinstance(argument, list) else 1
        mask = Mask(secret_values(self.options))
        return embeddings(client, method, argument, self._who, mask, seconds=self.request_timeout * batches)


def server_address() -> str:
    """Where Ollama's own commands look for the server: `[SCHEME://][HOST][:PORT][/PATH]` in `$OLLAMA_HOST`.

    Raises ConfigError, which repeats nothing of it (there may be a password), where that is no address.
    """
    told = os.environ.get("OLLAMA_HOST", "").strip(" \t\"'")
    scheme, separator, rest = told.rpartition("://")
    place, slash, path = rest.partition("/")
    if not separator and not re.search(r":[^\]]*$", place):
        place += ":11434"
    if not place or place.startswith(":"):
        place = "127.0.0.1" + place
    try:
        return http_address(f"{scheme or 'http'}://{place}{slash}{path}")
    except ValueError as error:
        raise ConfigError(f"the environment variable OLLAMA_HOST: {error}") from error


def server_version(address: str) -> str | None:
    """The version of the Ollama server at an address, `None` where none answers."""
    with suppress(ModelError, ValueError, KeyError, TypeError):
        told = fetch("GET", f"{address}/api/version", seconds=_CHECK_SECONDS).json()["version"]
        return told[:_LONGEST_DIGEST] if isinstance(told, str) else None
    return None


def server_models(address: str) -> list[str]:
    """The models that the Ollama server at an address has; none where none answers."""
    return sorted(model["name"] for model in _models(address) if isinstance(model.get("name"), str))


def _models(address: str) -> list[dict[str, Any]]:
    """What the server tells of its models; nothing where it does not."""
    with suppress(ModelError, ValueError, KeyError, TypeError):
        told = fetch("GET", f"{address}/api/tags", seconds=_CHECK_SECONDS).json()["models"]
        return [model for model in told if isinstance(model, dict)]
    return []


def _was_cut(prompt: Prompt, reply: Reply, n_ctx: int) -> bool | None:
    """Whether Ollama cut the prompt.

    It counts what is left after the cut: in version 0.5.4 the whole context (`n_ctx` tokens, the first few
    of the prompt and its end), in 0.32 and 0.33 half of the context and half of those few (ollama issues
    17427 and 17889). Any other count is that of a whole prompt.
    """
    proven = prompt_cut(prompt, reply.usage, n_ctx)
    read = reply.usage.prompt_tokens
    if proven is not None or not read:
        return proven
    return None if n_ctx // 2 <= read <= n_ctx // 2 + _KEEP else False


@lru_cache
def _sees(address: str, model: str) -> bool:
    """Whether a model takes images; old servers tell it by the families of its parts only."""
    shown = OllamaLLM(model=model, base_url=address)._shown()
    if (capabilities := _names(shown.get("capabilities"))) is not None:
        return "vision" in capabilities
    details = shown.get("details")
    families = details.get("families") if isinstance(details, dict) else None
    return bool(_VISION_FAMILIES & (_names(families) or set()))


def _names(told: Any) -> set[str] | None:
    """The texts of a list, `None` where there is no list."""
    return {name for name in told if isinstance(name, str)} if isinstance(told, list) else None


@lru_cache(maxsize=8)
def _embedding_client(settings: str, timeout: float) -> Any:
    """LlamaIndex's embedding client of these settings; no connection outlives its request."""
    import httpx

    target = "llama_index.embeddings.ollama:OllamaEmbedding"
    made = _import(target, "llama-index-embeddings-ollama")
    options = {
        "timeout": timeout,
        "limits": httpx.Limits(max_keepalive_connections=0),
        "headers": IDENTITY,
        "event_hooks": {"response": [hook()]},
        "follow_redirects": False,
    }
    return made(**json.loads(settings), client_kwargs=options)


def _import(target: str, package: str) -> Any:
    """A class, or the command that installs it."""
    try:
        return import_target(target)
    except ConfigError as error:
        raise MissingExtraError(package, "ollama", "a model of an Ollama server") from error
