"""The funnel shows at which stage of the pipeline an answer was lost, without a judge or extra model calls.

It is the phrase recall of the gold answer in four texts, by the `match` and `hyphens` rules of the profile:

| stage | text |
|---|---|
| `documents` | the gold documents as parsed; only their gold pages, if pages are named |
| `retrieved` | the retrieved chunks |
| `prompt` | the context in the prompt, after packing |
| `answer` | the answer; its recall is the correctness |

Each stage takes its own maximum over the variants of the gold answer. A stage loses
`max(0, before - this)` and gains `max(0, this - before)`, where `before` is the recall of the previous stage
(1 for `documents`). Losses and gains are averaged separately and never offset against each other.

The recall of a stage is unknown if its text is unknown, for example because a server truncated the prompt or
the model read a file or an image itself. No loss or gain is then computed for it or for the stage after it.
A stage that is unknown for all questions of a run is skipped: the next stage is compared with the one before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

from fathoms.metrics.ingestion import GoldText, ParsedTexts, gold_text_recall
from fathoms.metrics.phrase_recall import (
    Folded,
    Hyphens,
    Match,
    ReadTexts,
    fold_text,
    recall_in,
    searchable,
    stands_in,
)
from fathoms.metrics.said import reading_of
from fathoms.metrics.stages import STAGES, Funnel, Stage
from fathoms.types import Chunk, Document, GoldPhrase, GoldYesNo, Question, Record

# Reasons in the gold answer itself; a question left out as `no-text` can still be measured at later stages.
_LEFT_OUT = ("unanswerable", "no-phrases", "yes-no", "computed", "common")

_Texts = Sequence[str] | None
_START = 60
"""The characters at the beginning of a page by which it is found in a prompt."""


class RunTexts:
    """The parsed documents of a run by id, and the ids of the documents that its parser could not read
    (`unread`).

    The text of a document in neither of them is unknown.
    """

    def __init__(self, documents: Mapping[str, Document], unread: Collection[str] = ()) -> None:
        self.parsed = ParsedTexts(documents)
        self.unread = frozenset(unread)
        self._known = frozenset(self.parsed.documents) | self.unread
        self._gold = lru_cache(maxsize=1024)(self._gold_text)  # repeats follow one another
        self._text_of = lru_cache(maxsize=64)(lambda document: self.parsed.documents[document].text)
        self._starts: dict[str, dict[int, str]] = {}

    def gold(self, question: Question, match: Match, hyphens: Hyphens) -> GoldText:
        """Return the `documents` stage of a question, which is the same for all its repeats.

        Its recall is `None` if one of the question's gold documents is unknown.
        """
        return self._gold(question, match, hyphens)

    def _gold_text(self, question: Question, match: Match, hyphens: Hyphens) -> GoldText:
        """Measure how much of the gold answer the text of the gold pages has (the stage `documents`)."""
        found = gold_text_recall(question, self.parsed, match, hyphens)
        known = self._known.issuperset([name for name, _ in found.pages])
        return found if known or found.recall is None else found._replace(recall=None)

    def page_starts(self, document: str) -> Mapping[int, str] | None:
        """Return how the text of each page of a document that has any begins, by page number; `None` if the
        document is unknown. An unreadable document has no pages."""
        if document not in self._known:
            return None
        if document not in self._starts:
            parsed = self.parsed.documents.get(document)
            starts = {page.number: one_line(page.text)[:_START] for page in parsed.pages} if parsed else {}
            self._starts[document] = {number: start for number, start in starts.items() if start}
        return self._starts[document]

    def retrieved(self, record: Record) -> _Texts:
        """Return the texts of the retrieved chunks, or `None` if one of them is unknown."""
        if record.hits is None:
            return None
        texts = [self._text(hit.chunk) for hit in record.hits]
        return None if None in texts else [text for text in texts if text is not None]

    def known_stages(
        self, records: Iterable[Record], *, possible: Collection[Stage] = ("retrieved", "prompt", "answer")
    ) -> frozenset[Stage]:
        """Return the stages that are known for at least one question of a run; `possible` are those that any
        record may show.

        Reading stops as soon as all of these have been seen.
        """
        known: set[Stage] = set()
        if self.parsed.documents or self.unread:
            known.add("documents")
        for record in records:
            if self.retrieved(record) is not None:
                known.add("retrieved")
            if prompted(record) is not None:
                known.add("prompt")
            if not record.only_searched:
                known.add("answer")
            if known.issuperset(possible):
                break
        return frozenset(known)

    def _text(self, chunk: Chunk) -> str | None:
        """Return the text of a chunk as retrieved, or `None` if it is unknown.

        If the end of a whole document was cut off to fit the prompt, the full text counts as retrieved: the
        loss belongs to the `prompt` stage.
        """
        if not chunk.whole or (chunk.modality != "text" and not chunk.text):
            return None
        if not chunk.dropped:
            return chunk.indexed
        return self._text_of(chunk.document) if chunk.document in self.parsed.documents else None


def one_line(text: str) -> str:
    """Return a text with single spaces in place of all white space."""
    return " ".join(text.split())


def prompted(record: Record) -> _Texts:
    """Return the contexts that the model read, or `None` if they are not fully known."""
    if record.prompt is None or (record.answer and record.answer.prompt_cut):
        return None
    parts = record.prompt.parts
    if any(part.reply.prompt_cut for part in parts):
        return None
    prompts = [part.prompt for part in parts] or [record.prompt]
    if not all(message.is_text for prompt in prompts for message in prompt.messages):
        return None
    return [prompt.context for prompt in prompts]


def funnel(
    record: Record,
    correctness: float | None,
    missed: Sequence[str],
    texts: RunTexts,
    known_stages: Collection[Stage] = STAGES,
    match: Match = "word",
    hyphens: Hyphens = "both",
) -> Funnel:
    """Compute the funnel of one answer.

    `missed` are the phrases that the answer lacks, and `known_stages` the stages that are known for its run
    (see `RunTexts.known_stages`). The result has no recalls if the question cannot be measured; `left_out`
    then says why.
    """
    question = record.question
    gold = texts.gold(question, match, hyphens)
    if gold.left_out in _LEFT_OUT:
        return _left_out(gold.left_out, gold.chance)
    retrieved, prompt = _folded(texts.retrieved(record), match), _folded(prompted(record), match)
    wanted = searchable(question.answers)
    recalls: dict[Stage, float | None] = {
        "documents": gold.recall,
        "retrieved": None if retrieved is None else recall_in(retrieved, wanted, match, hyphens).value,
        "prompt": None if prompt is None else recall_in(prompt, wanted, match, hyphens).value,
        "answer": correctness,
    }
    known = _funnel(tuple(recalls.items()), frozenset(known_stages), gold.chance)
    if missed:
        found: dict[Stage, list[Folded] | None] = {"retrieved": retrieved, "prompt": prompt}
        if gold.recall is not None:
            found["documents"] = [texts.parsed.gold(gold.pages, match)]
        variant = _lost_variant(question, recalls, found, match, hyphens)
        missing = _missing_from(missed, question, found, match, hyphens)
        if variant is not None and (
            not set(missed) <= set(map(str, variant))
            or (known.lost.get("answer") and "answer" not in missing.values())
        ):
            if match == "word":
                said = ReadTexts(reading_of(record), hyphens)
                unsaid = [str(form) for form in variant if not said.have(form)]
            else:
                raw = _folded([record.answer.text if record.answer else ""], match) or []
                unsaid = [str(form) for form in variant if not stands_in(raw, form, match, hyphens)]
            missing = _missing_from(unsaid, question, found, match, hyphens)
        if missing:
            return known.model_copy(update={"missed": missing})
    return known


@lru_cache(maxsize=4096)
def _funnel(
    recalls: tuple[tuple[Stage, float | None], ...], known_stages: frozenset[Stage], chance: float | None
) -> Funnel:
    """Return the funnel of all answers with some recalls, as one object."""
    lost, gained = steps(dict(recalls), known_stages)
    return Funnel(**dict(recalls), lost=lost, gained=gained, chance=chance)


@lru_cache(maxsize=4096)
def _left_out(why: str | None, chance: float | None) -> Funnel:
    """Return the funnel of all questions that are left out for one reason, as one object."""
    return Funnel(left_out=why, chance=chance)


def _lost_variant(
    question: Question,
    recalls: Mapping[Stage, float | None],
    found: Mapping[Stage, list[Folded] | None],
    match: Match,
    hyphens: Hyphens,
) -> Sequence[GoldPhrase] | None:
    """Return the variant of the gold answer that was lost: the best one in the last text before a loss.

    Each stage takes its own best variant, so the phrases that explain a loss must be those that the text
    before it held. With the variants `499,609` and `500K`, an answer with neither of them and a retrieved
    text with `500K`, the variant is `500K`, and it is missing from the answer. `None` if nothing was lost
    after the first known text.
    """
    known = [stage for stage in STAGES if recalls[stage] is not None]
    drops = [a for a, b in pairwise(known) if (recalls[a] or 0.0) > (recalls[b] or 0.0)]
    texts = found.get(drops[-1]) if drops else None
    if texts is None:
        return None
    best = recall_in(texts, searchable(question.answers), match, hyphens).variant
    return None if best is None else question.answers[best]


def steps(
    recalls: Mapping[Stage, float | None], known_stages: Collection[Stage]
) -> tuple[dict[Stage, float], dict[Stage, float]]:
    """Return what each stage in `known_stages` lost and gained against the one before it.

    A stage is absent if its own recall or the one before it is `None`.
    """
    lost: dict[Stage, float] = {}
    gained: dict[Stage, float] = {}
    before = 1.0 if "documents" in known_stages else None
    for stage in STAGES:
        if stage not in known_stages:
            continue
        value = recalls[stage]
        if value is not None and before is not None:
            lost[stage], gained[stage] = max(0.0, before - value), max(0.0, value - before)
        before = value
    return lost, gained


def _missing_from(
    phrases: Sequence[str],
    question: Question,
    found: Mapping[Stage, list[Folded] | None],
    match: Match,
    hyphens: Hyphens,
) -> dict[str, Stage]:
    """Return for each phrase the stage from which on it is missing: the one after the last stage with it.

    A yes or no is missing from the answer, because no other text says it.
    """
    forms: dict[str, GoldPhrase] = {str(form): form for variant in question.answers for form in variant}
    known = [(stage, texts) for stage in STAGES if (texts := found.get(stage)) is not None]
    missing: dict[str, Stage] = {}
    for phrase in phrases if known else ():
        form = forms.get(phrase, phrase)
        if isinstance(form, GoldYesNo):
            missing[phrase] = "answer"
            continue
        holds = [stands_in(texts, form, match, hyphens) for _, texts in known]
        last = max((place for place, holds_it in enumerate(holds) if holds_it), default=-1)
        missing[phrase] = known[last + 1][0] if last + 1 < len(known) else "answer"
    return missing


def _folded(texts: _Texts, match: Match) -> list[Folded] | None:
    """Fold texts so that phrases can be searched for in them."""
    return None if texts is None else [_fold(text, match) for text in texts]


# Cached, because the same chunk is retrieved for many questions.
_fold = lru_cache(maxsize=1024)(fold_text)
