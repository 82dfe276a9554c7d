"""The common base of the adapters of closed APIs: key, limits, file uploads, errors, and timing.

Each adapter uses its vendor's own SDK. The retries of the SDKs are turned off, because the runner of the
questions retries calls itself.
"""

from __future__ import annotations

import asyncio
import re
import time
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from fathoms.component import Loads
from fathoms.errors import FathomsError, MissingExtraError
from fathoms.models.chat.chat_component import ChatComponent
from fathoms.models.chat.closed_errors import Fault, Sender, as_error, is_file_gone
from fathoms.models.chat.completion import as_count
from fathoms.models.options import (
    Address,
    Options,
    VariableName,
    env_key,
    resolved,
    secret_values,
    without_secrets,
)
from fathoms.models.protocols import FileLimits
from fathoms.safety.option_limits import LONGEST_WAIT, MOST_AT_ONCE
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Attachment, Prompt, Reply

KEEP_SECONDS = 24 * 3600
"""How long a vendor is asked to keep an uploaded file, in seconds."""
ONE_ANSWER = {"Connection": "close"}
"""Headers that close each connection after one answer. Without retries in the SDK, the next question would
fail if the server had closed an idle connection. It also ensures that no connection outlives its event
loop."""
_NEARLY_OVER = 600.0  # a file that expires in less than this many seconds is uploaded again
_MEGABYTE = 1_000_000
_BASE64 = 4 / 3
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True)
class Upload:
    """An uploaded file: its id or address for requests, and its expiry time (seconds since 1970)."""

    reference: str
    expires: float


_uploads: dict[tuple[str, ...], Upload] = {}
"""The files that this process has uploaded, by account and sha256."""


class Closed(ChatComponent):
    """Base class of models behind a vendor's API, which accept PDFs; keys come only from the environment."""

    neutral: ClassVar[frozenset[str]] = frozenset(
        {
            "api_key_env",
            "request_timeout",
            "max_concurrency",
            "stream",
            "attach",
            "max_pages",
            "max_images",
            "max_megabytes",
        }
    )
    module: ClassVar[str]
    """Import name of the SDK."""
    vendor_address: ClassVar[str]
    """Address of the API, as the vendor documents it."""
    uploaded_weight: ClassVar[float] = 1.0
    """Share of the size of an uploaded file that counts towards the size of a request that refers to it."""
    page_tokens: ClassVar[int] = 2000
    """Estimated number of tokens of a page of a PDF or of an image, for cost estimates before the call."""
    own_keys: ClassVar[frozenset[str]]
    """Names that are not allowed in `options`, because they have their own option or belong to the prompt."""

    loads: ClassVar[Mapping[str, Loads]] = {"base_url": Loads("server"), "api_key_env": Loads("variable")}

    model: str = Field(min_length=1)
    """A model id of the vendor, preferably one with a date, which always means the same model."""
    api_key_env: VariableName
    """The environment variable that holds the key."""
    base_url: Address | None = None
    """Address of another server with the same API, such as a gateway. If not given, the vendor's address is
    used; the environment variables of the SDK are ignored."""
    temperature: float | None = Field(default=None, ge=0, le=100)
    """Sampling temperature; the vendor's default if not given. Some models accept only the default."""
    top_p: float | None = Field(default=None, gt=0, le=1)
    """Probability mass of nucleus sampling; the vendor's default if not given."""
    options: Options = Field(default_factory=dict)
    """Further options of every request, such as reasoning settings. `${NAME}` in a text is replaced by that
    environment variable when the request is sent, and is stored unreplaced."""
    stream: bool = False
    """Whether to request the reply as a stream, which makes it possible to measure the time to the first
    token."""
    attach: Literal["inline", "upload"] = "inline"
    """How PDFs are sent: `inline` with every request, or `upload` once and then refer to them by their id."""
    max_pages: int | None = Field(default=None, ge=1, le=1_000_000)
    """Maximum number of PDF pages in one request; no limit if not given."""
    max_images: int | None = Field(default=None, ge=1, le=1_000_000)
    """Maximum number of images in one request; no limit if null."""
    max_megabytes: float | None = Field(default=None, gt=0, le=1_000_000)
    """Maximum size of one request in megabytes (10^6 bytes); no limit if null. A file that is sent inline
    counts 4/3 of its size, because it is encoded in base64."""
    request_timeout: float = Field(default=600, gt=0, le=LONGEST_WAIT)
    """Seconds without any data from the server after which a request fails."""
    max_concurrency: int = Field(default=4, ge=1, le=MOST_AT_ONCE)
    """Maximum number of requests at a time."""

    @field_validator("options")
    @classmethod
    def _has_no_own_keys(cls, options: dict[str, Any]) -> dict[str, Any]:
        for name in options:
            if _CAMEL.sub("_", name).lower() in cls.own_keys:
                raise ValueError(
                    f"'{name}' is not allowed here: it belongs to the prompt, or is set by a key of its own"
                )
        return options

    def identity(self) -> dict[str, Any]:
        """Extend the identity by the values of environment variables in `options`, except secrets."""
        return {**super().identity(), "resolved": fingerprint(without_secrets(self.options))}

    @property
    def address(self) -> str:
        """The address that requests are sent to."""
        return self.base_url or self.vendor_address

    def check(self) -> None:
        """Check the requirements without sending anything.

        Raises MissingExtraError if the SDK is not installed, ConfigError if the key or another environment
        variable is not set.
        """
        try:
            found = find_spec(self.module) is not None
        except ModuleNotFoundError:
            found = False
        if not found:
            raise MissingExtraError(self.packages[0], "closed", f"the API at {self.address}")
        self.key()
        resolved(self.options)

    def key(self) -> str:
        """Return the key; raises ConfigError if its variable is not set or cannot be sent in a header."""
        return env_key(self.api_key_env)

    @property
    def context_window(self) -> None:
        """Always `None`: it depends on the model, and the vendor rejects longer prompts."""

    @property
    def file_limits(self) -> FileLimits:
        """Limits of one request; data in base64 counts 4/3 of its size."""
        return FileLimits(
            pages=self.max_pages,
            size=None if self.max_megabytes is None else int(self.max_megabytes * _MEGABYTE),
            images=self.max_images,
            file_weight=_BASE64 if self.attach == "inline" else self.uploaded_weight,
            image_weight=_BASE64,
        )

    async def reply(self, prompt: Prompt) -> Reply:
        """Send the prompt and return the reply; raises ModelError, also if the stream breaks off."""
        sender = Sender(
            self.address,
            self.api_key_env,
            self.key(),
            self.request_timeout,
            tuple(secret_values(self.options)),
        )
        try:
            return _clean(await self._ask_with_files(prompt, sender.key), sender)
        except FathomsError:
            raise
        except Exception as error:  # every SDK has its own exception classes, and lets others through
            raise as_error(error, self.fault(error), sender) from error

    async def _ask_with_files(self, prompt: Prompt, key: str) -> Reply:
        """Send the prompt, uploading its files first if `attach` is `upload`. If the vendor no longer has one
        of the files, all are uploaded again."""
        files = {file.sha256: file for message in prompt.messages for file in message.files}
        if self.attach == "inline" or not files:
            return await self.ask(prompt, {}, key)
        uploads = await self._uploaded(files, key)
        try:
            return await self.ask(prompt, uploads, key)
        except Exception as error:
            if not is_file_gone(self.fault(error)):
                raise
        for sha256, file in files.items():
            _forget((self.address, key), file, uploads[sha256])
        return await self.ask(prompt, await self._uploaded(files, key), key)

    async def _uploaded(self, files: dict[str, Attachment], key: str) -> dict[str, Upload]:
        """Return the uploaded files by sha256; uploads those that are missing."""

        async def upload(file: Attachment) -> Upload:
            return await self.upload(file, key)

        return {
            sha256: await _upload_once((self.address, key), file, upload) for sha256, file in files.items()
        }

    def client(self, key: str) -> Any:
        """Return the SDK's client for the running event loop, to which its connections belong."""
        return _client(self.connect, self.address, key, self.request_timeout, asyncio.get_running_loop())

    @staticmethod
    @abstractmethod
    def connect(address: str, key: str, timeout: float) -> Any:
        """Create a client of the SDK without retries; `timeout` is in seconds."""

    @abstractmethod
    async def ask(self, prompt: Prompt, uploads: dict[str, Upload], key: str) -> Reply:
        """Send one request; `uploads` has the uploaded files by sha256."""

    @abstractmethod
    async def upload(self, file: Attachment, key: str) -> Upload:
        """Upload a file to the vendor."""

    @abstractmethod
    def fault(self, error: Exception) -> Fault:
        """Extract status, code and message from an exception of the SDK."""


@lru_cache(maxsize=24)
def _client(
    connect: Callable[[str, str, float], Any], address: str, key: str, timeout: float, loop: object
) -> Any:
    """Create a client, cached per event loop."""
    return connect(address, key, timeout)


async def _upload_once(
    account: tuple[str, ...], file: Attachment, upload: Callable[[Attachment], Awaitable[Upload]]
) -> Upload:
    """Return the uploaded file, uploading it if necessary. Concurrent questions wait for a single upload."""
    place = (*account, file.sha256)
    async with _locks(asyncio.get_running_loop())[place]:
        known = _uploads.get(place)
        if known is None or known.expires < time.time() + _NEARLY_OVER:
            known = _uploads[place] = await upload(file)
        return known


def _forget(account: tuple[str, ...], file: Attachment, known: Upload) -> None:
    """Forget a file that the vendor no longer has, unless it was uploaded again in the meantime."""
    place = (*account, file.sha256)
    if _uploads.get(place) == known:
        del _uploads[place]


@lru_cache(maxsize=8)
def _locks(loop: asyncio.AbstractEventLoop) -> defaultdict[tuple[str, ...], asyncio.Lock]:
    """Return the locks of an event loop, one per file."""
    return defaultdict(asyncio.Lock)


def _clean(reply: Reply, sender: Sender) -> Reply:
    """Return the reply with all secrets in its texts masked."""
    texts = {"text": sender.masked(reply.text), "reasoning": sender.masked(reply.reasoning)}
    words = {name: sender.word(getattr(reply, name)) for name in ("stop_reason", "refusal", "model")}
    return reply.model_copy(update={**texts, **words})


class Clock:
    """Measures the seconds from its creation to the first token and to the end of the reply."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self.first: float | None = None

    def token(self) -> None:
        """Record that a token has arrived."""
        if self.first is None:
            self.first = self.last

    @property
    def last(self) -> float:
        """Seconds from the creation of the clock until now."""
        return time.perf_counter() - self._started


def system_text(prompt: Prompt) -> str:
    """Join the system messages, for APIs that take them apart from the chat."""
    return "\n\n".join(message.text for message in prompt.messages if message.role == "system")


def part(value: Any, *names: str) -> Any:
    """Follow a path of attributes and return the value at its end; `None` if an attribute is missing."""
    for name in names:
        value = getattr(value, name, None)
    return value


def tokens(value: Any, *names: str) -> int | None:
    """Follow a path of attributes and return the count at its end; `None` if it is not a valid count."""
    return as_count(part(value, *names))


def total(*counts: int | None) -> int | None:
    """Return the sum of the known counts, `None` if none is known."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
