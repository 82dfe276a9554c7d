"""Estimating requests, tokens and dollars of questions without calling the model.

Prompts are packed as they will be sent, from what was retrieved; where a language model will rerank, from the
first of its candidates. Their tokens are the model's own count where it runs in this process. Otherwise four
characters of text count as one token, every page of an attached PDF as many as the model's adapter says
(`page_tokens`), and every image as many as follow from its size by the provider's formula (`image_tokens`),
or as many as a page where none is known. A reply is assumed to have 100 tokens, and a description of a page
500, or `max_tokens` where that is less. A description is counted once, and not if it is kept already. For
judging, an answer is assumed to have three sentences, and its calls are counted as they are announced before
a run is judged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeVar

from fathoms.answers.citations import parse_citations
from fathoms.errors import PromptTooLongError
from fathoms.models import ChatModel
from fathoms.models.caching import ReplyCache
from fathoms.models.caller import CHARACTERS
from fathoms.pipeline.answering import PackedQuestion
from fathoms.pipeline.each_document import drafts
from fathoms.pipeline.runnable import Judging
from fathoms.retrieve import EachDocument, Retriever
from fathoms.types import Document, Hit, Message, Prompt, Purpose, Question, Record, Reply, Usage

REPLY = 100
"""Tokens assumed for a short answer."""
DESCRIPTION = 500
"""Tokens assumed for the description of a page, which copies its text: those of about 400 words."""
SENTENCE = (
    "Sentence {number} of answer {answer} is as long as the sentences of answers usually are, which"
    " is about a hundred and thirty characters [1]."
)
SENTENCES = 3
"""Sentences assumed in a short answer, which a judge splits into claims."""
LABEL = 2
"""Tokens assumed for a label."""
INSTRUCTIONS = 150
"""Tokens assumed for a prompt that splits an answer into claims, without the answer."""
PAGE = 2000
"""Tokens of a page or an image where the adapter does not say. Vendors state 1,500 to 3,000."""


@dataclass(frozen=True)
class Estimate:
    """The estimate for one or more questions; `most_` fields assume that every reply takes `max_tokens`.

    `most_reply_tokens` is `None` where only the vendor limits replies. Costs are in US dollars, `None` where
    no price is known. `pictures` counts the images in the prompts, and `picture_tokens` their tokens, which
    are part of `prompt_tokens`; both are 0 where the model counts its prompts itself.
    """

    requests: int = 0
    prompt_tokens: int = 0
    reply_tokens: int = 0
    most_reply_tokens: int | None = 0
    cost: float | None = 0.0
    most_cost: float | None = 0.0
    pictures: int = 0
    picture_tokens: int = 0

    def __add__(self, other: Estimate) -> Estimate:
        return Estimate(
            self.requests + other.requests,
            self.prompt_tokens + other.prompt_tokens,
            self.reply_tokens + other.reply_tokens,
            _sum(self.most_reply_tokens, other.most_reply_tokens),
            _sum(self.cost, other.cost),
            _sum(self.most_cost, other.most_cost),
            self.pictures + other.pictures,
            self.picture_tokens + other.picture_tokens,
        )


Estimates = dict[Purpose, Estimate]
"""Estimates by what the model is called for."""


@dataclass(frozen=True)
class SharedReplies:
    """The replies that are made once for all questions: those in the cache, and those counted here."""

    cache: ReplyCache | None
    counted: set[str] = field(default_factory=set)

    def needs(self, model: ChatModel, prompt: Prompt) -> bool:
        """Whether the model must be called for this prompt, the first time that this is asked."""
        if self.cache is None:
            return True
        key = self.cache.key(model, prompt, 0)
        if key in self.counted or self.cache.get(key) is not None:
            return False
        self.counted.add(key)
        return True


def estimate(packed: PackedQuestion, shared: SharedReplies | None = None) -> Estimates:
    """Estimate one question; empty for one that cannot be asked. `shared` has the replies that several
    questions share. Raises ModelError where a model in this process fails to count tokens."""
    answering = _answering(packed)
    if not answering.requests:
        return {}
    shared = shared or SharedReplies(packed.ingested.index.replies)
    refined = refining(packed.ingested.retriever, packed.question, packed.retrieved, shared)
    return {"answer": answering, **refined}


def repeated(once: Estimates, repeats: int) -> Estimates:
    """Return the estimates of all repeats, given those of one; what is made once is not made again."""
    again: Estimates = {purpose: one for purpose, one in once.items() if purpose != "describe"}
    return added([once, *[again] * (repeats - 1)])


def assumed(packed: PackedQuestion, answer: int) -> Record:
    """Return what a question is assumed to become before it is asked: its context, and a short answer whose
    sentences cite the first hit. `answer` is the number of the answer, so that no two are the same."""
    text = " ".join(SENTENCE.format(number=n, answer=answer) for n in range(1, SENTENCES + 1))
    ingested = packed.ingested
    return Record(
        question=packed.question,
        hits=packed.hits,
        prompt=packed.drafts[0].fit(partial(_count, ingested.generate), ingested.max_prompt_tokens),
        answer=Reply(text=text),
        citations=parse_citations(text, packed.hits),
    )


def judging(by: Judging, records: Sequence[Record], documents: Mapping[str, Document]) -> Estimate:
    """Estimate how a language model judges answers; `records` are those that are assumed."""
    model, calls = by.model, by.calls(records, documents)
    requests = calls.texts + calls.verdicts
    prompts = INSTRUCTIONS * calls.texts + (calls.text_characters + calls.characters) // CHARACTERS
    replies = REPLY * calls.texts + LABEL * calls.judgements
    most = None if model.max_tokens is None else model.max_tokens * requests
    return Estimate(
        requests=requests,
        prompt_tokens=prompts,
        reply_tokens=replies,
        most_reply_tokens=most,
        cost=model.cost(Usage(prompt_tokens=prompts, completion_tokens=replies)),
        most_cost=model.cost(Usage(prompt_tokens=prompts, completion_tokens=most)),
    )


def added(parts: Iterable[Estimates]) -> Estimates:
    """Add up estimates by purpose."""
    found: Estimates = {}
    for part in parts:
        for purpose, one in part.items():
            found[purpose] = found.get(purpose, Estimate()) + one
    return found


def refining(
    retriever: Retriever, question: Question, candidates: Sequence[Hit], shared: SharedReplies
) -> Estimates:
    """Estimate the calls of a language model that helps to retrieve for a question, if there are any."""
    found: Estimates = {}
    if isinstance(retriever, EachDocument) and retriever.generate is not None:
        by_document = drafts(retriever, question, retriever.by_document(candidates)).values()
        prompts = [draft.fit(partial(_count, retriever.generate), None) for draft in by_document]
        return {"extract": calling(retriever.generate, prompts, REPLY)} if prompts else {}
    for purpose, model in retriever.called.items():
        prompts = [
            prompt
            for prompt in retriever.refining_prompts(question, candidates)
            if purpose != "describe" or shared.needs(model, prompt)
        ]
        if prompts:
            found[purpose] = calling(model, prompts, DESCRIPTION if purpose == "describe" else REPLY)
    return found


def calling(model: ChatModel, prompts: Sequence[Prompt], assumed: int) -> Estimate:
    """Estimate calls of a model whose replies have the assumed number of tokens."""
    room = math.inf if model.context_window is None else model.context_window - (model.max_tokens or 0)
    found = Estimate()
    for prompt in prompts:
        size = int(min(_count(model, prompt.messages), room))  # longer passages are cut
        shown = () if _counts_here(model) else pictures_in(prompt.messages)
        found += _request(model, size, shown, assumed)
    return found


def _answering(packed: PackedQuestion) -> Estimate:
    """Estimate the answer to one question; zero where it cannot be asked."""
    ingested, question, generate = packed.ingested, packed.question, packed.ingested.generate
    if question.id in ingested.unusable:
        return Estimate()
    if isinstance(ingested.retriever, EachDocument):  # the request combines what each document says
        documents = len(ingested.retriever.by_document(packed.retrieved))
        partial_answers = documents * _reply(ingested.retriever.generate or generate)
        return _request(generate, len(question.text) // CHARACTERS + partial_answers)
    found = []
    try:
        with packed.timed():
            for number, draft in enumerate(packed.drafts):
                prompt = packed.prompt(number) if _counts_here(generate) else None
                if prompt is None or not prompt.tokens:
                    prompt = draft.fit(partial(_count, generate), ingested.max_prompt_tokens)
                shown = () if _counts_here(generate) else pictures_in(prompt.messages)
                found.append(_request(generate, prompt.tokens or 0, shown))
    except PromptTooLongError:
        return Estimate()
    if len(found) > 1:  # the last request merges the answers
        merging = len(question.text) // CHARACTERS + len(found) * _reply(generate)
        found.append(_request(generate, merging))
    return sum(found, Estimate())


def _counts_here(model: ChatModel) -> bool:
    """Whether the model counts tokens in this process."""
    from fathoms.models import Embedded, ScriptedModel

    return isinstance(model, Embedded | ScriptedModel)


def _count(model: ChatModel, messages: Sequence[Message]) -> int:
    """The model's own count of tokens where it is made in this process, otherwise by the rule."""
    own = model.count_tokens(messages) if _counts_here(model) else None
    return by_rule(model, messages) if own is None else own


def by_rule(model: ChatModel, messages: Sequence[Message]) -> int:
    """Estimate the tokens of messages by the rule in this module's docstring."""
    text = sum(len(message.text) for message in messages) // CHARACTERS
    pages = sum(len(file.pages) for message in messages for file in message.files)
    return text + pages * _page(model) + _of_pictures(model, pictures_in(messages))


def pictures_in(messages: Sequence[Message]) -> tuple[Path, ...]:
    """Return the paths of all images in messages."""
    return tuple(image for message in messages for image in message.images)


def _page(model: ChatModel) -> int:
    """Return the tokens of a page of an attached PDF."""
    return int(getattr(model, "page_tokens", PAGE))


def _of_pictures(model: ChatModel, images: Sequence[Path]) -> int:
    """Return the tokens of images; one that cannot be read counts as a page."""
    found = 0
    for image in images:
        size = _size(image)
        tokens = None if size is None else model.image_tokens(*size)
        found += _page(model) if tokens is None else tokens
    return found


@lru_cache(maxsize=4096)
def _size(image: Path) -> tuple[int, int] | None:
    """Return the width and height of an image in pixels, read from its first bytes; `None` if it is none."""
    from PIL import Image

    try:
        with Image.open(image) as opened:
            return opened.size
    except (OSError, ValueError, Image.DecompressionBombError):
        return None


def _request(model: ChatModel, prompt: int, pictures: Sequence[Path] = (), assumed: int = REPLY) -> Estimate:
    """Estimate one request with a prompt of so many tokens, those of its pictures included, and with a reply
    of the assumed tokens."""
    reply, most = _reply(model, assumed), model.max_tokens
    return Estimate(
        requests=1,
        prompt_tokens=prompt,
        reply_tokens=reply,
        most_reply_tokens=most,
        cost=model.cost(Usage(prompt_tokens=prompt, completion_tokens=reply)),
        most_cost=model.cost(Usage(prompt_tokens=prompt, completion_tokens=most)),
        pictures=len(pictures),
        picture_tokens=_of_pictures(model, pictures),
    )


def _reply(model: ChatModel, assumed: int = REPLY) -> int:
    """Tokens that a reply is assumed to have: no more than the model may write."""
    return assumed if model.max_tokens is None else min(assumed, model.max_tokens)


Known = TypeVar("Known", int, float)


def _sum(one: Known | None, other: Known | None) -> Known | None:
    """The sum; `None` where either value is unknown."""
    return None if one is None or other is None else one + other
