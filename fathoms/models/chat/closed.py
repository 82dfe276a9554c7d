"""What the adapters of closed APIs share: key, limits, files sent or uploaded, errors, and the clock.

Each adapter asks through its vendor's own SDK, whose retries are off: who runs the questions decides on them.
"""

from __future__ import annotations

import re
import time
from abc import abstractmethod
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from fathoms.config import fingerprint
from fathoms.errors import FathomsError, MissingExtraError
from fathoms.models.chat.closed_errors import Fault, Sender, as_error, is_file_gone, refusal_in
from fathoms.models.chat.closed_uploads import Held, forget, uploaded
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
from fathoms.models.prices import Priced
from fathoms.models.protocols import FileLimits
from fathoms.safety.limits import LONGEST_WAIT, MOST_AT_ONCE
from fathoms.types import Attachment, Message, Prompt, Reply

KEEP_SECONDS = 24 * 3600
"""How long a vendor that asks is to keep an uploaded file."""
ONE_ANSWER = {"Connection": "close"}
"""Headers: a connection ends with its answer. With retries off, an idle one that the server has dropped would
be a failure of the next question, and none outlives its event loop."""
_MEGABYTE = 1_000_000
_BASE64 = 4 / 3
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Closed(Priced):
    """A model behind a vendor's API. PDFs are attached as they are; keys come from the environment only."""

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
    """What the SDK is imported as."""
    vendor_address: ClassVar[str]
    """Where the API is, as the vendor documents it."""
    uploaded_weight: ClassVar[float] = 1.0
    """How many of the bytes of an uploaded file count as those of the request that names it."""
    page_tokens: ClassVar[int] = 2000
    """Tokens that a page of a PDF or an image is taken to be, before anything is billed."""
    own_keys: ClassVar[frozenset[str]]
    """What `options` may not name, for it has an option of its own or is the prompt."""

    model: str = Field(min_length=1)
    """Any id that the vendor knows, best one with a date."""
    api_key_env: VariableName
    """The environment variable that holds the key."""
    base_url: Address | None = None
    """Another address that speaks the API, such as a gateway. The vendor's own if not given, whatever the
    SDK's own environment variables say."""
    temperature: float | None = Field(default=None, ge=0, le=100)
    """The vendor's own default if not given; some models take no other."""
    top_p: float | None = Field(default=None, gt=0, le=1)
    """Nucleus sampling; the vendor's own default if not given."""
    options: Options = Field(default_factory=dict)
    """What goes into every request besides, such as the settings of reasoning. `${NAME}` in a text is
    replaced by that environment variable when the request is made, and only there."""
    stream: bool = False
    """Have the reply sent as it is written, which tells the time of its first token."""
    attach: Literal["inline", "upload"] = "inline"
    """How PDFs are sent: with every request, or uploaded once and named by their id."""
    max_pages: int | None = Field(default=None, ge=1, le=1_000_000)
    """Pages of PDFs in one request; no limit if not given."""
    max_images: int | None = Field(default=None, ge=1, le=1_000_000)
    """Images in one request; no limit if null."""
    max_megabytes: float | None = Field(default=None, gt=0, le=1_000_000)
    """Megabytes (10^6 bytes) of one request; a file that is sent inline takes four thirds of its size."""
    request_timeout: float = Field(default=600, gt=0, le=LONGEST_WAIT)
    """Seconds that the server may be silent."""
    max_concurrency: int = Field(default=4, ge=1, le=MOST_AT_ONCE)
    """Requests at once."""

    @field_validator("options")
    @classmethod
    def _has_no_own_keys(cls, options: dict[str, Any]) -> dict[str, Any]:
        for name in options:
            if _CAMEL.sub("_", name).lower() in cls.own_keys:
                raise ValueError(f"'{name}' has no place here: it is the prompt's, or an option of its own")
        return options

    def identity(self) -> dict[str, Any]:
        """With what environment variables say in `options` (not secrets)."""
        return {**super().identity(), "resolved": fingerprint(without_secrets(self.options))}

    @property
    def address(self) -> str:
        """Where requests go."""
        return self.base_url or self.vendor_address

    def check(self) -> None:
        """Raise MissingExtraError or ConfigError (a key or variable that is not set); nothing is sent."""
        try:
            found = find_spec(self.module) is not None
        except ModuleNotFoundError:
            found = False
        if not found:
            raise MissingExtraError(self.packages[0], "closed", f"the API at {self.address}")
        self.key()
        resolved(self.options)

    def key(self) -> str:
        """The key; raises ConfigError where its variable is not set, or holds what no header can."""
        return env_key(self.api_key_env)

    @property
    def context_window(self) -> None:
        """Not known: it is the model's, and the vendor refuses what is longer."""

    def check_images(self) -> None:
        """All of these APIs see."""

    def count_tokens(self, messages: Sequence[Message]) -> None:
        """Not known before the call."""

    @property
    def counting_waits(self) -> bool:
        """There is nothing to ask."""
        return False

    @property
    def file_limits(self) -> FileLimits:
        """Pages, images and bytes of one request: base64 makes four of three."""
        return FileLimits(
            pages=self.max_pages,
            size=None if self.max_megabytes is None else int(self.max_megabytes * _MEGABYTE),
            images=self.max_images,
            file_weight=_BASE64 if self.attach == "inline" else self.uploaded_weight,
            image_weight=_BASE64,
        )

    async def reply(self, prompt: Prompt) -> Reply:
        """Ask the model; raises ModelError, also for a stream that breaks off."""
        sender = Sender(
            self.address,
            self.api_key_env,
            self.key(),
            self.request_timeout,
            tuple(secret_values(self.options)),
        )
        clock = Clock()
        try:
            return _clean(await self._ask_with_files(prompt, sender.key), sender)
        except FathomsError:
            raise
        except Exception as error:  # every SDK has a tree of errors of its own, and lets others through
            fault = self.fault(error)
            refusal = refusal_in(fault)
            if refusal is None:
                raise as_error(error, fault, sender) from error
            return Reply(text="", refusal=refusal, stop_reason=fault.code, latency=clock.last)

    async def _ask_with_files(self, prompt: Prompt, key: str) -> Reply:
        """Ask, with the files uploaded where `attach` says so, and anew where the vendor has lost one."""
        files = {file.sha256: file for message in prompt.messages for file in message.files}
        if self.attach == "inline" or not files:
            return await self.ask(prompt, {}, key)
        held = await self._uploaded(files, key)
        try:
            return await self.ask(prompt, held, key)
        except Exception as error:
            if not is_file_gone(self.fault(error)):
                raise
        for sha256, file in files.items():
            forget((self.address, key), file, held[sha256])
        return await self.ask(prompt, await self._uploaded(files, key), key)

    async def _uploaded(self, files: dict[str, Attachment], key: str) -> dict[str, Held]:
        """Every file as the vendor holds it, by sha256."""

        async def upload(file: Attachment) -> Held:
            return await self.upload(file, key)

        return {sha256: await uploaded((self.address, key), file, upload) for sha256, file in files.items()}

    @abstractmethod
    async def ask(self, prompt: Prompt, held: dict[str, Held], key: str) -> Reply:
        """One request; `held` has the files that were uploaded, by sha256."""

    @abstractmethod
    async def upload(self, file: Attachment, key: str) -> Held:
        """Give the vendor a file to keep."""

    @abstractmethod
    def fault(self, error: Exception) -> Fault:
        """What an exception of the SDK says."""


def _clean(reply: Reply, sender: Sender) -> Reply:
    """A reply whose texts repeat no secret."""
    texts = {"text": sender.masked(reply.text), "reasoning": sender.masked(reply.reasoning)}
    words = {name: sender.word(getattr(reply, name)) for name in ("stop_reason", "refusal", "model")}
    return reply.model_copy(update={**texts, **words})


class Clock:
    """Seconds from the request to the first and to the last token."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self.first: float | None = None

    def token(self) -> None:
        """A token came."""
        if self.first is None:
            self.first = self.last

    @property
    def last(self) -> float:
        """Until now."""
        return time.perf_counter() - self._started


def system_text(prompt: Prompt) -> str:
    """What stands above the chat, for APIs that have a place of its own for it."""
    return "\n\n".join(message.text for message in prompt.messages if message.role == "system")


def part(value: Any, *names: str) -> Any:
    """What stands at the end of a path of attributes, `None` where it leads nowhere."""
    for name in names:
        value = getattr(value, name, None)
    return value


def tokens(value: Any, *names: str) -> int | None:
    """The count at the end of a path of attributes, `None` for what is no count."""
    return as_count(part(value, *names))


def total(*counts: int | None) -> int | None:
    """The sum of what is known, `None` where nothing is."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
