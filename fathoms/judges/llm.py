"""A language model as a judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import Field, field_validator

from fathoms.errors import ConfigError, ModelError
from fathoms.judges.excerpts import Excerpts
from fathoms.judges.judge import CUT, LABELS, UNPARSED, Judge, Labels
from fathoms.judges.prompts import Template, misplaced, own, places, shipped
from fathoms.judges.replies import quote_of, quoting_form, read_json, read_list
from fathoms.judges.rubrics import (
    ABSTENTION_FORM,
    GRADES_FORM,
    LISTED,
    QUESTIONS_FORM,
    RELEVANT_FORM,
    RUBRICS,
    WORDS,
)
from fathoms.judges.several import (
    Crossed,
    Most,
    calls_of,
    labels_form,
    listed_claims,
    listed_passages,
    most_tokens,
    read_labels,
    shared,
)
from fathoms.models import Generator
from fathoms.models.caller import Caller, to_failure
from fathoms.models.chat.forms import read_choice
from fathoms.models.chat.room import most_that_fits, room_for_prompt
from fathoms.models.sentences import sentences
from fathoms.models.stop_reasons import was_cut
from fathoms.runs.usage import summed, total
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Failure, Form, Judgement, Message, Prompt, Reply, Rubric, Usage, Verdict

_WORDS: dict[Labels, dict[str, str]] = {
    "binary": {"yes": "supported", "no": "unsupported"},
    "three-way": {label: label for label in LABELS["three-way"]},
}
_LISTS: dict[str, Form] = {
    "relevant-sentences": RELEVANT_FORM,
    "questions": QUESTIONS_FORM,
    "quality": GRADES_FORM,
}
_FORMS: dict[str, Form] = {
    **{str(name): Form(choices=tuple(words), probabilities=True) for name, words in (_WORDS | WORDS).items()},
    "abstention": ABSTENTION_FORM,
    **_LISTS,
}
_POSITIVE = ("yes", "entailment")
_MARKUP = 200
"""More tokens than any chat template puts around one message."""
_LATER = ("claims_a_call", "texts_a_call", "passages_a_call", "premise", "threshold", "prompts", "quote")
"""Options that are no part of the identity where they are not used, so that older verdicts are found."""
_OF_CLAIMS = ("labels", "prompt", *_LATER)
"""Options that only decide how claims are judged, and `prompts`, of which each decides for one rubric."""
_A_CALL: dict[Rubric, str] = {
    "support": "claims_a_call",
    "extent": "claims_a_call",
    "relevance": "passages_a_call",
}
"""The option that says how many judgements of a rubric share a call."""
_NOTHING = Usage(prompt_tokens=0, completion_tokens=0)
_CLAIMS, _TEXTS, _LABELS_A_CALL = 8, 6, 64
"""The most claims and texts in one call by default, and the most labels where the model has no limit of
tokens."""


class LLMJudge(Judge):
    """`kind: llm`: any chat model. The claims of an answer and what they are compared with share calls.

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
    """Prompt template instead of that of fathoms; `{premise}` and `{claim}` are required, `{context}` is the
    sentence of the claim. With `claims_a_call`, `{claims}` stands in the place of both, a numbered list of
    claims. It must ask for `yes` or `no`, or for the three labels. Put the premise before the claim, because
    providers reuse the beginning that a prompt shares with an earlier one."""
    prompts: dict[Rubric | Literal["claims"], str] = Field(default_factory=dict)
    """Prompt templates instead of those of fathoms for all else: `claims`, which splits texts into claims,
    `grade`, `correct`, `abstention`, `relevant-sentences`, `questions`, `nugget`, `unanswerable`, `citing`,
    `quality`, `relevance`, `extent`. Each has the places of the one that it stands for (`{context}` and
    `{question}` may be left out), and must ask for a reply of the same form."""
    claims_a_call: int | None = Field(default=None, ge=1, le=50)
    """The most claims that are judged in one call, facts of an answer among them. By default 8, or fewer if
    `max_tokens` has no room for 8 tokens for each; 1 where `threshold`, `quote` or a `prompt` with `{claim}`
    needs it, and for the cheap judge of a cascade. With more than 1, verdicts have no probability."""
    texts_a_call: int | None = Field(default=None, ge=1, le=50)
    """The most texts that the claims of one call are compared with, such as the gold answer and the retrieved
    passages. By default 6, or 1 where `claims_a_call` is given, and with a `prompt` of your own."""
    passages_a_call: int = Field(default=10, ge=1, le=50)
    """The most passages that are graded for one question in one call, as far as they fit into the context of
    the model. Fewer if `max_tokens` has no room for 8 tokens for each."""
    premise: Excerpts | None = None
    """Shows the judge only the passages of a long premise that are most like the claims, such as
    `{retrieve: 5}`; without it, the whole premise."""
    quote: bool = False
    """Whether the model first quotes the words of the source that decide. They are kept with the verdict if
    they stand in the source, word by word, and reports show them. Verdicts then have no probability, and
    `max_tokens` needs room for a sentence."""
    threshold: float | None = Field(default=None, gt=0, lt=1)
    """With `labels: binary` and a model that gives probabilities: the probability of yes from which on a
    claim is supported, for models that say yes too often. By default the likelier word counts."""
    votes: int = Field(default=1, ge=1, le=99)
    """How often each judgement is asked for, with another seed each time. The label is that of the majority,
    and the verdict keeps the counts."""

    @field_validator("prompt")
    @classmethod
    def _has_places(cls, prompt: str | None) -> str | None:
        if prompt is not None:
            found = places(prompt)
            if missing := {"premise", "claim"} - found - ({"claim"} if "claims" in found else set()):
                raise ValueError(f"must contain {{{min(missing)}}}")
        return prompt

    @field_validator("prompts")
    @classmethod
    def _have_places(cls, prompts: dict[str, str]) -> dict[str, str]:
        if "support" in prompts:
            raise ValueError("support: 'prompt' replaces this one")
        for name, text in prompts.items():
            if wrong := misplaced(name, text):
                raise ValueError(f"{name}: {wrong}")
        return prompts

    @property
    def template(self) -> str:
        """The prompt template in use."""
        return self._template_of("support").whole

    @property
    def _prompt_name(self) -> str:
        """The name of the prompt of fathoms."""
        if self.quote:
            return f"quoted-{self.labels}"
        if self.texts_together > 1:
            return f"crossed-{self.labels}"
        return f"{'support' if self.claims_together == 1 else 'several'}-{self.labels}"

    @property
    def name(self) -> str:
        """The kind and the model."""
        return f"llm {getattr(self.model, 'model', self.model.kind)}"

    @property
    def max_concurrency(self) -> int:
        """The most calls to the model at a time."""
        return self.model.max_concurrency

    def together(self, rubric: Rubric = "support") -> int:
        """Return the most judgements in one call."""
        if rubric == "relevance":
            room = self.model.max_tokens
            most = self.passages_a_call if room is None else room // most_tokens(1)
            return max(1, min(self.passages_a_call, most))
        return self.claims_together if rubric in _A_CALL else 1

    @property
    def claims_together(self) -> int:
        """The most claims in one call."""
        if self.claims_a_call is not None:
            return self.claims_a_call
        if self.threshold is not None or self.quote or (self.prompt and "claims" not in places(self.prompt)):
            return 1
        return max(1, min(_CLAIMS, self._room_for_labels))

    @property
    def texts_together(self) -> int:
        """The most texts in one call that claims are compared with."""
        if self.texts_a_call is not None:
            return self.texts_a_call
        is_free = self.claims_a_call is None and self.claims_together > 1 and not self.prompt
        return _TEXTS if is_free else 1

    @property
    def _room_for_labels(self) -> int:
        """The most labels in one reply."""
        room = self.model.max_tokens
        return _LABELS_A_CALL if room is None else room // most_tokens(1)

    def calls_of(self, judgements: Sequence[Judgement]) -> list[list[int]] | None:
        """Return which judgements share a call where they may have several texts; see `Judge.calls_of`."""
        if self.texts_together == 1 or any(one.rubric != "support" or one.image for one in judgements):
            return None
        most = Most(
            self.claims_together, self.texts_together, max(self.claims_together, self._room_for_labels)
        )
        return list(calls_of(judgements, most))

    @property
    def shares_premise(self) -> bool:
        """The claims of one call are compared with one premise, and its passages with one question."""
        return True

    @property
    def repeats(self) -> int:
        """How often each judgement is asked for."""
        return self.votes

    def prompt_of(self, kind: Rubric | Literal["claims"]) -> str:
        """Return the name and the version of a prompt, or that it is the user's; see `Judge.prompt_of`."""
        name = self._prompt_name if kind == "support" else kind
        template = self._template_of(kind)
        return f"own prompt for {kind}" if template.is_own else f"{name} {template.version}"

    def version_of(self, rubric: Rubric) -> int:
        """Return the version of the prompt for a rubric; see `Judge.version_of`."""
        template = self._template_of(rubric)
        return 1 if template.is_own else template.version

    @property
    def splitting(self) -> Template:
        """The prompt by which texts are split into claims."""
        return self._template_of("claims")

    def _template_of(self, kind: Rubric | Literal["claims"]) -> Template:
        """Return the prompt for a rubric, or for splitting texts."""
        if kind == "support":
            return own(self.prompt) if self.prompt else shipped(self._prompt_name)
        return own(self.prompts[kind]) if kind in self.prompts else shipped(kind)

    def _template_for(self, rubric: Rubric, values: Mapping[str, str]) -> Template:
        """Return the prompt of a call by what is filled in: several texts, several claims, or one claim."""
        if rubric != "support" or self.prompt or self.quote:
            return self._template_of(rubric)
        form = "crossed" if "texts" in values else "several" if "claims" in values else "support"
        return shipped(f"{form}-{self.labels}")

    @property
    def rubrics(self) -> frozenset[Rubric]:
        """Everything; `prompt` and `labels` are those of claims."""
        return RUBRICS | {"support"}

    def identity(self) -> dict[str, Any]:
        """Extend the identity by the model and the text of the template."""
        found = super().identity()
        fields = type(self).model_fields
        unused = {
            name
            for name in _LATER
            if getattr(self, name) == fields[name].get_default(call_default_factory=True)
        }
        together = {"claims_a_call": self.claims_together, "texts_a_call": self.texts_together}
        options = {
            name: value for name, value in found["options"].items() if name not in {*unused, *together}
        }
        return {
            **found,
            "options": {**options, **{name: most for name, most in together.items() if most > 1}},
            "model": self.model.identity(),
            "template": fingerprint(self.template),
            "version": 1,
        }

    def identity_for(self, rubric: Rubric) -> dict[str, Any]:
        """Return the identity with the prompt for the rubric alone; for other rubrics than that of claims
        (`support`), without the options that only decide how claims are judged."""
        found = self.identity()
        dropped: set[str] = {"prompts", "passages_a_call"}
        if rubric != "support":
            dropped = {*_OF_CLAIMS} - {_A_CALL.get(rubric, "")}
        options = {name: value for name, value in found["options"].items() if name not in dropped}
        if rubric != "support":
            del found["template"]
            if rubric in self.prompts:
                found["template"] = fingerprint(self.prompts[rubric])
        return {**found, "options": options}

    def served(self) -> dict[str, Any]:
        """Return what the server reports about the model it runs."""
        return self.model.served()

    def parts(self) -> dict[str, Any]:
        """The language model that is asked, under its key of the configuration."""
        return {"model": self.model}

    def check(self) -> None:
        """Check the model; raises its errors, and ConfigError if `max_tokens` leaves no room for a prompt, or
        none for the labels of `claims_a_call`."""
        room_for_prompt(self.model, "the judge's model")
        several = self.claims_together > 1
        needed = most_tokens(self.claims_together)
        if several and (self.model.max_tokens or needed) < needed:
            raise ConfigError(
                f"the judge's model: max_tokens is {self.model.max_tokens}, and the labels of"
                f" {self.claims_together} claims take up to {needed}: raise it, or lower claims_a_call"
            )
        if self.threshold is not None and (self.labels != "binary" or several):
            other = "claims_a_call" if several else "labels: three-way"
            raise ConfigError(f"judge.threshold has no effect with {other}: leave one of them out")
        if self.quote and (several or self.threshold is not None):
            other = "claims_a_call" if several else "threshold"
            raise ConfigError(f"judge.quote cannot be combined with {other}: leave one of them out")
        for other, used in (("prompt", self.prompt), ("threshold", self.threshold), ("quote", self.quote)):
            if self.texts_together > 1 and used:
                raise ConfigError(
                    f"judge.{other} cannot be combined with texts_a_call: leave one of them out"
                )
        if self.prompt:
            self._check_places(places(self.prompt))
        self.model.check()

    def _check_places(self, found: frozenset[str]) -> None:
        """Raise ConfigError if the prompt lacks a place, or has one that is not filled."""
        several = self.claims_together > 1
        needed, strange = ("claims", {"claim", "context"}) if several else ("claim", {"claims"})
        how = f"with claims_a_call: {self.claims_together}"
        if needed not in found:
            raise ConfigError(f"judge.prompt must contain {{{needed}}} {how}")
        if left := strange & found:
            raise ConfigError(f"judge.prompt: nothing is filled in for {{{min(left)}}} {how}: take it out")

    @property
    def sees_images(self) -> bool:
        """Whether the model is not known to refuse images."""
        try:
            self.model.check_images()
        except ConfigError:
            return False
        return True

    async def judge(
        self, judgements: Sequence[Judgement], caller: Caller, repeat: int = 0
    ) -> list[Verdict | Failure]:
        """Ask the model; see `Judge.judge`. Claims on one premise that follow one another share a call, and
        so do the passages that are graded for one question, and the claims of an answer on several texts."""
        calls = self.calls_of(judgements) or [
            [at for at, _ in group] for _, group in groupby(enumerate(judgements), lambda one: shared(one[1]))
        ]
        found: dict[int, Verdict | Failure] = {}
        for numbers in calls:
            one_call = [judgements[at] for at in numbers]
            found |= zip(numbers, await self._of_call(one_call, caller, repeat), strict=True)
        return [found[at] for at in range(len(judgements))]

    async def _of_call(
        self, judgements: Sequence[Judgement], caller: Caller, repeat: int
    ) -> list[Verdict | Failure]:
        """Ask for the verdicts of one call."""
        first = judgements[0]
        if first.rubric == "support" and any(one.premise != first.premise for one in judgements):
            return await self._crossed(judgements, caller, repeat)
        if first.rubric in LISTED or (first.rubric == "support" and self.claims_together > 1):
            return await self._verdicts(judgements, caller, repeat)
        return [await self._verdict(one, caller, repeat) for one in judgements]

    async def _crossed(
        self, judgements: Sequence[Judgement], caller: Caller, repeat: int
    ) -> list[Verdict | Failure]:
        """Ask for the verdicts on several claims and several texts in one call. What has no label is asked
        for again text by text, and so are texts that do not fit together."""
        words = _WORDS[self.labels]
        of_text = {
            text: [one for one in judgements if one.premise == text]
            for text in dict.fromkeys(one.premise for one in judgements)
        }
        shown = {text: self._excerpt(own) for text, own in of_text.items()}
        crossed = Crossed(judgements, shown)
        values = {"texts": crossed.listed_texts, "claims": crossed.listed_claims}
        try:
            if await self._fits(judgements[0], values, caller):
                messages = self._messages(judgements[0], "", values)
                prompt = Prompt(messages=messages, form=crossed.form(tuple(words)))
                reply, call = await caller.reply(self.model, prompt, purpose="judge", repeat=repeat)
                read = [""] * len(judgements) if was_cut(reply) else crossed.read(reply.text)
                spent = _Shares.of([reply], call.seconds, len(judgements))
            else:
                read, spent = [""] * len(judgements), _Shares()
        except ModelError as error:
            return [to_failure(error)] * len(judgements)
        again = [one for one, word in zip(judgements, read, strict=True) if word not in words]
        left: dict[Judgement, Verdict | Failure] = {}
        for text in of_text:
            if missing := [one for one in again if one.premise == text]:
                left |= zip(missing, await self._verdicts(missing, caller, repeat), strict=True)
        return [
            spent.added(
                _verdict_of(one, words[word], self._cut_sentence(one, shown[one.premise]))
                if word in words
                else left[one],
                at == 0,
            )
            for at, (one, word) in enumerate(zip(judgements, read, strict=True))
        ]

    async def _verdicts(
        self, judgements: Sequence[Judgement], caller: Caller, repeat: int
    ) -> list[Verdict | Failure]:
        """Ask for the verdicts on several claims or passages in one call.

        What has no label in the reply is asked for again alone, and a single one once more if its reply
        cannot be read; it is then unparsed. Passages that do not fit together are asked for in two halves.
        """
        grades = judgements[0].rubric == "relevance"
        words = WORDS[judgements[0].rubric] if judgements[0].rubric in LISTED else _WORDS[self.labels]
        form = labels_form(len(judgements), tuple(words))
        values = {"claim": judgements[0].claim} if grades else {"claims": listed_claims(judgements)}
        first = judgements[0]._replace(premise=listed_passages(judgements)) if grades else judgements[0]
        replies: list[Reply] = []
        seconds = 0.0
        try:
            shown = await self._cut_premise([first, *judgements[1:]], values, caller)
            if grades and shown != first.premise and len(judgements) > 1:
                halves = judgements[: len(judgements) // 2], judgements[len(judgements) // 2 :]
                return [one for half in halves for one in await self._verdicts(half, caller, repeat)]
            for attempt in range(2 if len(judgements) == 1 else 1):
                prompt = Prompt(messages=self._messages(first, shown, values), form=form)
                reply, call = await caller.reply(
                    self.model, prompt, purpose="judge", repeat=repeat + attempt * self.votes
                )
                replies.append(reply)
                seconds += call.seconds
                cut = was_cut(reply)
                labels = (None if cut else read_labels(reply.text, len(judgements), tuple(words))) or {}
                if cut or labels:
                    break
        except ModelError as error:
            return [to_failure(error)] * len(judgements)
        spent = _Shares.of(replies, seconds, len(judgements))
        verdicts: list[Verdict | Failure] = []
        why: str | None
        for number, one in enumerate(judgements, 1):
            word = labels.get(str(number), "")
            if word not in words and len(judgements) > 1:
                (verdict,) = await self._verdicts([one], caller, repeat)
            elif word not in words:
                what = "passage" if grades else "claim"
                why = _unread(reply) if cut or not labels else f"the reply has no label for {what} {number}"
                verdict = _verdict_of(one, UNPARSED, why)
            else:
                why = self._cut_sentence(first if grades else one, shown)
                verdict = _verdict_of(one, words[word], why)
            verdicts.append(spent.added(verdict, number == 1))
        return verdicts

    async def _verdict(self, judgement: Judgement, caller: Caller, repeat: int) -> Verdict | Failure:
        """Ask for one verdict, and once more if the reply cannot be read."""
        words = {} if judgement.rubric in _LISTS else WORDS.get(judgement.rubric) or _WORDS[self.labels]
        quotes = self.quote and judgement.rubric == "support"
        form = quoting_form(words) if quotes else _FORMS.get(judgement.rubric) or _FORMS[self.labels]
        values = _values(judgement)
        replies: list[Reply] = []
        seconds = 0.0
        try:
            shown = await self._cut_premise([judgement], values, caller)
            for attempt in range(2):
                prompt = Prompt(messages=self._messages(judgement, shown, values), form=form)
                reply, call = await caller.reply(
                    self.model, prompt, purpose="judge", repeat=repeat + attempt * self.votes
                )
                replies.append(reply)
                seconds += call.seconds
                word = read_choice(reply.text, tuple(words)) if words else None
                listed = None if words else read_list(reply.text, judgement, shown)
                if word is not None or listed is not None or was_cut(reply):
                    break
        except ModelError as error:
            return to_failure(error)
        shares = replies[-1].choice_p or {}
        if word is not None and shares and getattr(self.model, "temperature", None) == 0:
            word = max(
                shares, key=shares.__getitem__
            )  # "Yes" and "yes" count together, in the reply only one
            if self.threshold is not None and judgement.rubric == "support" and "yes" in shares:
                word = "yes" if shares["yes"] >= self.threshold else "no"
        why = self._cut_sentence(judgement, shown)
        if judgement.rubric == "abstention":
            why = _sentence(reply.text, judgement.claim)
        quote, misquoted = (
            quote_of(reply.text, judgement.premise) if quotes and word is not None else (None, None)
        )
        if word is None and listed is None:
            why = _unread(reply)
        return Verdict(
            claim=judgement.claim,
            premise=judgement.premise,
            context=judgement.context or None,
            **({"label": UNPARSED if word is None else words[word]} if listed is None else listed),
            p=next((p for choice, p in shares.items() if choice in _POSITIVE), None),
            why="; ".join(filter(None, [why, misquoted])) or None,
            quote=quote,
            usage=reply.usage if len(replies) == 1 else summed([reply.usage for reply in replies]),
            cost=total([reply.cost for reply in replies]),
            seconds=round(seconds, 4),
        )

    def _messages(
        self, judgement: Judgement, premise: str, values: dict[str, str] | None = None
    ) -> tuple[Message, ...]:
        """Return the messages that ask for verdicts on a premise; `values` fill the other places."""
        shown = {**(values or _values(judgement)), "premise": _shown_premise(judgement, premise)}
        text = self._template_for(judgement.rubric, shown).filled(shown)
        images = () if judgement.image is None else (judgement.image,)
        return (Message(role="user", text=text, images=images),)

    async def _cut_premise(
        self, judgements: Sequence[Judgement], values: dict[str, str], caller: Caller
    ) -> str:
        """Return what is shown of the premise: its passages that are most like the claims if only those are
        wanted, and the longest beginning that fits into the context of the model."""
        return await self._fit(judgements[0]._replace(premise=self._excerpt(judgements)), values, caller)

    def _excerpt(self, judgements: Sequence[Judgement]) -> str:
        """Return the passages of a premise that are shown for some judgements, the premise itself unless only
        those that are most like the claims are wanted."""
        premise = judgements[0].premise
        if self.premise is None or judgements[0].rubric != "support":
            return premise
        return self.premise.of(premise, judgements)

    async def _fit(self, first: Judgement, values: dict[str, str], caller: Caller) -> str:
        """Return the longest beginning of a premise that fits into the context of the model."""
        room = room_for_prompt(self.model, "the judge's model")
        if room is None or self._surely_fits(first, values, room):
            return first.premise
        return await caller.counted(self.model, lambda: self._fitted(first, values, room))

    async def _fits(self, first: Judgement, values: dict[str, str], caller: Caller) -> bool:
        """Whether a prompt without a premise of its own fits into the context of the model."""
        room = room_for_prompt(self.model, "the judge's model")
        if room is None or self._surely_fits(first, values, room):
            return True
        messages = self._messages(first, "", values)
        return await caller.counted(self.model, lambda: self.model.count_tokens(messages) or 0) <= room

    def _surely_fits(self, judgement: Judgement, values: dict[str, str], room: int) -> bool:
        """Whether a judgement fits even if each of its bytes is a token, so that nothing must be counted."""
        texts = (
            self._template_for(judgement.rubric, values).whole,
            *values.values(),
            _shown_premise(judgement, judgement.premise),
        )
        longest = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) + _MARKUP
        return judgement.image is None and longest <= room

    def _fitted(self, judgement: Judgement, values: dict[str, str], room: int) -> str:
        """Return the longest beginning of the premise that fits into the context of the model."""

        def tokens(length: int) -> int:
            return self.model.count_tokens(self._messages(judgement, judgement.premise[:length], values)) or 0

        if tokens(len(judgement.premise)) <= room:
            return judgement.premise
        if (bare := tokens(0)) > room:
            raise ModelError(f"the claim without a source takes {bare} tokens, and the model leaves {room}")
        return judgement.premise[
            : most_that_fits(len(judgement.premise), lambda length: tokens(length) <= room)
        ]

    def _cut_sentence(self, judgement: Judgement, shown: str) -> str | None:
        """Say that the judge did not see the whole premise; `None` if it did."""
        if shown == judgement.premise:
            return None
        if self.premise is not None and judgement.rubric == "support":
            return "the judge saw the passages of the premise that are most like the claims"
        return "the premise was cut to fit the context of the judge"


class _Shares(NamedTuple):
    """What the call of several verdicts took: its tokens, and each verdict's share of the cost and the
    seconds."""

    usage: Usage = _NOTHING
    cost: float | None = 0.0
    seconds: float = 0.0

    @classmethod
    def of(cls, replies: Sequence[Reply], seconds: float, count: int) -> _Shares:
        """Return what some replies on so many judgements took."""
        cost = total([reply.cost for reply in replies])
        usage = summed([reply.usage for reply in replies])
        return cls(usage, None if cost is None else cost / count, round(seconds / count, 4))

    def added(self, verdict: Verdict | Failure, is_first: bool) -> Verdict | Failure:
        """Return a verdict with its share added to what it took by itself; the tokens of a call stand with
        its first verdict, so that sums are right."""
        if isinstance(verdict, Failure):
            return verdict
        usages = [one for one in (verdict.usage, self.usage if is_first else None) if one is not None]
        return verdict.model_copy(
            update={
                "usage": summed(usages) if len(usages) > 1 else usages[0] if usages else _NOTHING,
                "cost": total([verdict.cost, self.cost]),
                "seconds": round((verdict.seconds or 0.0) + self.seconds, 4),
            }
        )


def _verdict_of(judgement: Judgement, label: str, why: str | None) -> Verdict:
    """Return a verdict that took nothing by itself."""
    return Verdict(
        claim=judgement.claim,
        premise=judgement.premise,
        context=judgement.context or None,
        label=label,
        why=why,
        usage=_NOTHING,
        cost=0.0,
        seconds=0.0,
    )


def _values(judgement: Judgement) -> dict[str, str]:
    """Return what fills the places of a prompt for one judgement, except the premise."""
    return {
        "context": judgement.context or judgement.claim,
        "claim": _numbered(judgement.claim) if judgement.rubric == "abstention" else judgement.claim,
        "wanted": str(judgement.wanted),
    }


def _shown_premise(judgement: Judgement, premise: str) -> str:
    """Return a premise as the prompt shows it."""
    return _numbered(premise) if judgement.rubric == "relevant-sentences" else premise


def _unread(reply: Reply) -> str:
    """Say why a reply could not be read."""
    return CUT if was_cut(reply) else f"unreadable: {reply.text[:200]!r}"


def _numbered(text: str) -> str:
    """Return a text with its sentences numbered, one a line."""
    return "\n".join(f"{number}. {sentence}" for number, sentence in enumerate(sentences(text), 1))


def _sentence(reply: str, answer: str) -> str | None:
    """Return the sentence of an answer whose number a reply names; `None` if it names none."""
    data, split = read_json(reply), sentences(answer)
    number = data.get("sentence") if isinstance(data, dict) else None
    return split[number - 1] if isinstance(number, int) and 1 <= number <= len(split) else None
