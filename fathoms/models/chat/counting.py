"""How many tokens a chat takes, asked of servers that speak OpenAI's API: some count, each in its own way."""

from __future__ import annotations

import threading
from collections import defaultdict
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from fathoms.errors import ModelError, NoAnswerError, RateLimitError
from fathoms.models.calling.lane import seconds_asked
from fathoms.models.chat.completion import count
from fathoms.safety.transport import LARGEST_CHECK, client, in_time, tls_failure

if TYPE_CHECKING:
    import httpx

_LONGEST = 60.0
"""Seconds for one count."""
_NO_SUCH_WAY = {404, 405, 501, 400, 422}
"""Statuses of servers that do not count: no such path, or (SGLang, TGI) one that wants another body."""


class Way(NamedTuple):
    """Where a server counts, and the name of the count in its answer."""

    address: str
    name: str


_ALL = (
    Way("{api}/chat/completions/input_tokens", "input_tokens"),  # llama-server
    Way("{root}/tokenize", "count"),  # vLLM
)
_known: dict[str, tuple[Way, ...]] = {}
"""The way of each server that was asked; none where it does not count."""
_asking: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)


def counts_nothing(base_url: str) -> bool:
    """Whether a server was asked before, and does not count."""
    return _known.get(base_url) == ()


def counted(base_url: str, headers: dict[str, str], body: dict[str, Any], timeout: float) -> int | None:
    """The server's own count of a chat, `None` where it does not count. It has `timeout` seconds for it, but
    a minute at most.

    Raises ModelError where it fails (NoAnswerError, RateLimitError among them): what it knows is then not
    known.
    """
    if base_url in _known:
        return _counted(base_url, headers, body, timeout)
    with _asking[base_url]:  # one question finds out for all
        return _counted(base_url, headers, body, timeout)


def _counted(base_url: str, headers: dict[str, str], body: dict[str, Any], timeout: float) -> int | None:
    """The same, by the way that is known or by any."""
    import httpx

    seconds = min(timeout, _LONGEST)
    for way in _known.get(base_url, _ALL):
        address = way.address.format(api=base_url, root=base_url.removesuffix("/v1"))
        ask = partial(_client().post, address, json=body, headers=headers, timeout=seconds)
        try:
            found = _count_in(in_time(ask, seconds), way.name)
        except (httpx.TimeoutException, TimeoutError) as error:
            raise NoAnswerError(f"{address} does not count the prompt within {seconds:g} s") from error
        except httpx.HTTPError as error:
            if untrusted := tls_failure(error, base_url):
                raise ModelError(f"{base_url}: {untrusted}") from error
            raise NoAnswerError(f"{base_url}: {type(error).__name__}: {error}") from error
        if found is not None:
            _known[base_url] = (way,)
            return found
    _known.setdefault(base_url, ())
    return None


@lru_cache(maxsize=1)
def _client() -> httpx.Client:
    """The connections of all counts: opening one takes longer than a count."""
    return client(largest=LARGEST_CHECK)


def _count_in(answer: httpx.Response, name: str) -> int | None:
    """The count that an answer holds, `None` where the server does not count; raises ModelError."""
    if answer.status_code in _NO_SUCH_WAY:
        return None
    if answer.status_code != 200:
        kind = RateLimitError if answer.status_code == 429 else ModelError
        raise kind(
            f"{answer.url} answers with status {answer.status_code}: the prompt is not counted",
            status=answer.status_code,
            retry_after=seconds_asked(answer.headers),
        )
    try:
        found = answer.json()
    except (ValueError, RecursionError):  # a page for people, whatever is asked
        return None
    return count(found, name)
