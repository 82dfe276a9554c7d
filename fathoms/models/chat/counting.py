"""Token counts of prompts from servers with OpenAI's API, as far as a server has an endpoint for them."""

from __future__ import annotations

import threading
from collections import defaultdict
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from fathoms.errors import ModelError, NoAnswerError
from fathoms.models.chat.closed_errors import Sender, response_error
from fathoms.models.chat.completion import count
from fathoms.safety.transport import LARGEST_CHECK, in_time, shared_client, tls_failure

if TYPE_CHECKING:
    import httpx

_LONGEST = 60.0
"""Time limit in seconds for one count."""
_NO_SUCH_WAY = {404, 405, 501, 400, 422}
"""HTTP statuses of servers that do not count: no such path, or one that expects another body (SGLang,
TGI)."""


class Way(NamedTuple):
    """A way to count: the address of the endpoint, and the field of the count in its answer."""

    address: str
    name: str


_ALL = (
    Way("{api}/chat/completions/input_tokens", "input_tokens"),  # llama-server
    Way("{root}/tokenize", "count"),  # vLLM
)
_known: dict[str, tuple[Way, ...]] = {}
"""The way to count per base URL of the servers asked so far; empty if a server does not count."""
_asking: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)


def counts_nothing(base_url: str) -> bool:
    """Return whether the server was asked before and does not count tokens."""
    return _known.get(base_url) == ()


def counted(sender: Sender, headers: dict[str, str], body: dict[str, Any], timeout: float) -> int | None:
    """Return the server's token count of a chat, `None` if the server does not count tokens.

    The time limit is `timeout` seconds, but at most 60. Raises ModelError (among others NoAnswerError and
    RateLimitError) if the request fails, because then it is unknown whether the server counts.
    """
    if sender.address in _known:
        return _counted(sender, headers, body, timeout)
    with _asking[sender.address]:  # the first question finds out how the server counts, the others wait
        return _counted(sender, headers, body, timeout)


def _counted(sender: Sender, headers: dict[str, str], body: dict[str, Any], timeout: float) -> int | None:
    """Ask for a count in the way that is known for the server, or otherwise try all ways."""
    import httpx

    seconds, base_url = min(timeout, _LONGEST), sender.address
    for way in _known.get(base_url, _ALL):
        address = way.address.format(api=base_url, root=base_url.removesuffix("/v1"))
        ask = partial(shared_client(LARGEST_CHECK).post, address, json=body, headers=headers, timeout=seconds)
        try:
            found = _count_in(in_time(ask, seconds), way.name, sender)
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


def _count_in(answer: httpx.Response, name: str, sender: Sender) -> int | None:
    """Return the count in a response, `None` if the server does not count. Raises ModelError for an error
    status, with what the server says: that it still loads the model, or that there is no credit."""
    if answer.status_code in _NO_SUCH_WAY:
        return None
    if answer.status_code != 200:
        raise response_error(
            answer.content, replace(sender, address=str(answer.url)), answer.status_code, answer.headers
        )
    try:
        found = answer.json()
    except (ValueError, RecursionError):  # some servers answer any path with an HTML page
        return None
    return count(found, name)
