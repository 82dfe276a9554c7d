"""Pictures described in words by a model that sees, each once: pages, or figures cut out of them."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fathoms.errors import ModelError
from fathoms.models.caching import ReplyCache
from fathoms.models.caller import ModelCalls
from fathoms.models.protocols import ChatModel
from fathoms.models.stop_reasons import was_cut
from fathoms.runs.events import happened
from fathoms.types import ImagePart, Message, Prompt, Reply, TextPart

DESCRIBE = """\
Describe this picture, which is a page of a document or a part of one, for a reader who cannot see it. Copy
all of its text and every number, write tables row by row, and say of each figure what it shows, with the
values that can be read from it. Write nothing that is not in the picture."""
"""The default of what a model is asked with a picture."""


class _Descriptions(ReplyCache):
    """The cached replies that describe a picture; one without a description is neither stored nor used."""

    def get(self, key: str, *, again: bool = False) -> Reply | None:
        """Return the stored reply, `None` if there is none that is a description."""
        reply = super().get(key, again=again)
        return None if reply is None or _fault(reply) is not None else reply

    def put(self, key: str, reply: Reply) -> None:
        """Store a reply unless it is no description."""
        if _fault(reply) is None:
            super().put(key, reply)


@dataclass(frozen=True)
class Describer:
    """A model that describes pictures, its prompt, and the cache of its descriptions.

    A description is stored in the cache of `replies` under the hash of the picture, the model with its
    settings, and the prompt, and all runs use it. Without `replies`, each use calls the model again.
    """

    model: ChatModel
    prompt: str
    replies: ReplyCache | None = None

    def is_cached(self, picture: Path) -> bool:
        """Whether the description of a picture is in the cache."""
        if self.replies is None:
            return False
        key = self.replies.key(self.model, self.prompt_for(picture), 0)
        return _Descriptions(self.replies.cache).get(key) is not None

    def prompt_for(self, picture: Path) -> Prompt:
        """Return the prompt that asks for the description of a picture."""
        parts = (ImagePart(image=picture), TextPart(text=self.prompt))
        return Prompt(messages=(Message(role="user", parts=parts),))

    async def description(self, picture: Path, name: str, calls: ModelCalls) -> str:
        """Return the description of a picture, which is never empty. `name` says in errors which it is.

        `calls` lists the call with its tokens and cost; one whose description was in the cache is marked
        `cached`, and was not paid again. Where another task already describes the picture, this one waits for
        its description. Raises ModelError where the picture cannot be read, the model fails for good or
        refuses, or the reply is empty; such a reply is not stored. Raises Stopped as `Caller.reply` does.
        """
        descriptions = None if self.replies is None else _Descriptions(self.replies.cache)
        try:
            once = replace(calls, repeat=0)  # all repeats of a question read the same description
            reply, _ = await once.reply(self.model, self.prompt_for(picture), "describe", descriptions)
        except ModelError as error:
            raise _named(error, name) from error
        except OSError as error:
            raise ModelError(f"{name} could not be described: its picture cannot be read: {error}") from error
        if (fault := _fault(reply)) is not None:
            raise ModelError(f"{name} could not be described: {fault}")
        if was_cut(reply) and not reply.cached:
            happened("description-cut", level=logging.WARNING, picture=name, stop_reason=reply.stop_reason)
        return reply.text.strip()


def _fault(reply: Reply) -> str | None:
    """Say why a reply is no description; `None` if it is one."""
    if reply.refusal is not None:
        return f"the model refused: {reply.refusal}"
    return None if reply.text.strip() else "the model replied with no text"


def _named(error: ModelError, name: str) -> ModelError:
    """Return the same error with the name of the picture in its message."""
    options: dict[str, Any] = {"status": error.status, "retry_after": error.retry_after}
    return type(error)(f"{name} could not be described: {error}", **options)
