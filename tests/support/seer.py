"""A model server that sees, on a real socket: what it says depends on the pictures that it is sent."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.support.http_stub import serving

Says = Callable[[list[bytes], str], str]
"""Makes the reply of the pictures of a message, as they were sent, and of its text."""


@dataclass
class Seer:
    """Its address, the pictures and the text of every message that it answered, and the statuses that it
    fails with before it answers again."""

    address: str = ""
    seen: list[tuple[list[bytes], str]] = field(default_factory=list)
    fails: list[int] = field(default_factory=list)


@contextmanager
def seeing(says: Says, *, usage: tuple[int, int] = (1000, 10)) -> Iterator[Seer]:
    """A server of the model `seer`, under `/v1`. Every reply reports the same tokens of prompt and reply."""
    seer = Seer()

    def answer(body: Any) -> tuple[int, Any]:
        if seer.fails:
            return seer.fails.pop(0), {"error": {"message": "busy"}}
        content = body["messages"][-1]["content"]
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
        pictures = [base64.b64decode(url.partition(",")[2]) for url in urls]
        text = "".join(part["text"] for part in parts if part["type"] == "text")
        seer.seen.append((pictures, text))
        message = {"role": "assistant", "content": says(pictures, text)}
        prompt, reply = usage
        return 200, {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": "seer",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": prompt, "completion_tokens": reply, "total_tokens": prompt + reply},
        }

    with serving({"/v1/models": {"data": [{"id": "seer"}]}, "/v1/chat/completions": answer}) as stub:
        seer.address = stub.address
        yield seer
