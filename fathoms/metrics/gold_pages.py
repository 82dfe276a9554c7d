"""The second reading of the funnel: how many of the gold pages reach each stage of the pipeline.

| stage | a gold page has reached it if |
|---|---|
| `parsed` | it is among the parsed pages and has text |
| `retrieved` | a hit covers it |
| `prompt` | a chunk of it is still in the prompt, after packing |
| `cited` | the answer cites it, by its page or by the rank of a hit that covers it |

The value of a stage is the share of the question's gold pages that have reached it, `None` where that is not
known. Unlike the funnel by phrases (`funnel.py`), it does not depend on how the gold answer is worded, and it
also applies to pages that the model sees as pictures or attached files.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from functools import lru_cache
from typing import ClassVar, Literal

from fathoms.metrics.funnel import RunTexts, one_line
from fathoms.metrics.metric import Facts, Metric, Need, shared_score
from fathoms.metrics.retrieval.coverage import pages_of
from fathoms.metrics.retrieval.gold import gold_of
from fathoms.types import Chunk, Place, Prompt, Record, Score

Reached = frozenset[Place] | None
"""The gold pages that reached a stage, `None` where that is not known."""
NO_GOLD = "gold evidence with a page"


def parsed_pages(record: Record, texts: RunTexts | None) -> Reached:
    """Return the gold pages that have text as parsed; `None` if a gold document is not in the run."""
    found: set[Place] = set()
    for document, page in gold_of(record.question).pages:
        starts = texts.page_starts(document) if texts else None
        if starts is None:
            return None
        if page in starts:
            found.add((document, page))
    return frozenset(found)


def retrieved_pages(record: Record, *, known_only: bool = False) -> Reached:
    """Return the gold pages that hits cover.

    `None` if the hits are not known, or if some hit may cover a gold page that the others do not: one whose
    document is not known, or one from a gold document whose pages are not known. With
    `known_only`, such hits are passed over.
    """
    if record.hits is None:
        return None
    return _covered(record, (hit.chunk for hit in record.hits), known_only=known_only)


@lru_cache(maxsize=1)  # for the metrics of one answer
def retrieved_for(facts: Facts) -> Reached:
    """Return the gold pages that the hits of a record cover, as `retrieved_pages`."""
    return retrieved_pages(facts.record)


def _covered(record: Record, chunks: Iterable[Chunk], *, known_only: bool = False) -> Reached:
    """Return the gold pages that chunks cover; see `retrieved_pages`."""
    gold = gold_of(record.question).pages
    documents = {document for document, _ in gold}
    places: set[Place] = set()
    unknown = False
    for chunk in chunks:
        if chunk.document is None or chunk.document in documents:
            pages = pages_of(chunk)
            places.update(pages)
            unknown = unknown or not pages
    return None if unknown and not known_only and not gold <= places else gold & places


def prompt_pages(record: Record, texts: RunTexts | None) -> Reached:
    """Return the gold pages with a chunk that is still in the prompt.

    Of a chunk over several pages whose end was cut off, the first page is there, and another one if the
    prompt holds the beginning of its text as parsed. `None` if the prompt is not known, for example because
    the server cut it.
    """
    found = chunks_in_prompt(record)
    if found is None:
        return None
    chunks: list[Chunk] = []
    for chunk, is_cut in found:
        if is_cut and len(chunk.pages) > 1:
            shown = _uncut_pages(chunk, _sent(record), texts)
            if shown is None:
                return None
            chunk = chunk.model_copy(update={"pages": shown})
        chunks.append(chunk)
    return _covered(record, chunks)


def chunks_in_prompt(record: Record) -> list[tuple[Chunk, bool]] | None:
    """Return the retrieved chunks that are in the prompt, each with whether its end was cut off; `None` if
    the prompt is not known."""
    prompt, answer = record.prompt, record.answer
    if prompt is None or record.hits is None or (answer and answer.prompt_cut):
        return None
    if any(part.reply.prompt_cut for part in prompt.parts):
        return None
    sent = _sent(record)
    cut = {one.chunk: one for each in sent for one in each.cuts}
    losses = [(hit.chunk, cut.get(hit.chunk.id)) for hit in record.hits]
    return [
        (chunk, loss is not None)
        for chunk, loss in losses
        if not (loss and loss.dropped >= loss.length) and _is_shown(chunk, sent)
    ]


def _sent(record: Record) -> list[Prompt]:
    """The prompts that hold the hits of a record."""
    prompt = record.prompt
    return [] if prompt is None else [part.prompt for part in prompt.parts] or [prompt]


def _is_shown(chunk: Chunk, sent: Iterable[Prompt]) -> bool:
    """Return whether prompts show a chunk at all: as text, as an image, or as an attached file."""
    for prompt in sent:
        if chunk.text and prompt.context:
            return True
        for message in prompt.messages:
            if (chunk.image and chunk.image in message.images) or (
                chunk.file and chunk.file in message.files
            ):
                return True
    return False


def _uncut_pages(chunk: Chunk, sent: Iterable[Prompt], texts: RunTexts | None) -> tuple[int, ...] | None:
    """Return the pages of a chunk without its end that prompts still hold; `None` if not known."""
    starts = texts.page_starts(chunk.source) if texts else None
    if starts is None:
        return None
    texts_sent = " ".join(one_line(prompt.context) for prompt in sent)
    first, *others = chunk.pages
    return (first, *(page for page in others if page in starts and starts[page] in texts_sent))


def cited_pages(record: Record) -> Reached:
    """Return the gold pages that the answer cites. A citation without a page and without a hit whose pages
    are known cites none. `None` for an unanswerable question, where citations are not known, and where
    the answer cites a hit that may be of a gold page because its document is not known."""
    if record.answer is None or record.citations is None:
        return None
    by_rank = {hit.rank: pages_of(hit.chunk) for hit in record.hits or ()}
    unplaced = {hit.rank for hit in record.hits or () if hit.chunk.document is None}
    gold, places, unknown = gold_of(record.question).pages, set[Place](), False
    for cited in record.citations:
        if cited.document and cited.page is not None:
            places.add((cited.document, cited.page))
        else:
            places.update(place for rank in cited.ranks for place in by_rank.get(rank, ()))
            unknown = unknown or not unplaced.isdisjoint(cited.ranks)
    return None if unknown and not gold <= places else gold & places


class GoldPageStage(Metric):
    """Base class of the share of gold pages that reach a stage."""

    needs: ClassVar[tuple[Need, ...]] = ()
    source: ClassVar[str] = "fathoms, docs/funnel.md"
    unknown: ClassVar[str]
    """What a run must have for this stage to be known."""

    @abstractmethod
    def reached(self, facts: Facts) -> Reached:
        """Return the gold pages that have reached the stage, `None` if that is not known."""

    def score(self, facts: Facts) -> Score:
        """Return the share of gold pages, with the pages that did not reach the stage as the reason."""
        gold = gold_of(facts.record.question).pages
        if not gold:
            return shared_score(self.name, None, 0, lacks=NO_GOLD)
        found = self.reached(facts)
        if found is None:
            return shared_score(self.name, None, 0, lacks=self.unknown)
        if len(found) == len(gold):
            return shared_score(self.name, 1.0, len(gold))
        missing = "; ".join(f"{document}, page {page}" for document, page in sorted(gold - found))
        return Score(metric=self.name, value=len(found) / len(gold), n=len(gold), why={"missing": missing})


class GoldPageParsed(GoldPageStage):
    """The share of the gold pages that are among the parsed pages and have text."""

    unknown: ClassVar[str] = "the parsed gold documents"

    kind: Literal["gold-page-parsed"] = "gold-page-parsed"

    def reached(self, facts: Facts) -> Reached:
        """Return the gold pages with text."""
        return parsed_pages(facts.record, facts.texts)


class GoldPageRetrieved(GoldPageStage):
    """The share of the gold pages that the retrieved chunks cover."""

    unknown: ClassVar[str] = "retrieved chunks with known pages"

    kind: Literal["gold-page-retrieved"] = "gold-page-retrieved"

    def reached(self, facts: Facts) -> Reached:
        """Return the gold pages that hits cover."""
        return retrieved_for(facts)


class GoldPageInPrompt(GoldPageStage):
    """The share of the gold pages with a chunk in the prompt, after packing."""

    unknown: ClassVar[str] = "a prompt whose chunks are known"

    kind: Literal["gold-page-in-prompt"] = "gold-page-in-prompt"

    def reached(self, facts: Facts) -> Reached:
        """Return the gold pages in the prompt."""
        return prompt_pages(facts.record, facts.texts)


class GoldPageCited(GoldPageStage):
    """The share of the gold pages that the answer cites. An answer that cites nothing has 0."""

    unknown: ClassVar[str] = "an answer whose citations are known"
    cells: ClassVar[tuple[str, ...]] = ("cites",)

    kind: Literal["gold-page-cited"] = "gold-page-cited"

    def reached(self, facts: Facts) -> Reached:
        """Return the gold pages that the answer cites."""
        return cited_pages(facts.record)

    def score(self, facts: Facts) -> Score:
        """Return the share, and whether the answer cites anything at all."""
        found = super().score(facts)
        if found.value is None:
            return found
        if not found.why:
            return shared_score(self.name, found.value, found.n, cites=bool(facts.record.citations))
        return found.model_copy(update={"why": {**found.why, "cites": bool(facts.record.citations)}})


MEANINGS = {
    (True, True): "both found",
    (False, False): "neither found",
    (False, True): "the phrases stand on another page",
}
BY_PARSER = "page found, but its phrases were lost by the parser"
BY_CHUNK = "right page, wrong passage"
UNKNOWN_LOSS = "page found, but not its phrases"


class PagePhraseAgreement(Metric):
    """Whether the two readings of the funnel agree on what was retrieved: 1 if all gold pages and all gold
    phrases were found, or neither, and 0 if only one of the two.

    A page without its phrases means that the parser lost the phrases, or that a chunk with another part of
    the page was retrieved. Phrases without the page stand on another page, by chance or because the gold
    evidence does not name all the places of the answer.
    """

    needs: ClassVar[tuple[Need, ...]] = ()
    follows_profile: ClassVar[bool] = True
    source: ClassVar[str] = "fathoms, docs/funnel.md"
    cells: ClassVar[tuple[str, ...]] = ("meaning",)

    kind: Literal["page-phrase-agreement"] = "page-phrase-agreement"

    def score(self, facts: Facts) -> Score:
        """Return 1 or 0, and what it means; `None` where one of the readings is not known."""
        gold, funnel = gold_of(facts.record.question).pages, facts.scores.funnel
        pages = retrieved_for(facts) if gold else None
        if pages is None or funnel is None or funnel.retrieved is None:
            lacks = "both readings of what was retrieved" if gold else NO_GOLD
            return shared_score(self.name, None, 0, lacks=lacks)
        by_page, by_phrase = pages == gold, funnel.retrieved == 1
        meaning = MEANINGS.get((by_page, by_phrase))
        if meaning is None and funnel.documents is not None:
            meaning = BY_PARSER if funnel.documents < 1 else BY_CHUNK
        return shared_score(self.name, float(by_page == by_phrase), meaning=meaning or UNKNOWN_LOSS)
