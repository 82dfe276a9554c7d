"""The funnel: at which stage an answer was lost, with no judge and no extra call.

Phrase recall of the gold answer in four texts, by the match and the hyphens of the profile:

| stage | text |
|---|---|
| `documents` | the gold documents as parsed; only their gold pages, where these are named |
| `retrieved` | the chunks that were retrieved |
| `prompt` | the context of the prompt, after packing |
| `answer` | the answer: this is Correctness itself |

Each stage takes its own maximum over the variants. What a stage lost is `max(0, before - this)` and what it
gained `max(0, this - before)`; the two are never netted. What stands before `documents` is the whole
answer, 1. A text that is not known (a server cut the prompt, a model read a file or an image itself) has no
recall, and neither a loss nor a gain is counted to it or from it. A stage that a run tells of no question at
all is passed over: the next one is compared with what stands before it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache

from fathoms.metrics.ingestion import GoldText, ParsedTexts, gold_pages, gold_text_recall
from fathoms.metrics.phrase_recall import Hyphens, Match, fold_text, recall_in, stands_in
from fathoms.metrics.stages import STAGES, Funnel, Stage
from fathoms.types import Chunk, Document, Prompt, Question, Record

_LEFT_OUT = ("unanswerable", "yes-no", "common")

_Texts = Sequence[str] | None


class RunTexts:
    """The documents of a run as parsed, and the ids of those that its parser could not read (`unread`).

    A document that is in neither is not known.
    """

    def __init__(self, documents: Mapping[str, Document], unread: Collection[str] = ()) -> None:
        self.parsed = ParsedTexts(documents)
        self.unread = frozenset(unread)
        self._gold: dict[tuple[str, Match, Hyphens], GoldText] = {}

    def gold(self, question: Question, match: Match, hyphens: Hyphens) -> GoldText:
        """The first stage of a question, the same for all its repeats; its recall is `None` where one of its
        documents is not known."""
        key = (question.id, match, hyphens)
        if key not in self._gold:
            found = gold_text_recall(question, self.parsed, match, hyphens)
            known = self.parsed.documents.keys() | self.unread
            if not known.issuperset(name for name, _ in gold_pages(question)):
                found = found._replace(recall=None)
            self._gold[key] = found
        return self._gold[key]

    def retrieved(self, record: Record) -> _Texts:
        """The texts of what was retrieved, `None` where one of them is not known."""
        if record.hits is None:
            return None
        texts = [self._text(hit.chunk) for hit in record.hits]
        return None if None in texts else [text for text in texts if text is not None]

    def told(self, records: Iterable[Record]) -> frozenset[Stage]:
        """The stages that are known for some question of a run; no more records are read than that takes."""
        known: set[Stage] = {"answer"}
        if self.parsed.documents or self.unread:
            known.add("documents")
        for record in records:
            if self.retrieved(record) is not None:
                known.add("retrieved")
            if prompted(record) is not None:
                known.add("prompt")
            if known.issuperset(STAGES[1:]):
                break
        return frozenset(known)

    def _text(self, chunk: Chunk) -> str | None:
        """The text of a chunk as it was retrieved. What was cut off a document at its end is the loss of the
        prompt: the whole document was found."""
        if not chunk.whole or (chunk.modality != "text" and not chunk.text):
            return None
        if not chunk.dropped:
            return chunk.indexed
        document = self.parsed.documents.get(chunk.document)
        return None if document is None else document.text


def prompted(record: Record) -> _Texts:
    """The contexts that the model read, `None` where that is not known."""
    if record.prompt is None or (record.answer and record.answer.prompt_cut):
        return None
    parts = record.prompt.parts
    if any(part.reply.prompt_cut for part in parts):
        return None
    prompts = [part.prompt for part in parts] or [record.prompt]
    return None if any(map(_shows_more, prompts)) else [prompt.context for prompt in prompts]


def _shows_more(prompt: Prompt) -> bool:
    """Whether there is more to read in it than text."""
    return any(message.files or message.images for message in prompt.messages)


def funnel(
    record: Record,
    correctness: float | None,
    missed: Sequence[str],
    texts: RunTexts,
    told: Collection[Stage] = STAGES,
    match: Match = "word",
    hyphens: Hyphens = "both",
) -> Funnel:
    """The funnel of one answer, given its Correctness and the phrases that it lacks; `told` are the stages
    that its run knows."""
    question = record.question
    gold = texts.gold(question, match, hyphens)
    if gold.left_out in _LEFT_OUT:
        return Funnel(left_out=gold.left_out, chance=gold.chance)
    found: dict[Stage, list[str] | None] = {
        "retrieved": _folded(texts.retrieved(record), match),
        "prompt": _folded(prompted(record), match),
    }
    recalls: dict[Stage, float | None] = {
        "documents": gold.recall,
        **{stage: _recall(held, question, match, hyphens) for stage, held in found.items()},
        "answer": correctness,
    }
    if gold.recall is not None:
        found = {"documents": [texts.parsed.gold(gold_pages(question), match)], **found}
    lost, gained = steps(recalls, told)
    return Funnel(
        **recalls,
        lost=lost,
        gained=gained,
        missed=_missing_from(missed, found, match, hyphens),
        chance=gold.chance,
    )


def steps(
    recalls: Mapping[Stage, float | None], told: Collection[Stage]
) -> tuple[dict[Stage, float], dict[Stage, float]]:
    """What each stage lost and gained against the one before it, of those that are told."""
    lost: dict[Stage, float] = {}
    gained: dict[Stage, float] = {}
    before = 1.0 if "documents" in told else None
    for stage in STAGES:
        if stage not in told:
            continue
        value = recalls[stage]
        if value is not None and before is not None:
            lost[stage], gained[stage] = max(0.0, before - value), max(0.0, value - before)
        before = value
    return lost, gained


def _missing_from(
    phrases: Sequence[str], found: Mapping[Stage, list[str] | None], match: Match, hyphens: Hyphens
) -> dict[str, Stage]:
    """From which stage on each phrase is missing: the one after the last that holds it."""
    known = [(stage, held) for stage in STAGES if (held := found.get(stage)) is not None]
    missing: dict[str, Stage] = {}
    for phrase in phrases if known else ():
        holds = [stands_in(held, phrase, match, hyphens) for _, held in known]
        last = max((place for place, held in enumerate(holds) if held), default=-1)
        missing[phrase] = known[last + 1][0] if last + 1 < len(known) else "answer"
    return missing


def _recall(held: list[str] | None, question: Question, match: Match, hyphens: Hyphens) -> float | None:
    """Phrase recall in some folded texts."""
    return None if held is None else recall_in(held, question.answers, match, hyphens).value


def _folded(texts: _Texts, match: Match) -> list[str] | None:
    """Texts to look for phrases in."""
    return None if texts is None else [_fold(text, match) for text in texts]


@lru_cache(maxsize=1024)
def _fold(text: str, match: Match) -> str:
    """One text; the same chunk is retrieved again and again."""
    return fold_text(text, match)
