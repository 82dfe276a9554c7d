"""Sends the same requests with plain aiohttp, as the reference that the tools are compared with.

    python benchmarks/runner/bare.py BASE_URL PROMPTS CONCURRENCY [--stream]

PROMPTS is a file with a JSON list of texts; each of them is one chat completion.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp


async def ask_all(base_url: str, prompts: list[str], concurrency: int, stream: bool) -> int:
    """Ask all; the number of answers."""
    answers = 0
    waiting: Iterator[str] = iter(prompts)
    options = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}

    async def worker(session: aiohttp.ClientSession) -> None:
        nonlocal answers
        for prompt in waiting:
            messages = [{"role": "user", "content": prompt}]
            body = {
                "model": "fixed-latency",
                "messages": messages,
                "max_tokens": 512,
                "temperature": 0,
                **options,
            }
            async with session.post(f"{base_url}/chat/completions", json=body) as response:
                response.raise_for_status()
                text = _joined(await response.text()) if stream else _content(await response.json())
                answers += bool(text)

    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session, asyncio.TaskGroup() as workers:
        for _ in range(concurrency):
            workers.create_task(worker(session))
    return answers


def _content(answer: dict[str, Any]) -> str:
    """The text of a plain answer."""
    return str(answer["choices"][0]["message"]["content"])


def _joined(events: str) -> str:
    """The text of a stream."""
    text = ""
    for line in events.splitlines():
        if line.startswith("data: ") and line != "data: [DONE]":
            for choice in json.loads(line[6:])["choices"]:
                text += choice["delta"].get("content") or ""
    return text


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("base_url")
    parser.add_argument("prompts", type=Path)
    parser.add_argument("concurrency", type=int)
    parser.add_argument("--stream", action="store_true")
    args = parser.parse_args()
    texts = json.loads(args.prompts.read_text())
    found = asyncio.run(ask_all(args.base_url, texts, args.concurrency, args.stream))
    assert found == len(texts), f"{found} of {len(texts)} answered"
