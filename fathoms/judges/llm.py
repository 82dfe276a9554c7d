"""A language model as a judge."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from fathoms.config import fingerprint
from fathoms.errors import ConfigError, ModelError
from fathoms.judges.base import LABELS, UNPARSED, Judge, Labels
from fathoms.judges.replies import read_json, read_list
from fathoms.judges.rubrics import ABSTENTION_FORM, PROMPTS, QUESTIONS_FORM, RELEVANT_FORM, WORDS
from fathoms.models import Generator
from fathoms.models.caller import Caller, to_failure
from fathoms.models.chat.room import most_that_fits, room_for_prompt
from fathoms.models.sentences import sentences
from fathoms.runs.usage import total
from fathoms.types import Failure, Form, Judgement, Message, Prompt, Reply, Rubric, Usage, Verdict

_PLACE = re.compile(r"\{(premise|context|claim|wanted)\}")
_BINARY = """\
You check whether a source supports a claim. Answer yes only if everything that the claim says follows from
the source. Answer no if the source contradicts any part of it, or does not say it.

Source:
{premise}

Sentence that the claim comes from: {context}
Claim: {claim}

Does the source support the claim? Answer with one word: yes or no."""
_THREE_WAY = """\
You compare a claim with a source. Answer entailment if everything that the claim says follows from the
source, contradiction if the source says that any part of it is false, and neutral if the source does not
decide it.

Source:
{premise}

Sentence that the claim comes from: {context}
Claim: {claim}

Answer with one word: entailment, neutral or contradiction."""
_WORDS: dict[Labels, dict[str, str]] = {
    "binary": {"yes": "supported", "no": "unsupported"},
    "three-way": {label: label for label in LABELS["three-way"]},
}
_LISTS: dict[str, Form] = {"relevant-sentences": RELEVANT_FORM, "questions": QUESTIONS_FORM}
_FORMS: dict[str, Form] = {
    **{str(name): Form(choices=tuple(words), probabilities=True) for name, words in (_WORDS | WORDS).items()},
    "abstention": ABSTENTION_FORM,
    **_LISTS,
}
_POSITIVE = ("yes", "entailment")
_VERSION = 1
_MARKUP = 200
"""More tokens than any chat template puts around one message."""


class LLMJudge(Judge):
    """`kind: llm`: any chat model. Each judgement is one call.

    The model is held to the labels where its API allows that: the embedded model by a grammar, others by a
    JSON schema. Otherwise the label is read from the reply, and an unreadable reply is asked for once more. A
    reply that was cut at its token limit is never asked for again: the verdict says so.
    """

    neutral: ClassVar[frozenset[str]] = Judge.neutral | {"model", "votes"}

    kind: Literal["llm"] = "llm"
    model: Generator
    """The model that judges. A few tokens of `max_tokens` are enough unless it reasons first."""
    labels: Labels = "binary"
    """`binary` asks for yes or no, `three-way` for entailment, neutral or contradiction."""
    prompt: str | None = None
    """Prompt template; `{premise}` and `{claim}` are required, `{context}` is the sentence of the claim. It
    must ask for `yes` or `no`, or for the three labels. Put the premise before the claim: providers reuse the
    beginning that a prompt shares with an earlier one."""
    votes: int = Field(default=1, ge=1, le=99)
    """How often each judgement is asked for, with another seed each time. The label is that of the majority,
    and the verdict keeps the counts."""

    @field_validator("prompt")
    @classmethod
    def _has_places(cls, prompt: str | None) -> str | None:
        if prompt is not None:
            missing = {"premise", "claim"} - set(_PLACE.findall(prompt))
            if missing:
                raise ValueError(f"must contain {{{min(missing)}}}")
        return prompt

    @property
    def template(self) -> str:
        """The prompt template in use."""
        return self.prompt or (_BINARY if self.labels == "binary" else _THREE_WAY)

    @property
    def name(self) -> str:
        """The kind and the model."""
        return f"llm {getattr(self.model, 'model', self.model.kind)}"

    @property
    def max_concurrency(self) -> int:
        """The most calls to the model at a time."""
        return self.model.max_concurrency

    @property
    def repeats(self) -> int:
        """How often each judgement is asked for."""
        return self.votes

    @property
    def rubric(self) -> str:
        """The labels and the version of the prompt, or that the prompt is the user's."""
        return f"{self.labels}, {'own prompt' if self.prompt else f'version {_VERSION}'}"

    @property
    def rubrics(self) -> frozenset[Rubric]:
        """Everything; `prompt` and `labels` are those of claims."""
        return frozenset({"support", *PROMPTS})

    def identity(self) -> dict[str, Any]:
        """Extend the identity by the model and the text of the template."""
        return {
            **super().identity(),
            "model": self.model.identity(),
            "template": fingerprint(self.template),
            "version": _VERSION,
        }

    def served(self) -> dict[str, Any]:
        """Return what the server reports about the model it runs."""
        return self.model.served()

    def parts(self) -> dict[str, Any]:
        """The model."""
        return {"model": self.model}

    def check(self) -> None:
        """Check the model; raises its errors, and ConfigError if `max_tokens` leaves no room for a prompt."""
        room_for_prompt(self.model, "the judge's model")
        self.model.check()

    @property
    def sees_images(self) -> bool:
        """Whether the model is not known to refuse images."""
        try:
            self.model.check_images()
        except ConfigError:
            return False
        return True

    async def judge(
        self, asked: Sequence[Judgement], caller: Caller, repeat: int = 0
    ) -> list[Verdict | Failure]:
        """Ask the model for each judgement; see `Judge.judge`."""
        return [await self._verdict(judgement, caller, repeat) for judgement in asked]

    async def _verdict(self, asked: Judgement, caller: Caller, repeat: int) -> Verdict | Failure:
        """Ask for one verdict, and once more if the reply cannot be read."""
        words = {} if asked.rubric in _LISTS else WORDS.get(asked.rubric) or _WORDS[self.labels]
        form = _FORMS.get(asked.rubric) or _FORMS[self.labels]
        replies: list[Reply] = []
        seconds = 0.0
        try:
            kept = asked.premise
            room = room_for_prompt(self.model, "the judge's model")
            if room is not None and not self._surely_fits(asked, room):
                kept = await caller.counted(self.model, lambda: self._fitted(asked))
            for attempt in range(2):
                prompt = Prompt(messages=self._messages(asked, kept), form=form)
                reply, call = await caller.reply(
                    self.model, prompt, purpose="judge", repeat=repeat + attempt * self.votes
                )
                replies.append(reply)
                seconds += call.seconds
                word = read_choice(reply.text, tuple(words)) if words else None
                listed = None if words else read_list(reply.text, asked, kept)
                if word is not None or listed is not None or reply.stop_reason in ("length", "max_tokens"):
                    break
        except ModelError as error:
            return to_failure(error)
        shares = replies[-1].choice_p or {}
        if word is not None and shares and getattr(self.model, "temperature", None) == 0:
            word = max(
                shares, key=shares.__getitem__
            )  # "Yes" and "yes" count together, in the reply only one
        why = None if kept == asked.premise else "the premise was cut to fit the context of the judge"
        if asked.rubric == "abstention":
            why = _sentence(reply.text, asked.claim)
        if word is None and listed is None:
            cut = reply.stop_reason in ("length", "max_tokens")
            why = "the reply was cut at its token limit" if cut else f"unreadable: {reply.text[:200]!r}"
        return Verdict(
            claim=asked.claim,
            premise=asked.premise,
            context=asked.context or None,
            **({"label": UNPARSED if word is None else words[word]} if listed is None else listed),
            p=next((p for choice, p in shares.items() if choice in _POSITIVE), None),
            why=why,
            usage=reply.usage if len(replies) == 1 else _summed([reply.usage for reply in replies]),
            cost=total([reply.cost for reply in replies]),
            seconds=round(seconds, 4),
        )

    def _messages(self, asked: Judgement, premise: str) -> tuple[Message, ...]:
        """Return the messages that ask for one verdict."""
        values = {
            "premise": _numbered(premise) if asked.rubric == "relevant-sentences" else premise,
            "context": asked.context or asked.claim,
            "claim": _numbered(asked.claim) if asked.rubric == "abstention" else asked.claim,
            "wanted": str(asked.wanted),
        }
        template = PROMPTS.get(asked.rubric, self.template)
        text = _PLACE.sub(lambda place: values[place[1]], template)
        images = () if asked.image is None else (asked.image,)
        return (Message(role="user", text=text, images=images),)

    def _surely_fits(self, asked: Judgement, room: int) -> bool:
        """Whether a judgement fits even if each of its bytes is a token, so that nothing must be counted."""
        template = PROMPTS.get(asked.rubric, self.template)
        claim, premise = asked.claim, asked.premise
        if asked.rubric in ("abstention", "relevant-sentences"):
            claim, premise = _numbered(claim), _numbered(premise)
        texts = (template, claim, asked.context or asked.claim, premise)
        longest = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) + _MARKUP
        return asked.image is None and longest <= room

    def _fitted(self, asked: Judgement) -> str:
        """Return the longest beginning of the premise that fits into the context of the model."""
        room = room_for_prompt(self.model, "the judge's model")

        def tokens(length: int) -> int:
            return self.model.count_tokens(self._messages(asked, asked.premise[:length])) or 0

        if room is None or tokens(len(asked.premise)) <= room:
            return asked.premise
        if (bare := tokens(0)) > room:
            raise ModelError(f"the claim without a source takes {bare} tokens, and the model leaves {room}")
        return asked.premise[: most_that_fits(len(asked.premise), lambda length: tokens(length) <= room)]


def read_choice(reply: str, choices: Sequence[str]) -> str | None:
    """Read the choice from a reply: the value of `label` in JSON, the first word, or the only choice in it.

    Damaged JSON is repaired. Returns `None` if the reply names no choice, or several.
    """
    text = reply.strip()
    if "{" in text:
        from json_repair import repair_json

        found = repair_json(text[text.index("{") :], return_objects=True)
        label = str(found.get("label")).strip().lower() if isinstance(found, dict) else ""
        if label in choices:
            return label
    pattern = r"\d+" if choices[0].isdecimal() else r"[a-z]+"
    words: list[str] = re.findall(pattern, text.lower())
    if words and words[0] in choices:
        return words[0]
    named = {word for word in words if word in choices}
    return named.pop() if len(named) == 1 else None


def _numbered(text: str) -> str:
    """Return a text with its sentences numbered, one a line."""
    return "\n".join(f"{number}. {sentence}" for number, sentence in enumerate(sentences(text), 1))


def _sentence(reply: str, answer: str) -> str | None:
    """Return the sentence of an answer whose number a reply names; `None` if it names none."""
    data, split = read_json(reply), sentences(answer)
    number = data.get("sentence") if isinstance(data, dict) else None
    return split[number - 1] if isinstance(number, int) and 1 <= number <= len(split) else None


def _summed(usages: Sequence[Usage]) -> Usage:
    """Add up the tokens of several replies; `None` where any is unknown."""
    return Usage.model_validate(
        {name: total([getattr(usage, name) for usage in usages]) for name in Usage.model_fields}
    )
