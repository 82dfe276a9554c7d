"""Splitting texts into claims: into sentences by NLTK, and sentences into claims by a language model.

The sentence of each claim is kept, because pronouns refer to it. A text that makes no claim, such as an
abstention, has an empty list of claims.
"""

from __future__ import annotations

from typing import Any, Literal

from fathoms.config import fingerprint
from fathoms.errors import ModelError
from fathoms.judges.replies import read_json
from fathoms.models.caller import Caller, to_failure
from fathoms.models.protocols import ChatModel
from fathoms.models.sentences import sentences
from fathoms.runs.usage import total
from fathoms.types import Claim, Failure, Form, Message, Prompt

Decompose = Literal["model", "sentences"]
VERSION = 1
_PROMPT = """\
Split the numbered sentences into claims. A claim states one fact, is true or false on its own, and names what
it is about instead of using a pronoun. Keep the wording of the sentence where you can, and add nothing. A
sentence that states no fact, for example that something is not known, has no claim.

Question that the sentences answer: {question}

Sentences:
{sentences}

Reply with JSON: {{"claims": [{{"sentence": NUMBER, "claim": TEXT}}, ...]}}"""
_SCHEMA = {
    "type": "object",
    "properties": {
        "claims": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"sentence": {"type": "integer"}, "claim": {"type": "string"}},
                "required": ["sentence", "claim"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["claims"],
    "additionalProperties": False,
}


def sentence_claims(text: str) -> tuple[Claim, ...]:
    """Return every sentence of a text as one claim."""
    return tuple(
        Claim(text=sentence, context=sentence, sentence=number)
        for number, sentence in enumerate(sentences(text))
    )


def claims_key(identity: Any, text: str, question: str) -> str:
    """Return the key under which the claims of a text are stored."""
    return fingerprint("claims", VERSION, identity, fingerprint(_PROMPT), text, question)


async def model_claims(
    model: ChatModel, text: str, question: str, caller: Caller
) -> tuple[tuple[Claim, ...] | Failure, dict[str, Any]]:
    """Return the claims of a text as a language model splits it, or why it failed; and the cost, seconds and
    tokens that it took.

    A reply that cannot be read is asked for once more, unless it was cut at its token limit.
    """
    spent: dict[str, Any] = {"cost": 0.0, "seconds": 0.0}
    split = sentences(text)
    if not split:
        return (), spent
    listed = "\n".join(f"{number}. {sentence}" for number, sentence in enumerate(split, 1))
    prompt = Prompt(
        messages=(Message(role="user", text=_PROMPT.format(question=question, sentences=listed)),),
        form=Form(json_schema=_SCHEMA),
    )
    for repeat in range(2):
        try:
            reply, call = await caller.reply(model, prompt, purpose="judge", repeat=repeat)
        except ModelError as error:
            return to_failure(error), spent
        spent["cost"] = total([spent["cost"], reply.cost])
        spent["seconds"] = round(spent["seconds"] + call.seconds, 4)
        spent["usage"] = reply.usage.model_dump()
        if reply.stop_reason in ("length", "max_tokens"):
            cut = "the list of claims was cut at the token limit of the model"
            return Failure(kind="Cut", message=cut), spent
        found = _read(reply.text, split)
        if found is not None:
            return found, spent
    return Failure(kind="Unparsed", message=f"no list of claims in {reply.text[:200]!r}"), spent


def _read(reply: str, split: list[str]) -> tuple[Claim, ...] | None:
    """Read the claims of a reply; `None` if it holds no list of claims."""
    data = read_json(reply)
    rows = data.get("claims") if isinstance(data, dict) else data
    if not isinstance(rows, list):
        return None
    found = []
    for row in rows:
        text = row.get("claim") if isinstance(row, dict) else row
        number = row.get("sentence") if isinstance(row, dict) else None
        if not isinstance(text, str) or not text.strip():
            continue
        known = isinstance(number, int) and 1 <= number <= len(split)
        sentence = number - 1 if known and isinstance(number, int) else None
        context = split[sentence] if sentence is not None else ""
        found.append(Claim(text=text.strip(), context=context, sentence=sentence))
    return tuple(found)
