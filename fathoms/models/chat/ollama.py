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

from fathoms.component import Component, Loads
from fathoms.config import import_target
from fathoms.errors import ConfigError, MissingExtraError, ModelError, NoAnswerError, ServerError
from fathoms.models.chat.chat_component import ChatComponent, refuse_files
from fathoms.models.chat.closed_errors import Sender, quoted
from fathoms.models.chat.cuts import prompt_cut
from fathoms.models.chat.forms import schema_of
from fathoms.models.chat.llamaindex_replies import embeddings, unit_rows
from fathoms.models.chat.ollama_chat import OllamaAnswer, chat_message
from fathoms.models.options import Address, Options, http_address, resolved, secret_values, without_secrets
from fathoms.models.prices import on_this_machine
from fathoms.models.protocols import TextEmbedder
from fathoms.models.wire import Request, exchange
from fathoms.safety.masking import Mask
from fathoms.safety.option_limits import LONGEST_WAIT, MOST_AT_ONCE, MOST_TEXTS, MOST_TOKENS
from fathoms.safety.transport import IDENTITY, await_in_thread, fetch, hook
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Prompt, Reply

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_CHECK_SECONDS = 10
_LONGEST_DIGEST = 200
_KEEP = 16  # upper bound of the tokens that Ollama keeps of a prompt's beginning when it cuts the prompt
_VISION_FAMILIES = {"clip", "mllama"}


class _FromOllama(Component):
    """The options of both adapters: the model and its server.

    Fingerprints contain only the name of the model, so that they can be computed while the server is off. The
    digest of the model is recorded in the manifest of a run (`served`).
    """

    neutral: ClassVar[frozenset[str]] = frozenset(
        {"base_url", "keep_alive", "request_timeout", "max_concurrency", "batch_size"}
    )

    loads: ClassVar[Mapping[str, Loads]] = {"base_url": Loads("server")}
    own_keys: ClassVar[Mapping[str, str]] = {"num_ctx": "n_ctx"}
    """Options of Ollama that have their own key in the config, mapped to that key."""

    model: str = Field(min_length=1)
    """The name that `ollama list` shows."""
    base_url: Address | None = None
    """Address of the server. If not given, `$OLLAMA_HOST` is used, or http://127.0.0.1:11434 if that is not
    set."""
    keep_alive: str | float | None = None
    """How long the server keeps the model loaded after a request, for example `30m`; the server's default if
    not given."""
    request_timeout: float = Field(default=300, gt=0, le=LONGEST_WAIT)
    """Seconds without any data from the server after which a request fails."""
    options: Options = Field(default_factory=dict)
    """Other options of Ollama by their own names, such as `num_gpu`. Options that have their own key in this
    section are refused here. `${NAME}` in a text is replaced by that environment variable when the request is
    sent, and is stored unreplaced."""

    @field_validator("options")
    @classmethod
    def _others(cls, options: dict[str, Any]) -> dict[str, Any]:
        """Refuse options that have their own key, because one of the two values would be ignored silently."""
        for name, key in cls.own_keys.items():
            if name in options:
                raise ValueError(f"'{name}' is not allowed here: set '{key}' instead")
        return options

    def identity(self) -> dict[str, Any]:
        """Extend the identity by the values of environment variables in `options`, except secrets."""
        return {**super().identity(), "resolved": fingerprint(without_secrets(self.options))}

    @property
    def address(self) -> str:
        """The address of the server."""
        return self.base_url or server_address()

    @property
    def _who(self) -> str:
        """The name of the server in error messages."""
        return f"Ollama at {self.address}"

    def served(self) -> dict[str, Any]:
        """Return the digest of the model as `{"digest": ...}`; empty if the server does not report it."""
        for model in _models(self.address):
            if model.get("name") in (self.model, f"{self.model}:latest"):
                digest = model.get("digest")
                return {"digest": digest[:_LONGEST_DIGEST]} if isinstance(digest, str) else {}
        return {}

    def _shown(self) -> dict[str, Any]:
        """Return the server's description of the model; raises ServerError without server or model."""
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
        reported = shown.get("error") if isinstance(shown, dict) else None
        if answer.status != 200 or reported:
            said = f": {quoted(str(reported))}" if isinstance(reported, str) else ""
            raise ServerError(
                f"the Ollama server at {self.address} failed, with status {answer.status}{said}"
            )
        if not isinstance(shown, dict):
            raise ServerError(
                f"{self.address} answers, but not as an Ollama server does: set base_url or OLLAMA_HOST"
            )
        return shown

    def _require_context(self, shown: dict[str, Any], n_ctx: int | None) -> None:
        """Raise ConfigError if `n_ctx` exceeds the context of the model, which the server would reduce
        silently."""
        info = shown.get("model_info")
        found = info if isinstance(info, dict) else {}
        lengths = [n for key, n in found.items() if key.endswith(".context_length") and isinstance(n, int)]
        if n_ctx is not None and lengths and n_ctx > lengths[0]:
            raise ConfigError(f"n_ctx is {n_ctx}, the longest context of {self.model} is {lengths[0]}")


class OllamaLLM(ChatComponent, _FromOllama):
    """`kind: ollama`: a chat model that was downloaded with `ollama pull`."""

    own_keys: ClassVar[Mapping[str, str]] = {
        "num_ctx": "n_ctx",
        "num_predict": "max_tokens",
        "temperature": "temperature",
        "top_p": "top_p",
        "seed": "seed",
    }

    kind: Literal["ollama"] = "ollama"
    n_ctx: int = Field(default=8192, ge=64, le=MOST_TOKENS)
    """Context window in tokens, prompt and reply together (Ollama's `num_ctx`). The server silently cuts a
    longer prompt; the reply then has `prompt_cut` set."""
    max_tokens: int = Field(default=512, ge=1, le=MOST_TOKENS)
    """Maximum length of a reply in tokens (Ollama's `num_predict`)."""
    temperature: float = Field(default=0.0, ge=0, le=100)
    """Sampling temperature; 0 always takes the most likely token."""
    top_p: float | None = Field(default=None, gt=0, le=1)
    """Probability mass of nucleus sampling; the model's default (usually 0.9) if not given."""
    seed: int | None = Field(default=None, ge=0, le=2**63 - 1)
    """Random seed of the sampling; a new one for every request if not given."""
    think: bool | Literal["low", "medium", "high"] | None = None
    """Whether, or how much, a reasoning model reasons before it answers; the model's default if not given."""
    max_concurrency: int = Field(default=1, ge=1, le=MOST_AT_ONCE)
    """Maximum number of requests at a time. The server's `OLLAMA_NUM_PARALLEL` limits how many it processes
    in parallel."""

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine, and does not pass requests on to Ollama's cloud."""
        return on_this_machine(self.address) and not self.model.endswith(("-cloud", ":cloud"))

    @property
    def context_window(self) -> int:
        """Maximum number of tokens of prompt and reply together."""
        return self.n_ctx

    def check(self) -> None:
        """Check the server and the options, and raise an error before a run.

        Raises ServerError if there is no server or no such model; ConfigError if `n_ctx` is too large, the
        model cannot think, or an environment variable is not set.
        """
        resolved(self.options)
        shown = self._shown()
        self._require_context(shown, self.n_ctx)
        capabilities = _names(shown.get("capabilities"))
        if self.think and capabilities is not None and "thinking" not in capabilities:
            raise ConfigError(f"{self.model} is not a reasoning model: remove 'think'")

    def check_images(self) -> None:
        """Raise ConfigError if the model accepts no images, ServerError if there is no server or no such
        model."""
        if not _sees(self.address, self.model):
            raise ConfigError(self._sees_nothing())

    def _sees_nothing(self) -> str:
        """Return the error message for images sent to a model that accepts none."""
        return f"{self.model} accepts no images: use a vision model, or chunks without images"

    async def reply(self, prompt: Prompt) -> Reply:
        """Send the prompt and return the reply; raises ModelError.

        Images for a model that accepts none are also an error, because old servers would silently ignore
        them, and so are PDFs, for which the API has no place.
        """
        refuse_files(self.model, prompt)
        images = any(message.images for message in prompt.messages)
        if images and not await await_in_thread(partial(_sees, self.address, self.model)):
            raise ModelError(self._sees_nothing())
        sender = Sender(self._who, None, "", self.request_timeout, tuple(secret_values(self.options)))
        answer = OllamaAnswer(sender)
        await exchange(Request(f"{self.address}/api/chat", self._body(prompt), sender), answer.hear)
        reply = answer.reply()
        return reply.model_copy(update={"prompt_cut": _was_cut(prompt, reply, self.n_ctx)})

    def _body(self, prompt: Prompt) -> dict[str, Any]:
        """Return the body of a request."""
        own = {"keep_alive": self.keep_alive, "think": self.think}
        return {
            "model": self.model,
            "messages": [chat_message(message) for message in prompt.messages],
            "stream": True,
            "options": self._sampling(),
            **({"format": schema_of(prompt.form)} if prompt.form else {}),
            **{name: value for name, value in own.items() if value is not None},
        }

    def _sampling(self) -> dict[str, Any]:
        """Return all options of a request under Ollama's names."""
        own = {
            "num_ctx": self.n_ctx,
            "num_predict": self.max_tokens,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "seed": self.seed,
        }
        return {**resolved(self.options), **{name: value for name, value in own.items() if value is not None}}


class OllamaEmbedder(_FromOllama, TextEmbedder):
    """`kind: ollama`: an embedding model that was downloaded with `ollama pull`."""

    packages: ClassVar[tuple[str, ...]] = ("llama-index-embeddings-ollama",)

    kind: Literal["ollama"] = "ollama"
    model: str = Field(default="nomic-embed-text", min_length=1)
    """The name that `ollama list` shows."""
    n_ctx: int | None = Field(default=None, ge=16, le=MOST_TOKENS)
    """Maximum number of tokens of one text; the server silently cuts longer texts. The model's own limit if
    not given."""
    query_instruction: str | None = None
    """Text put before every question, followed by a space, for example `search_query:`."""
    text_instruction: str | None = None
    """Text put before every document text, followed by a space, for example `search_document:`."""
    batch_size: int = Field(default=16, ge=1, le=MOST_TEXTS)
    """Maximum number of texts in one request."""

    def check(self) -> None:
        """Check package, server and options, and raise an error before a run.

        Raises MissingExtraError; ServerError if there is no server or no such model; ConfigError if `n_ctx`
        is too large or an environment variable is not set.
        """
        _import("llama_index.embeddings.ollama:OllamaEmbedding", "llama-index-embeddings-ollama")
        resolved(self.options)
        self._require_context(self._shown(), self.n_ctx)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors of documents, shape (n, d); shape (0, 0) for no texts, as d is not known
        then."""
        return unit_rows(texts, lambda sent: self._called("get_text_embedding_batch", sent), self._who)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors of questions, shape (n, d)."""
        return unit_rows(
            texts, lambda sent: [self._called("get_query_embedding", text) for text in sent], self._who
        )

    def _called(self, method: str, argument: Any) -> Any:
        """Call a method of LlamaIndex's embedding client and return its result."""
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
    """Return the server address that Ollama's own commands use: `$OLLAMA_HOST`, or http://127.0.0.1:11434.

    The variable has the form `[SCHEME://][HOST][:PORT][/PATH]`. Raises ConfigError if its value is not valid;
    the message does not repeat the value, which may contain a password.
    """
    setting = os.environ.get("OLLAMA_HOST", "").strip(" \t\"'")
    scheme, separator, rest = setting.rpartition("://")
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
    """Return the version of the Ollama server at an address, `None` if none answers."""
    with suppress(ModelError, ValueError, KeyError, TypeError):
        version = fetch("GET", f"{address}/api/version", seconds=_CHECK_SECONDS).json()["version"]
        return version[:_LONGEST_DIGEST] if isinstance(version, str) else None
    return None


def server_models(address: str) -> list[str]:
    """Return the names of the models on the Ollama server at an address; empty if no server answers."""
    return sorted(model["name"] for model in _models(address) if isinstance(model.get("name"), str))


def _models(address: str) -> list[dict[str, Any]]:
    """Return the server's entries of its models; empty if it does not answer."""
    with suppress(ModelError, ValueError, KeyError, TypeError):
        entries = fetch("GET", f"{address}/api/tags", seconds=_CHECK_SECONDS).json()["models"]
        return [model for model in entries if isinstance(model, dict)]
    return []


def _was_cut(prompt: Prompt, reply: Reply, n_ctx: int) -> bool | None:
    """Return whether Ollama cut the prompt, `None` if the number of tokens it read does not tell.

    Ollama counts the tokens that are left after the cut. Version 0.5.4 leaves `n_ctx` tokens: the first few
    of the prompt, and its end. Versions 0.32 and 0.33 leave half of the context plus half of the first few
    (Ollama issues 17427 and 17889). Any other count means that the prompt was read completely.
    """
    proven = prompt_cut(prompt, reply.usage, n_ctx)
    read = reply.usage.prompt_tokens
    if proven is not None or not read:
        return proven
    return None if n_ctx // 2 <= read <= n_ctx // 2 + _KEEP else False


@lru_cache
def _sees(address: str, model: str) -> bool:
    """Return whether a model accepts images. Old servers report only the model families, not the
    capabilities."""
    shown = OllamaLLM(model=model, base_url=address)._shown()
    if (capabilities := _names(shown.get("capabilities"))) is not None:
        return "vision" in capabilities
    details = shown.get("details")
    families = details.get("families") if isinstance(details, dict) else None
    return bool(_VISION_FAMILIES & (_names(families) or set()))


def _names(listed: Any) -> set[str] | None:
    """Return the texts in a list as a set, `None` if the value is not a list."""
    return {name for name in listed if isinstance(name, str)} if isinstance(listed, list) else None


@lru_cache(maxsize=8)
def _embedding_client(settings: str, timeout: float) -> Any:
    """Create LlamaIndex's embedding client with these settings (JSON); it keeps no connection open."""
    import httpx

    target = "llama_index.embeddings.ollama:OllamaEmbedding"
    client_class = _import(target, "llama-index-embeddings-ollama")
    options = {
        "timeout": timeout,
        "limits": httpx.Limits(max_keepalive_connections=0),
        "headers": IDENTITY,
        "event_hooks": {"response": [hook()]},
        "follow_redirects": False,
    }
    return client_class(**json.loads(settings), client_kwargs=options)


def _import(target: str, package: str) -> Any:
    """Import a class; raises MissingExtraError if its package is not installed."""
    try:
        return import_target(target)
    except ConfigError as error:
        raise MissingExtraError(package, "ollama", "a model of an Ollama server") from error
