"""Splitting texts into claims: into sentences by NLTK, and sentences into claims by a language model.

The sentence of each claim is kept, because pronouns refer to it. A text that makes no claim, such as an
abstention, has an empty list of claims.
"""

from __future__ import annotations

from typing import Any, Literal

from fathoms.errors import ModelError
from fathoms.judges.prompts import Template, shipped
from fathoms.judges.replies import read_json
from fathoms.models.caller import Caller, to_failure
from fathoms.models.protocols import ChatModel
from fathoms.models.sentences import sentences
from fathoms.models.stop_reasons import was_cut
from fathoms.runs.usage import total
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Claim, Failure, Form, Message, Prompt

Decompose = Literal["model", "sentences"]


def sentence_claims(text: str) -> tuple[Claim, ...]:
    """Return every sentence of a text as one claim."""
    return tuple(
        Claim(text=sentence, context=sentence, sentence=number)
        for number, sentence in enumerate(sentences(text))
    )


def foreign_claims_key(identity: Any, text: str, question: str) -> str:
    """Return the key under which claims of a text are stored that came with an imported run. No prompt of
    ours made them, so none is part of the key."""
    return fingerprint("kept claims", identity, text, question)


def claims_key(identity: Any, prompt: Template, text: str, question: str) -> str:
    """Return the key under which the claims of a text are stored that a model was asked for by a prompt."""
    return fingerprint("claims", prompt.version, identity, fingerprint(prompt.whole), text, question)


async def model_claims(
    model: ChatModel, text: str, question: str, caller: Caller, template: Template | None = None
) -> tuple[tuple[Claim, ...] | Failure, dict[str, Any]]:
    """Return the claims of a text as a language model splits it, or why it failed; and the cost, seconds and
    tokens that it took. `template` is the prompt, by default that of fathoms.

    A reply that cannot be read is asked for once more, unless it was cut at its token limit.
    """
    spent: dict[str, Any] = {"cost": 0.0, "seconds": 0.0}
    split = sentences(text)
    if not split:
        return (), spent
    listed = "\n".join(f"{number}. {sentence}" for number, sentence in enumerate(split, 1))
    values = {"question": question, "sentences": listed}
    message = Message(role="user", text=(template or shipped("claims")).filled(values))
    prompt = Prompt(messages=(message,), form=Form(json_schema=_schema(len(split))))
    for repeat in range(2):
        try:
            reply, call = await caller.reply(model, prompt, purpose="judge", repeat=repeat)
        except ModelError as error:
            return to_failure(error), spent
        spent["cost"] = total([spent["cost"], reply.cost])
        spent["seconds"] = round(spent["seconds"] + call.seconds, 4)
        spent["usage"] = reply.usage.model_dump()
        if was_cut(reply):
            cut = "the list of claims was cut at the token limit of the model"
            return Failure(kind="Cut", message=cut), spent
        found = _read(reply.text, split)
        if found is not None:
            return found, spent
    return Failure(kind="Unparsed", message=f"no list of claims in {reply.text[:200]!r}"), spent


def _schema(count: int) -> dict[str, Any]:
    """Return the JSON schema of a reply: for the number of each sentence, a list of its claims."""
    numbers = [str(number) for number in range(1, count + 1)]
    claims = {"type": "array", "items": {"type": "string"}}
    return {
        "type": "object",
        "properties": dict.fromkeys(numbers, claims),
        "required": numbers,
        "additionalProperties": False,
    }


def _read(reply: str, split: list[str]) -> tuple[Claim, ...] | None:
    """Read the claims of a reply; `None` unless it has a list of texts for every sentence, because a sentence
    that is passed over would look like one without a claim."""
    data = read_json(reply)
    if not isinstance(data, dict):
        return None
    found = []
    for number, sentence in enumerate(split):
        claims = data.get(str(number + 1))
        if not isinstance(claims, list) or not all(isinstance(claim, str) for claim in claims):
            return None
        texts = filter(None, map(str.strip, claims))
        found += [Claim(text=text, context=sentence, sentence=number) for text in texts]
    return tuple(found)
