"""Which quotes an answer cites and which it should, by the definitions of MMDocRAG (Dong et al. 2025).

A text quote is cited as `[n]`, a picture as `(imageN)`, usually as `![what it shows](imageN)`. Each counts
once, however often it is cited, and one that does not exist is a wrong one.

- **Candidate quotes** (`quotes` in the question file): the gold are those with `gold: true`. Where the run
  shows candidates as hits, also those of other questions (`retrieve: {kind: quote-search}`), `n` is the rank
  of a text and `N` counts the pictures; answers that were imported without hits name quotes by the numbers in
  their ids, such as `text3` and `image2`.
- **Real retrieval**: the gold are the gold pages of the question; those of evidence whose modality is `text`
  are texts, and those of any other modality (tables, figures) are pictures. A cited hit stands for the gold
  pages that it covers, those of its own modality if there are any. A hit that covers none is wrong.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from fathoms.metrics.said import reading_of
from fathoms.types import OTHER_QUOTE, Evidence, Hit, Question, Quote, Record

Modality = Literal["text", "image"]
Item = tuple[Modality, str]
"""A cited or gold item: its modality, and the id of a quote, a gold page, or a number that names nothing."""

_TEXT = re.compile(r"\[(\d+)\]")
_IMAGE = re.compile(r"\(image(\d+)\)")
_NUMBERED = re.compile(r"(?:text|image)0*(\d+)")


@dataclass(frozen=True)
class Selection:
    """The items that an answer cites, those that are gold, the place of each gold quote among the candidates
    of its modality, from 1, and how many candidates of a modality there are, as far as these are known."""

    cited: frozenset[Item]
    gold: frozenset[Item]
    places: Mapping[Item, int]
    sizes: Mapping[Modality, int]

    def of(self, modality: Modality) -> Selection:
        """Return the part of the items with one modality."""
        cited, gold = (
            frozenset(one for one in items if one[0] == modality) for items in (self.cited, self.gold)
        )
        return Selection(cited, gold, self.places, self.sizes)

    @property
    def right(self) -> int:
        """How many of the cited items are gold."""
        return len(self.cited & self.gold)

    @property
    def f1(self) -> float | None:
        """Twice the right items by the number of cited and of gold ones; `None` if there are neither."""
        size = len(self.cited) + len(self.gold)
        return 2 * self.right / size if size else None


def selected(record: Record) -> Selection:
    """Return what the answer of a record cites, nothing for a failed call, and what is gold."""
    question = record.question
    text = reading_of(record).unreasoned
    # Python refuses to read numbers of more than 4,300 digits
    texts, images = (sorted({int(n[:999]) for n in found.findall(text)}) for found in (_TEXT, _IMAGE))
    ids = _quote_ids(question, record.hits)
    if ids is None:
        gold = frozenset(_gold_pages(question))
        return Selection(frozenset(_of_hits(texts, images, record.hits or (), gold)), gold, {}, {})
    gold = frozenset((quote.modality, quote.id) for quote in question.quotes if quote.gold)
    numbered: list[tuple[Modality, int]] = [*(("text", n) for n in texts), *(("image", n) for n in images)]
    cited = frozenset((one[0], ids.get(one) or _unknown(*one)) for one in numbered)
    places = {(one[0], id): one[1] for one, id in ids.items() if (one[0], id) in gold}
    # imported answers may come with the gold quotes alone
    is_all = record.hits is not None or any(not quote.gold for quote in question.quotes)
    return Selection(cited, gold, places, Counter(modality for modality, _ in ids) if is_all else {})


def _gold_pages(question: Question) -> Iterator[Item]:
    """Yield the gold pages of a question by the modality of their evidence."""
    for one in question.gold_evidence:
        if one.page is not None:
            yield "text" if one.modality in ("text", None) else "image", _page(one.document, one.page)


def gold_of(record: Record) -> Sequence[Quote | Evidence]:
    """Return the gold that the answer of a record is compared with: gold quotes, or else gold pages."""
    if not are_quotes(record.question, record.hits):
        return [one for one in record.question.gold_evidence if one.page is not None]
    return [quote for quote in record.question.quotes if quote.gold]


def are_quotes(question: Question, hits: Sequence[Hit] | None) -> bool:
    """Return whether the question has candidate quotes and the hits are some of them, as far as it is known
    what was shown."""
    if not question.quotes or not hits:
        return bool(question.quotes)
    known = {quote.id for quote in question.quotes}
    ids = [quote_id(question, hit) for hit in hits]
    return all(id in known or id.startswith(OTHER_QUOTE) for id in ids)


def quote_id(question: Question, hit: Hit) -> str:
    """Return the id of the candidate quote that a hit would be."""
    return hit.chunk.id.removeprefix(f"{question.id}#")


def _quote_ids(question: Question, hits: Sequence[Hit] | None) -> dict[tuple[Modality, int], str] | None:
    """Return the ids of the candidate quotes by the numbers under which an answer cites them; `None` where
    the question has none, or the hits are none of them. Nothing was shown where there are no hits, and it is
    not known what was shown where they are `None`, as of imported answers."""
    if not are_quotes(question, hits):
        return None
    if hits is None:
        return {
            (quote.modality, int(found[1])): quote.id
            for quote in question.quotes
            if (found := _NUMBERED.fullmatch(quote.id))
        }
    shown = [(hit, quote_id(question, hit)) for hit in sorted(hits, key=lambda hit: hit.rank)]
    pictures = [id for hit, id in shown if hit.chunk.modality == "image"]
    return {
        **{("text", hit.rank): id for hit, id in shown if hit.chunk.modality == "text"},
        **{("image", number): id for number, id in enumerate(pictures, start=1)},
    }


def _of_hits(
    texts: Iterable[int], images: Iterable[int], hits: Sequence[Hit], gold: frozenset[Item]
) -> Iterator[Item]:
    """Yield what numbers in an answer to really retrieved hits stand for."""
    ranked = {hit.rank: hit for hit in hits if hit.chunk.modality == "text"}
    pictures = [hit for hit in sorted(hits, key=lambda hit: hit.rank) if hit.chunk.modality == "image"]
    named: list[tuple[Modality, int, Hit | None]] = [
        *(("text", n, ranked.get(n)) for n in texts),
        *(("image", n, pictures[n - 1] if 1 <= n <= len(pictures) else None) for n in images),
    ]
    for modality, number, hit in named:
        if hit is None:
            yield modality, _unknown(modality, number)
            continue
        pages = {_page(*place) for place in hit.chunk.places}
        found = [item for item in gold if item[1] in pages]
        own = [item for item in found if item[0] == modality]
        yield from own or found or [(modality, hit.chunk.id)]


def _page(document: str, page: int | None) -> str:
    return f"{document}, page {page}"


def _unknown(modality: Modality, number: int) -> str:
    """Return the name of a number that names nothing, which no quote has."""
    return f"{modality} {number}, which does not exist"
