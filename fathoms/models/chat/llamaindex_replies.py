"""Converts between the types of fathoms and those of LlamaIndex's chat and embedding clients."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from fathoms.answers.reasoning import split_reasoning
from fathoms.errors import ModelError, NoAnswerError, RateLimitError
from fathoms.models.calling.retry_after import retry_after_seconds
from fathoms.models.chat.closed_errors import FAILED_FINISH, ours, without_lone_surrogates
from fathoms.models.chat.completion import as_count
from fathoms.models.chat.media import PDF, file_bytes
from fathoms.models.embed.vectors import normalised
from fathoms.safety.masking import Mask
from fathoms.safety.transport import in_time, tls_failure
from fathoms.types import FilePart, ImagePart, Message, Prompt, Reply, TextPart, Usage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# paths of a value in the raw response of a client, for OpenAI and compatible servers, Anthropic, Ollama and
# Google
_PROMPT_TOKENS = (
    "usage.prompt_tokens",
    "usage.input_tokens",
    "prompt_eval_count",
    "usage_metadata.prompt_token_count",
)
_COMPLETION_TOKENS = (
    "usage.completion_tokens",
    "usage.output_tokens",
    "eval_count",
    "usage_metadata.candidates_token_count",
)
_CACHED_TOKENS = (
    "usage.prompt_tokens_details.cached_tokens",
    "usage.cache_read_input_tokens",
    "usage_metadata.cached_content_token_count",
)
_STOP_REASON = ("choices.0.finish_reason", "stop_reason", "done_reason", "finish_reason")
_NO_ANSWER = {"APIConnectionError", "TransportError", "ConnectionError", "TimeoutError"}
"""Exception classes of the clients' HTTP libraries that mean that no answer came."""
_LONGEST_QUOTE = 1000
_NO_SECRETS = Mask()
_ANY = "a"  # embedded only to learn the length of the vectors, if all texts are blank
_REASONING = ("choices.0.message.reasoning_content", "choices.0.message.reasoning", "message.thinking")


async def chat(llm: Any, prompt: Prompt, who: str, mask: Mask = _NO_SECRETS) -> Reply:
    """Send a prompt with a chat client and return the reply.

    Every exception of the client is raised as a ModelError whose message begins with `who` and has no
    secrets.
    """
    started = time.perf_counter()
    try:
        response = await llm.achat([_chat_message(message) for message in prompt.messages])
    except Exception as error:  # every client has its own exception classes
        raise _broken(who, error, mask) from _cause(error, mask)
    try:
        reply = to_reply(response, time.perf_counter() - started)
    except (AttributeError, TypeError, ValueError) as error:  # clients pass on any data of a server
        raise ModelError(f"{who}: its answer is no reply of a chat ({type(error).__name__})") from error
    if reply.stop_reason in FAILED_FINISH:
        raise ModelError(f"{who}: the answer ended with finish_reason {reply.stop_reason!r}")
    texts = {"text": reply.text, "reasoning": reply.reasoning, "stop_reason": reply.stop_reason}
    return reply.model_copy(update={name: text and mask.text(text) for name, text in texts.items()})


def embeddings(
    client: Any,
    method: str,
    argument: Any,
    who: str,
    mask: Mask = _NO_SECRETS,
    *,
    seconds: float | None = None,
) -> Any:
    """Call a method of an embedding client and return its result; raises errors as `chat` does.

    `seconds` limits the whole call, because the time-outs of the clients restart with every byte; `None` is
    no limit.
    """
    call = partial(getattr(client, method), argument)
    try:
        return call() if seconds is None else in_time(call, seconds)
    except Exception as error:  # every client has its own exception classes
        raise _broken(who, error, mask) from _cause(error, mask)


def _cause(error: Exception, mask: Mask) -> Exception | None:
    """Return the exception to show as the cause in a traceback; `None` if its message contains a secret."""
    return error if mask.text(str(error)) == str(error) else None


def _broken(who: str, error: Exception, mask: Mask) -> ModelError:
    """Convert an exception of a client to a ModelError. Some of the exceptions (time-outs) have no message;
    others repeat the whole response, which is shortened."""
    if untrusted := tls_failure(error, who):
        return ModelError(f"{who}: {untrusted}")
    if refused := ours(error):
        return type(refused)(f"{who}: {refused}")
    problem = mask.text(str(error))
    problem = problem if len(problem) <= _LONGEST_QUOTE else f"{problem[:_LONGEST_QUOTE]}..."
    message = ": ".join(filter(None, [who, type(error).__name__, problem]))
    response = getattr(error, "response", None)
    status = getattr(error, "status_code", None) or getattr(response, "status_code", None)
    if not isinstance(status, int) or status < 100:
        names = {kind.__name__ for kind in type(error).__mro__}
        return (NoAnswerError if names & _NO_ANSWER else ModelError)(message)
    wait = retry_after_seconds(getattr(response, "headers", None) or {})
    kind = RateLimitError if status == 429 else ModelError
    return kind(message, status=status, retry_after=wait)


def unit_rows(
    texts: Sequence[str], ask: Callable[[list[str]], Sequence[Sequence[float]]], who: str
) -> NDArray[np.float32]:
    """Embed texts with `ask` and return unit vectors, shape (n, d); shape (0, 0) for no texts.

    Blank texts are not sent, because servers refuse them, leave them out or return arbitrary vectors; their
    rows are zeros. Raises ModelError, whose message begins with `who`, if the vectors do not match the texts.
    """
    import numpy as np

    if not texts:
        return np.zeros((0, 0), dtype=np.float32)
    places = [place for place, text in enumerate(texts) if text.strip()]
    sent = [texts[place] for place in places] or [_ANY]
    found = _matrix(ask(sent), len(sent), who)
    rows = np.zeros((len(texts), found.shape[1]), dtype=np.float32)
    rows[places] = normalised(found)[: len(places)]
    return rows


def _matrix(vectors: Sequence[Sequence[float]], count: int, who: str) -> NDArray[np.float32]:
    """Convert vectors to an array; raises ModelError unless there are `count` of equal length and finite
    numbers."""
    import numpy as np

    if not all(isinstance(vector, list | tuple) for vector in vectors):
        raise ModelError(f"{who}: the answer contains no vectors")
    widths = sorted({len(vector) for vector in vectors})
    if len(vectors) != count or len(widths) != 1 or widths == [0]:
        raise ModelError(
            f"{who}: {count} texts were sent, the answer contains {len(vectors)} vectors"
            f" of {' or '.join(map(str, widths)) or 'no'} numbers"
        )
    try:
        found = np.array(vectors, dtype=np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelError(f"{who}: the answer contains no vectors of numbers") from error
    if not np.isfinite(found).all():
        raise ModelError(f"{who}: the answer contains numbers that are not finite")
    return found


def _chat_message(message: Message) -> Any:
    """Convert a message to LlamaIndex's type, with its blocks in the order of the parts."""
    from llama_index.core.base.llms.types import ChatMessage

    return ChatMessage(role=message.role, blocks=[_block(part) for part in message.parts])


def _block(part: TextPart | ImagePart | FilePart) -> Any:
    """Convert one part of a message to LlamaIndex's type."""
    from llama_index.core.base.llms.types import DocumentBlock, ImageBlock, TextBlock

    if isinstance(part, TextPart):
        return TextBlock(text=part.text)
    if isinstance(part, ImagePart):
        return ImageBlock(path=part.image)
    return DocumentBlock(data=file_bytes(part.file), title=part.file.document, document_mimetype=PDF)


def to_reply(response: Any, seconds: float) -> Reply:
    """Convert a response of LlamaIndex to a reply; values that the client does not report are `None`."""
    thoughts = [block.content for block in response.message.blocks if block.block_type == "thinking"]
    reasoning, text = split_reasoning(without_lone_surrogates(response.message.content or ""))
    raw, stop = response.raw, _find(response.raw, _STOP_REASON)
    return Reply(
        text=text,
        reasoning=_find(raw, _REASONING) or "\n".join(filter(None, thoughts)) or reasoning,
        stop_reason=None if stop is None else str(stop),
        usage=Usage(
            prompt_tokens=as_count(_find(raw, _PROMPT_TOKENS)),
            completion_tokens=as_count(_find(raw, _COMPLETION_TOKENS)),
            cached_tokens=as_count(_find(raw, _CACHED_TOKENS)),
        ),
        latency=seconds,
    )


def _find(raw: Any, paths: Sequence[str]) -> Any:
    """Return the first value found at one of the dotted paths, through mappings, lists and attributes."""
    for path in paths:
        value = raw
        for step in path.split("."):
            value = _step(value, step)
        if value is not None:
            return value
    return None


def _step(value: Any, step: str) -> Any:
    """Follow one step of a path; `None` if it does not exist."""
    if isinstance(value, dict):
        return value.get(step)
    if isinstance(value, list):
        return value[int(step)] if step.isdigit() and int(step) < len(value) else None
    return getattr(value, step, None)
