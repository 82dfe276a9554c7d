"""Request and response formats that many services share."""

from __future__ import annotations

from typing import Any


def openai_chat(*, stream: bool) -> dict[str, Any]:
    """The request and the response paths of OpenAI's chat completions API."""
    message = "$.choices[0].delta" if stream else "$.choices[0].message"
    request: dict[str, Any] = {
        "model": "{model}",
        "messages": [{"role": "user", "content": "{question}"}],
        "stream": stream,
    }
    if stream:
        request["stream_options"] = {"include_usage": True}
    return {
        "request": request,
        "response": {
            "answer": f"{message}.content",
            "reasoning": f"{message}.reasoning_content",
            "refusal": f"{message}.refusal",
            "stop_reason": "$.choices[0].finish_reason",
            "usage": {
                "cached_tokens": "$.usage.prompt_tokens_details.cached_tokens",
                "reasoning_tokens": "$.usage.completion_tokens_details.reasoning_tokens",
            },
        },
    }
